"""SQL of the mark that tells the study that collects from its copies and from its old database."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa

from oversight.harness.store.audit import write_moment
from oversight.harness.store.database import Repository
from oversight.harness.store.database_mark import DatabaseMark, read_mark
from oversight.harness.store.tables import DatabaseMarkRow

_MARK = DatabaseMarkRow.__table__


class MarkRepository(Repository):
    """The mark of a database; one with a mark collects nothing until it is adopted."""

    def read_mark(self) -> DatabaseMark | None:
        """Why this database collects nothing; None of a study that collects."""
        with self._database.transaction() as connection:
            return read_mark(connection)

    def mark_copy(self, source: str) -> None:
        """Mark this database as a copy of another, made now."""
        self._write(DatabaseMark(write_moment(datetime.now(UTC)), source))

    def mark_moved(self, target: str) -> None:
        """Mark this database as the old one of a study that is moved to another."""
        self._write(DatabaseMark("", "", target))

    def adopt(self) -> DatabaseMark | None:
        """Make this database the study that collects. Returns its mark; None if it had none.

        It must be opened with ``write_marked``; what has it open otherwise goes on to read alone.
        """
        with self._database.together(exclusive=True):
            found = self.read_mark()
            self._write(DatabaseMark("", ""))
        return found

    def refuse_mark(self) -> None:
        """Raise `StoreError` if this database has a mark."""
        if (mark := self.read_mark()) is not None:
            raise mark.refuse(self._database.shown)

    def _write(self, mark: DatabaseMark) -> None:
        values = {"copied_at": mark.copied_at, "source": mark.source, "moved_to": mark.moved_to}
        with self._database.transaction() as connection:
            connection.execute(sa.update(_MARK).values(values))
