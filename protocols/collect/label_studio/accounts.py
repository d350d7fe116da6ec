"""Accounts for experts: what they are called, and how they are made so that experts can log in."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from oversight.harness import ConfigError, LabelStudioError
from oversight.protocols.collect.label_studio.server import list_servers, reset_password

if TYPE_CHECKING:
    from oversight.harness.config import Study
    from oversight.protocols.collect.label_studio.campaign import Campaign
    from oversight.protocols.routing import Expert


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


_NOWHERE = "@experts.invalid"


def make_slug(name: str) -> str:
    """Turn any name into letters, digits and dashes; different names stay different."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if plain == name:
        return plain
    return f"{plain[:24] or 'x'}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def make_server_name(study: str, expert: str) -> str:
    """Name of an expert's own server."""
    return f"{make_slug(study)}--{make_slug(expert)}"


def make_study_mark(study: Study) -> str:
    """What tells a study from others on a server: its name, and a hash of its name, seed and items."""
    told = study.model_dump_json(include={"study": {"name", "seed"}, "items": True})
    return f"{make_slug(study.study.name)[:20]}-{hashlib.sha256(told.encode()).hexdigest()[:6]}"


def make_account_email(expert: Expert, mark: str, known: str = "") -> str:
    """Address an expert logs in with: the roster's, else one of this study that no mail can reach.

    Parameters
    ----------
    mark
        The study, as of `make_study_mark`: another study's expert of the same name is another person.
    known
        Address that the expert has in this study already; a made-up one stays.
    """
    if expert.email:
        return expert.email.lower()
    return known if known.endswith(_NOWHERE) else f"{make_slug(expert.name)}.{mark}{_NOWHERE}"


def strip_mark(email: str) -> str:
    """An address without what tells which study it was made up for."""
    local, _, rest = email.lower().partition("@")
    return local.split(".")[0] + _NOWHERE if f"@{rest}" == _NOWHERE else email.lower()


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
    return [_invite_expert(campaign, expert, link=link, check=check) for expert in campaign.roster.experts]


def _invite_expert(campaign: Campaign, expert: Expert, *, link: bool, check: bool) -> Account:
    client, email = campaign.open_client(expert.name), campaign.find_email(expert)
    exists = email in client.read_users()
    account = Account(
        expert=expert.name, email=email, classes=expert.classes, url=client.public_url, exists=exists
    )
    if exists or check:
        return account
    if link:
        return replace(account, link=client.public_url + client.read_invitation())
    password = secrets.token_urlsafe(9)
    # at the server itself, and not through the proxy by which others reach it
    _sign_up(client.url + client.read_invitation(), email, password)
    if email not in client.read_users():
        raise LabelStudioError(f"{client.url} made no account for {email}: use --link, and have them sign up")
    return replace(account, exists=True, password=password)


def renew_password(campaign: Campaign, expert: str) -> Account:
    """Give an expert a new password; the server must be one of this machine's.

    Raises
    ------
    ConfigError
        If the server runs elsewhere.
    DataError
        If there is no such expert.
    LabelStudioError
        If the expert has no account, or the server takes no new password.
    """
    found = campaign.roster.find(expert)
    client, email = campaign.open_client(found.name), campaign.find_email(found)
    if email not in client.read_users():
        raise LabelStudioError(f"{expert} has no account at {client.url}; make one: oversight experts invite")
    server = next((s for s in list_servers() if s.url == client.url), None)
    if server is None:
        raise ConfigError(
            f"{client.url} is no server of this machine's; there, its owner gives a new password: "
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
    """Fill in the form behind the invitation link: accounts made through the API have no password."""
    import httpx

    try:
        with httpx.Client(timeout=60.0) as browser:
            form = browser.get(invitation)
            token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form.text)
            if form.status_code != httpx.codes.OK or token is None:
                raise LabelStudioError(f"the invitation page cannot be used (status {form.status_code})")
            fields = {"email": email, "password": password, "csrfmiddlewaretoken": token[1]}
            # written out: behind a proxy with TLS they are none for http, which this machine speaks to itself
            cookies = "; ".join(f"{name}={value}" for name, value in form.cookies.items())
            done = browser.post(invitation, data=fields, headers={"Referer": invitation, "Cookie": cookies})
    except httpx.HTTPError as error:
        raise LabelStudioError(f"the account {email} could not be made: {type(error).__name__}") from None
    if done.status_code != httpx.codes.FOUND:
        said = re.findall(r'class="(?:field_errors|error[^"]*)"[^>]*>\s*([^<]+)', done.text)
        reason = said[0].strip() if said else f"status {done.status_code}"
        raise LabelStudioError(f"the server made no account for {email}: {reason}")
