"""Personal links: made, listed, revoked. Only hashes of their secrets are stored."""

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
"""For how long a link opens the page if nobody says otherwise."""
_LONGEST_DAYS = 3660.0
_NO_DIGEST = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeLink:
    """A new link: whose it is, its address, which holds the token, and when it ends, in ISO 8601 and UTC."""

    expert: str
    url: str
    expires: str


def make_links(
    study: Study, store: Store, address: str, *, experts: Sequence[str] = (), days: float = DAYS
) -> list[MadeLink]:
    """Make new links, which are told this once; the same experts' former ones open nothing any more.

    Parameters
    ----------
    address
        Scheme and host under which the page is opened.
    experts
        For whom; everybody who is asked anything if empty.
    days
        For how long they open the page.

    Raises
    ------
    BadInput
        If nothing was drawn, somebody is asked nothing, or the days are not above 0.
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
    store.links.add_links(links)
    return made


def list_links(study: Study, store: Store) -> dict[str, AnswerLink | None]:
    """Everybody who is asked anything, or had a link → the newest link; None if there never was one.

    Raises
    ------
    BadInput
        If nothing was drawn.
    """
    asked = _check_asked(study, store, ())
    newest: dict[str, AnswerLink | None] = dict.fromkeys(asked)
    return newest | {link.expert: link for link in store.links.read_links()}


def revoke_links(store: Store, experts: Sequence[str]) -> list[str]:
    """Have links open nothing any more, at once; return the experts who had one that did.

    Raises
    ------
    BadInput
        If nobody is named, or somebody never had a link.
    """
    known = {link.expert for link in store.links.read_links()}
    for name in experts:
        if name not in known:
            raise BadInput(f"{name!r} has no link{did_you_mean(name, known)}")
    if not experts:
        raise BadInput("name the experts whose links are to be revoked")
    return [name for name in dict.fromkeys(experts) if store.links.revoke_links(name)]


def hash_secret(secret: str) -> str:
    """What is stored of a secret."""
    return sha256(secret.encode(errors="surrogateescape")).hexdigest()


def open_link(store: Store, link_id: str, *, secret: str = "", session: str = "") -> AnswerLink | None:
    """The link that a secret, or what was given for it, opens now; None, whatever the reason, if it does not.

    The time it takes tells nothing of the secret.
    """
    link = store.links.find_link(link_id)
    stored = _NO_DIGEST if link is None else link.token_digest if secret else link.session_digest
    is_right = hmac.compare_digest(hash_secret(secret or session), stored)
    return link if link is not None and is_right and link.opens(datetime.now(UTC)) else None


def _check_asked(study: Study, store: Store, experts: Sequence[str]) -> list[str]:
    """The experts named, each once, or all; refused if one is asked nothing."""
    check_drawn(study, store)
    known = [name for name in store.count_asked(panel=study.experts.is_panel) if not is_erased(name)]
    for name in experts:
        if name not in known:
            raise BadInput(f"{name!r} is asked nothing{did_you_mean(name, known)}")
    return list(dict.fromkeys(experts)) or known
