"""Accounts for experts: what they are called, and how they are made so that experts can log in."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oversight.harness.config import Study
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
