"""The mark of a database that must not collect answers: a copy, or the old database of a moved study."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.store.tables.content_tables import DatabaseMarkRow
from oversight.harness.store.tables.insertion import select_values

_MARK = DatabaseMarkRow.__table__


@dataclass(frozen=True, slots=True)
class DatabaseMark:
    """Reason why a database must not collect answers: it is a copy, or the study was moved elsewhere.

    Attributes
    ----------
    copied_at
        Time of the copy in ISO 8601, UTC; empty if the database is not a copy.
    source
        Address of the database that was copied, without a password; otherwise empty.
    moved_to
        Address of the database that the study was moved to, without a password; otherwise empty.
    """

    copied_at: str
    source: str
    moved_to: str = ""

    def __str__(self) -> str:
        if self.moved_to:
            return f"the old database of a study that was moved to {self.moved_to}"
        return f"a copy of {self.source}, made at {self.copied_at}"

    def refuse(self, shown: str) -> StoreError:
        """Return the error for a write to a database with this mark; `shown` is the database's address."""
        way = (
            "enter the new database as store in study.toml, or complete the move with: oversight store move"
            if self.moved_to
            else "if the original database is lost or no longer used, make this copy the study's database "
            "with: oversight store adopt"
        )
        return StoreError(f"{shown}: this database is {self}; it is read-only and collects no answers; {way}")


def read_mark(connection: sa.Connection) -> DatabaseMark | None:
    """Return a database's mark; None if the database may collect answers."""
    mark = DatabaseMark(*connection.execute(select_values(DatabaseMark, _MARK)).one())
    return mark if mark.copied_at or mark.moved_to else None
