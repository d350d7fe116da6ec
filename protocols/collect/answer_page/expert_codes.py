"""Create, list and revoke the personal codes with which experts sign in. Only hashes of codes are stored."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from oversight.harness import BadInput
from oversight.harness.config import Study
from oversight.harness.output import did_you_mean
from oversight.harness.store import AnswerLink, Store, write_moment
from oversight.harness.types import is_erased
from oversight.harness.web import derive_session
from oversight.protocols.routing import check_drawn

DAYS = 30.0
"""Default number of days for which a code is valid."""
_LONGEST_DAYS = 3660.0
_NO_DIGEST = "0" * 64
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base32
_CODE = re.compile(f"[{_ALPHABET}]{{20}}")
_READ_AS = str.maketrans("oil", "011", " -")


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeCode:
    """A new code: its owner, the address of the page, the code, and its expiry in ISO 8601 and UTC."""

    expert: str
    url: str
    code: str
    expires: str


def make_codes(
    study: Study, store: Store, address: str, *, experts: Sequence[str] = (), days: float = DAYS
) -> list[MadeCode]:
    """Create codes of 100 random bits, and revoke the experts' former codes. Only hashes are stored.

    Parameters
    ----------
    address
        Scheme and host of the page.
    experts
        Names of the codes' owners; if empty, all people with questions.
    days
        Days for which the codes are valid.

    Raises
    ------
    BadInput
        If no question was drawn, a named person has no questions, or `days` is out of range.
    """
    if not 0 < days <= _LONGEST_DAYS:
        raise BadInput(f"--days must be above 0 and at most {_LONGEST_DAYS:.0f}, is {days:g}")
    names = _check_asked(study, store, experts)
    now = datetime.now(UTC)
    made, links = [], []
    for expert in names:
        secret = "".join(secrets.choice(_ALPHABET) for _ in range(20))
        link = AnswerLink(
            id=derive_link_id(secret),
            expert=expert,
            token_digest=hash_secret(secret),
            session_digest=hash_secret(derive_session(secret)),
            created=write_moment(now),
            expires=write_moment(now + timedelta(days=days)),
        )
        links.append(link)
        code = "-".join(secret[start : start + 5] for start in range(0, 20, 5))
        made.append(MadeCode(expert=expert, url=address, code=code, expires=link.expires))
    store.people.add_links(links)
    return made


def list_codes(study: Study, store: Store) -> dict[str, AnswerLink | None]:
    """Return the link of each person's newest code; None for people who have questions but no code.

    Raises
    ------
    BadInput
        If no question was drawn.
    """
    asked = _check_asked(study, store, ())
    newest: dict[str, AnswerLink | None] = dict.fromkeys(asked)
    return newest | {link.expert: link for link in store.people.read_links()}


def revoke_codes(store: Store, experts: Sequence[str]) -> list[str]:
    """Revoke codes at once. Returns the experts who had a valid code.

    Raises
    ------
    BadInput
        If nobody is named, or somebody never had a code.
    """
    known = {link.expert for link in store.people.read_links()}
    for name in experts:
        if name not in known:
            raise BadInput(f"{name!r} has no code{did_you_mean(name, known)}")
    if not experts:
        raise BadInput("name the experts whose codes are to be revoked")
    return [name for name in dict.fromkeys(experts) if store.people.revoke_links(name)]


def hash_secret(secret: str) -> str:
    """Return the hash under which a secret is stored."""
    return sha256(secret.encode(errors="surrogateescape")).hexdigest()


def normalise_code(text: str) -> str:
    """Return a typed code in the form that is hashed; empty if it is not a code.

    Examples
    --------
    >>> normalise_code("3F9KQ X7M2C-ab4de OPZ8T")
    '3f9kqx7m2cab4de0pz8t'
    """
    found = text.lower().translate(_READ_AS)
    return found if _CODE.fullmatch(found) else ""


def derive_link_id(secret: str) -> str:
    """Return the public id of the link that belongs to `secret`, a normalised code."""
    return hash_secret(f"oversight answer link {secret}")[:12]


def sign_in(store: Store, secret: str) -> AnswerLink | None:
    """Return the link that belongs to a normalised code; None if the code or the link is not valid."""
    link = store.people.find_link(derive_link_id(secret))
    return _check_secret(link, secret, "" if link is None else link.token_digest)


def open_link(store: Store, link_id: str, session: str) -> AnswerLink | None:
    """Return the link with this id; None if it is not valid, or its cookie's value is not `session`."""
    link = store.people.find_link(link_id)
    return _check_secret(link, session, "" if link is None else link.session_digest)


def _check_secret(link: AnswerLink | None, secret: str, digest: str) -> AnswerLink | None:
    """Return `link` if it is valid and `digest` is the hash of `secret`, otherwise None.

    The hashes are compared in constant time.
    """
    is_right = hmac.compare_digest(hash_secret(secret), digest or _NO_DIGEST)
    return link if link is not None and is_right and link.opens(datetime.now(UTC)) else None


def _check_asked(study: Study, store: Store, experts: Sequence[str]) -> list[str]:
    """Return the named experts without duplicates, or all people with questions if nobody is named.

    Names of people without questions are refused.
    """
    check_drawn(study, store)
    known = [name for name in store.count_asked(panel=study.experts.is_panel) if not is_erased(name)]
    for name in experts:
        if name not in known:
            raise BadInput(f"{name!r} has no questions{did_you_mean(name, known)}")
    return list(dict.fromkeys(experts)) or known
