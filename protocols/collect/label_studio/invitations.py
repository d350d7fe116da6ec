"""Create experts' accounts, each with its own password, and reset passwords."""

from __future__ import annotations

import re
import secrets
from dataclasses import replace

from oversight.harness import ConfigError, LabelStudioError
from oversight.protocols.collect.label_studio.accounts import Account
from oversight.protocols.collect.label_studio.campaign import Campaign
from oversight.protocols.collect.label_studio.server.own_server import list_servers, reset_password
from oversight.protocols.routing import Expert


def invite(campaign: Campaign, *, check: bool = False) -> list[Account]:
    """Create an account for every expert on the roster without one.

    Parameters
    ----------
    check
        Whether only to report who has an account.

    Raises
    ------
    LabelStudioError
        If the server refuses to create an account.
    """
    if not check:
        campaign.store.marks.refuse_mark()
    return [_invite_expert(campaign, expert, check=check) for expert in campaign.roster.experts]


def _invite_expert(campaign: Campaign, expert: Expert, *, check: bool) -> Account:
    client, email = campaign.open_client(expert.name), campaign.find_email(expert)
    exists = email in client.read_users()
    account = Account(
        expert=expert.name, email=email, classes=expert.classes, url=client.public_url, exists=exists
    )
    if exists or check:
        return account
    password = secrets.token_urlsafe(9)
    # Sign up at the server directly, because its public address may lead through a proxy.
    _sign_up(client.url + client.read_invitation(), email, password)
    if email not in client.read_users():
        raise LabelStudioError(f"{client.url} created no account for {email}; create it there by hand")
    return replace(account, exists=True, password=password)


def renew_password(campaign: Campaign, expert: str) -> Account:
    """Give an expert a new password; the server must run on this machine.

    Raises
    ------
    ConfigError
        If the server runs elsewhere.
    DataError
        If the expert does not exist.
    LabelStudioError
        If the expert has no account, or the server rejects the new password.
    """
    campaign.store.marks.refuse_mark()
    found = campaign.roster.find_expert(expert)
    client, email = campaign.open_client(found.name), campaign.find_email(found)
    if email not in client.read_users():
        raise LabelStudioError(
            f"{expert} has no account at {client.url}; create one with: oversight experts invite"
        )
    server = next((s for s in list_servers() if s.url == client.url), None)
    if server is None:
        raise ConfigError(
            f"{client.url} is not a server on this machine; its owner must set a new password there: "
            f"label-studio reset_password --username {email}"
        )
    password = secrets.token_urlsafe(9)
    reset_password(server, email, password)
    return Account(
        expert=expert,
        email=email,
        classes=found.classes,
        url=client.public_url,
        exists=True,
        password=password,
    )


def _sign_up(invitation: str, email: str, password: str) -> None:
    """Submit the form behind the invitation link, because accounts made through the API have no password."""
    import httpx

    try:
        with httpx.Client(timeout=60.0) as browser:
            form = browser.get(invitation)
            token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form.text)
            if form.status_code != httpx.codes.OK or token is None:
                raise LabelStudioError(f"the invitation page cannot be used (status {form.status_code})")
            fields = {"email": email, "password": password, "csrfmiddlewaretoken": token[1]}
            # Copy the cookies by hand, because secure cookies of a TLS proxy are not sent over http.
            cookies = "; ".join(f"{name}={value}" for name, value in form.cookies.items())
            done = browser.post(invitation, data=fields, headers={"Referer": invitation, "Cookie": cookies})
    except httpx.HTTPError as error:
        raise LabelStudioError(f"the account {email} could not be created: {type(error).__name__}") from None
    if done.status_code != httpx.codes.FOUND:
        said = re.findall(r'class="(?:field_errors|error[^"]*)"[^>]*>\s*([^<]+)', done.text)
        reason = said[0].strip() if said else f"status {done.status_code}"
        raise LabelStudioError(f"the server created no account for {email}: {reason}")
