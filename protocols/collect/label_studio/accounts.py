"""Names, addresses and creation of accounts with which experts log in."""

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
    """An expert's account.

    Attributes
    ----------
    exists
        Whether the expert can already log in.
    password
        The password of an account that was just created. It is not stored.
    """

    expert: str
    email: str
    classes: tuple[str, ...]
    url: str
    exists: bool
    password: str = field(default="", repr=False)


_NOWHERE = "@experts.invalid"


def make_slug(name: str) -> str:
    """Convert any name to letters, digits and dashes; different names remain different."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if plain == name:
        return plain
    return f"{plain[:24] or 'x'}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def make_server_name(study: str, expert: str) -> str:
    """Return the name of an expert's separate server."""
    return f"{make_slug(study)}--{make_slug(expert)}"


def make_study_mark(study: Study) -> str:
    """Return the text that identifies a study on a server: its name, and a hash of name, seed and items."""
    told = study.model_dump_json(include={"study": {"name", "seed"}, "items": True})
    return f"{make_slug(study.study.name)[:20]}-{hashlib.sha256(told.encode()).hexdigest()[:6]}"


def make_account_email(expert: Expert, mark: str, known: str = "") -> str:
    """Return an expert's login address: the one in the roster or, without it, a made-up undeliverable one.

    Parameters
    ----------
    mark
        The study's mark from `make_study_mark`. It distinguishes experts of different studies who have the
        same name.
    known
        The expert's present address in this study. If it was made up, it is returned again.
    """
    if expert.email:
        return expert.email.lower()
    return known if known.endswith(_NOWHERE) else f"{make_slug(expert.name)}.{mark}{_NOWHERE}"


def strip_mark(email: str) -> str:
    """Return an address without the part that identifies its study."""
    local, _, rest = email.lower().partition("@")
    return local.split(".")[0] + _NOWHERE if f"@{rest}" == _NOWHERE else email.lower()
