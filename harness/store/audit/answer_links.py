"""SQL of the links by which experts open the page to answer on: at most one that opens it for each expert."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.store.database import Repository
from oversight.harness.store.tables import AnswerLinkRow, execute_many, row_of, select_values

_LINK = AnswerLinkRow.__table__


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLink:
    """An expert's personal link, without the secret that opens it.

    Attributes
    ----------
    id
        What the link is known by; no secret.
    expert
        Whose it is.
    token_digest, session_digest
        SHA-256 of the token that stands in the link, and of what a browser is given for it, in hex.
    created, expires, revoked, seen
        Times in ISO 8601 and UTC, with seconds; `revoked` and `seen` (last) are empty where it never was.
    """

    id: str
    expert: str
    token_digest: str
    session_digest: str
    created: str
    expires: str
    revoked: str = ""
    seen: str = ""

    def opens(self, now: datetime) -> bool:
        """Whether the link opens the page at a time."""
        return not self.revoked and write_moment(now) < self.expires


class LinkRepository(Repository):
    """Links, those that open nothing any more among them."""

    def add_links(self, links: Sequence[AnswerLink]) -> None:
        """Store links; what the same experts had before opens nothing any more."""
        with self._database.transaction(exclusive=True) as connection:
            for link in links:
                connection.execute(_revoke(link.expert, link.created))
            execute_many(connection, sa.insert(_LINK), [row_of(link) for link in links])

    def revoke_links(self, expert: str) -> bool:
        """Have an expert's link open nothing any more; whether there was one that did."""
        now = datetime.now(UTC)
        with self._database.transaction(exclusive=True) as connection:
            open_before = self.find_open(expert, now) is not None
            connection.execute(_revoke(expert, write_moment(now)))
        return open_before

    def find_link(self, link_id: str) -> AnswerLink | None:
        """The link known by an id; None if there is none."""
        query = select_values(AnswerLink, _LINK).where(_LINK.c.id == link_id)
        return next(iter(self._database.read_values(AnswerLink, query)), None)

    def find_open(self, expert: str, now: datetime) -> AnswerLink | None:
        """The link that opens an expert's page at a time; None if there is none."""
        query = select_values(AnswerLink, _LINK).where(_LINK.c.expert == expert, _LINK.c.revoked == "")
        return next((link for link in self._database.read_values(AnswerLink, query) if link.opens(now)), None)

    def read_links(self) -> list[AnswerLink]:
        """All links by expert, the newest of each last."""
        return self._database.read_table(AnswerLink, _LINK, _LINK.c.expert, _LINK.c.created, _LINK.c.id)

    def find_link_ids(self, expert: str) -> list[str]:
        """What an expert's links were and are known by."""
        query = sa.select(_LINK.c.id).where(_LINK.c.expert == expert).order_by(_LINK.c.created, _LINK.c.id)
        return [row.id for row in self._database.read_rows(query)]

    def note_seen(self, link_id: str) -> None:
        """Note that whoever has a link was here now, unless the database is busy with something else."""
        now = write_moment(datetime.now(UTC))
        with suppress(StoreError), self._database.unless_busy() as connection:
            connection.execute(sa.update(_LINK).where(_LINK.c.id == link_id).values(seen=now))


def write_moment(moment: datetime) -> str:
    """A time as it is stored: texts of the same form are in the order of the times."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _revoke(expert: str, now: str) -> sa.Update:
    return sa.update(_LINK).where(_LINK.c.expert == expert, _LINK.c.revoked == "").values(revoked=now)
