"""Accounts for experts: what they are called, and how they are made so that experts can log in."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from harness import LabelStudioError

if TYPE_CHECKING:
    from protocols.collect.label_studio.campaign import Campaign
    from protocols.collect.label_studio.server import Client
    from protocols.routing import Expert


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An expert's account; `password` and `link` only where one was made for this call.

    Attributes
    ----------
    exists
        Whether the expert can log in by now.
    password
        The password of an account made just now. It is stored nowhere.
    link
        Where the expert makes the account, with this very address.
    """

    expert: str
    email: str
    classes: tuple[str, ...]
    url: str
    exists: bool
    password: str = field(default="", repr=False)
    link: str = field(default="", repr=False)


def make_slug(name: str) -> str:
    """Turn any name into letters, digits and dashes; different names stay different."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if plain == name:
        return plain
    return f"{plain[:24] or 'x'}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def make_server_name(study: str, expert: str) -> str:
    """Name of an expert's own server."""
    return f"{make_slug(study)}--{make_slug(expert)}"


def make_account_email(expert: Expert) -> str:
    """Address an expert logs in with: the roster's, else one that no mail can reach."""
    return (expert.email or f"{make_slug(expert.name)}@experts.invalid").lower()


def invite(campaign: Campaign, *, link: bool = False, check: bool = False) -> list[Account]:
    """Give every expert of the roster who has no account one, or a link to make one.

    Parameters
    ----------
    link
        Give a link instead of making the account with a password.
    check
        Only look who has an account.

    Raises
    ------
    LabelStudioError
        If the server refuses to make an account.
    """
    return [
        _invite_expert(campaign.open_client(expert.name), expert, link=link, check=check)
        for expert in campaign.roster.experts
    ]


def _invite_expert(client: Client, expert: Expert, *, link: bool, check: bool) -> Account:
    email = make_account_email(expert)
    exists = email in client.read_users()
    account = Account(expert=expert.name, email=email, classes=expert.classes, url=client.url, exists=exists)
    if exists or check:
        return account
    if link:
        return replace(account, link=client.read_invitation())
    password = secrets.token_urlsafe(9)
    _sign_up(client.read_invitation(), email, password)
    if email not in client.read_users():
        raise LabelStudioError(f"{client.url} made no account for {email}: use --link, and have them sign up")
    return replace(account, exists=True, password=password)


def _sign_up(invitation: str, email: str, password: str) -> None:
    """Fill in the form behind the invitation link: accounts made through the API have no password."""
    import httpx

    try:
        with httpx.Client(timeout=60.0) as browser:
            form = browser.get(invitation)
            token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form.text)
            if form.status_code != httpx.codes.OK or token is None:
                raise LabelStudioError(f"the invitation page cannot be used (status {form.status_code})")
            fields = {"email": email, "password": password, "csrfmiddlewaretoken": token[1]}
            done = browser.post(invitation, data=fields, headers={"Referer": invitation})
    except httpx.HTTPError as error:
        raise LabelStudioError(f"the account {email} could not be made: {type(error).__name__}") from None
    if done.status_code != httpx.codes.FOUND:
        said = re.findall(r'class="(?:field_errors|error[^"]*)"[^>]*>\s*([^<]+)', done.text)
        reason = said[0].strip() if said else f"status {done.status_code}"
        raise LabelStudioError(f"the server made no account for {email}: {reason}")
