"""SQL of the mark that tells a copy of a study from the study that collects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from harness.errors import StoreError
from harness.store.audit import write_moment
from harness.store.database import Repository
from harness.store.tables import DatabaseMarkRow

_MARK = DatabaseMarkRow.__table__


@dataclass(frozen=True, slots=True)
class CopyMark:
    """When a copy was made, and from which database.

    Attributes
    ----------
    copied_at
        ISO 8601, UTC.
    source
        Address of the copied database, without a password.
    """

    copied_at: str
    source: str

    def __str__(self) -> str:
        return f"a copy of {self.source}, made at {self.copied_at}"


class MarkRepository(Repository):
    """The mark of a database: a copy collects nothing until it is adopted."""

    def read_copy(self) -> CopyMark | None:
        """When and from where this database was copied; None of a study that collects."""
        query = sa.select(_MARK.c.copied_at, _MARK.c.source).where(_MARK.c.copied_at != "")
        found = self._database.read_tuples(query)
        return CopyMark(*found[0]) if found else None

    def mark_copy(self, source: str) -> None:
        """Mark this database as a copy of another, made now."""
        with self._database.transaction() as connection:
            connection.execute(
                sa.update(_MARK).values(copied_at=write_moment(datetime.now(UTC)), source=source)
            )

    def adopt(self) -> CopyMark | None:
        """Make a copy the study that collects. Returns its mark; None if it was no copy."""
        with self._database.transaction(exclusive=True) as connection:
            found = self.read_copy()
            connection.execute(sa.update(_MARK).values(copied_at="", source=""))
        return found

    def refuse_copy(self) -> None:
        """Raise `StoreError` if this database is a copy."""
        if (copy := self.read_copy()) is not None:
            raise StoreError(
                f"{self._database.shown}: this database is {copy}; a copy can be read, and collects nothing; "
                "if the old database is lost or will not be used any more, make the copy the study with: "
                "oversight store adopt"
            )
