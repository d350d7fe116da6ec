"""Create, list and revoke personal links. Only hashes of their secrets are stored."""

from __future__ import annotations

import hmac
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
"""Default number of days for which a link is valid."""
_LONGEST_DAYS = 3660.0
_NO_DIGEST = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeLink:
    """A new link: its owner, its address with the token, and its expiry in ISO 8601 and UTC."""

    expert: str
    url: str
    expires: str


def make_links(
    study: Study, store: Store, address: str, *, experts: Sequence[str] = (), days: float = DAYS
) -> list[MadeLink]:
    """Create links, and revoke former links of the same experts; the addresses are not stored.

    Parameters
    ----------
    address
        Scheme and host of the page.
    experts
        Names of the links' owners; if empty, all people with questions.
    days
        Days for which the links are valid.

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
        link_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        link = AnswerLink(
            id=link_id,
            expert=expert,
            token_digest=hash_secret(secret),
            session_digest=hash_secret(derive_session(secret)),
            created=write_moment(now),
            expires=write_moment(now + timedelta(days=days)),
        )
        links.append(link)
        url = f"{address}/#pass={link_id}.{secret}"
        made.append(MadeLink(expert=expert, url=url, expires=link.expires))
    store.people.add_links(links)
    return made


def list_links(study: Study, store: Store) -> dict[str, AnswerLink | None]:
    """Return person → newest link, for people with questions or a link; None if they never had one.

    Raises
    ------
    BadInput
        If no question was drawn.
    """
    asked = _check_asked(study, store, ())
    newest: dict[str, AnswerLink | None] = dict.fromkeys(asked)
    return newest | {link.expert: link for link in store.people.read_links()}


def revoke_links(store: Store, experts: Sequence[str]) -> list[str]:
    """Revoke links at once. Returns the experts who had a valid link.

    Raises
    ------
    BadInput
        If nobody is named, or somebody never had a link.
    """
    known = {link.expert for link in store.people.read_links()}
    for name in experts:
        if name not in known:
            raise BadInput(f"{name!r} has no link{did_you_mean(name, known)}")
    if not experts:
        raise BadInput("name the experts whose links are to be revoked")
    return [name for name in dict.fromkeys(experts) if store.people.revoke_links(name)]


def hash_secret(secret: str) -> str:
    """Return the hash under which a secret is stored."""
    return sha256(secret.encode(errors="surrogateescape")).hexdigest()


def open_link(store: Store, link_id: str, *, secret: str = "", session: str = "") -> AnswerLink | None:
    """Return the link that a secret or cookie value opens now; None if it opens no link.

    The time that this takes reveals nothing about the secret.
    """
    link = store.people.find_link(link_id)
    stored = _NO_DIGEST if link is None else link.token_digest if secret else link.session_digest
    is_right = hmac.compare_digest(hash_secret(secret or session), stored)
    return link if link is not None and is_right and link.opens(datetime.now(UTC)) else None


def _check_asked(study: Study, store: Store, experts: Sequence[str]) -> list[str]:
    """Return the named experts, each once, or all with questions; refuse a name without questions."""
    check_drawn(study, store)
    known = [name for name in store.count_asked(panel=study.experts.is_panel) if not is_erased(name)]
    for name in experts:
        if name not in known:
            raise BadInput(f"{name!r} has no questions{did_you_mean(name, known)}")
    return list(dict.fromkeys(experts)) or known
