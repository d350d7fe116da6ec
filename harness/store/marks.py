"""SQL of the mark that tells the study that collects from its copies and from its old database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.store.audit import write_moment
from oversight.harness.store.database import Repository
from oversight.harness.store.tables import DatabaseMarkRow

_MARK = DatabaseMarkRow.__table__


@dataclass(frozen=True, slots=True)
class DatabaseMark:
    """Why a database collects nothing: it is a copy, or the study was moved from it.

    Attributes
    ----------
    copied_at
        When the copy was made; ISO 8601, UTC. Empty if it is no copy.
    source
        Address of the copied database, without a password.
    moved_to
        Address of the database that the study was moved to, without a password; else empty.
    """

    copied_at: str
    source: str
    moved_to: str = ""

    def __str__(self) -> str:
        if self.moved_to:
            return f"the old database of a study that was moved to {self.moved_to}"
        return f"a copy of {self.source}, made at {self.copied_at}"


class MarkRepository(Repository):
    """The mark of a database; one with a mark collects nothing until it is adopted."""

    def read_mark(self) -> DatabaseMark | None:
        """Why this database collects nothing; None of a study that collects."""
        query = sa.select(_MARK.c.copied_at, _MARK.c.source, _MARK.c.moved_to)
        [mark] = [DatabaseMark(*row) for row in self._database.read_tuples(query)]
        return mark if mark.copied_at or mark.moved_to else None

    def mark_copy(self, source: str) -> None:
        """Mark this database as a copy of another, made now."""
        self._write(DatabaseMark(write_moment(datetime.now(UTC)), source))

    def mark_moved(self, target: str) -> None:
        """Mark this database as the old one of a study that is moved to another."""
        self._write(DatabaseMark("", "", target))

    def adopt(self) -> DatabaseMark | None:
        """Make this database the study that collects. Returns its mark; None if it had none."""
        with self._database.together(exclusive=True):
            found = self.read_mark()
            self._write(DatabaseMark("", ""))
        return found

    def refuse_mark(self) -> None:
        """Raise `StoreError` if this database has a mark."""
        if (mark := self.read_mark()) is not None:
            way = (
                "name the new one as store in study.toml, or end the move with: oversight store move"
                if mark.moved_to
                else "if the old database is lost or will not be used any more, make the copy the study "
                "with: oversight store adopt"
            )
            raise StoreError(
                f"{self._database.shown}: this database is {mark}; it can be read, and collects "
                f"nothing; {way}"
            )

    def _write(self, mark: DatabaseMark) -> None:
        values = {"copied_at": mark.copied_at, "source": mark.source, "moved_to": mark.moved_to}
        with self._database.transaction() as connection:
            connection.execute(sa.update(_MARK).values(values))
