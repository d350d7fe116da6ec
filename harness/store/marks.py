"""SQL of the mark that distinguishes the collecting study from its copies and its old database."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa

from oversight.harness.store.audit import write_moment
from oversight.harness.store.database import Repository
from oversight.harness.store.database_mark import DatabaseMark, read_mark
from oversight.harness.store.tables import DatabaseMarkRow

_MARK = DatabaseMarkRow.__table__


class MarkRepository(Repository):
    """The mark of a database; a marked database collects no answers until it is adopted."""

    def read_mark(self) -> DatabaseMark | None:
        """Return the mark that keeps this database from collecting answers; None if it may collect."""
        with self._database.transaction() as connection:
            return read_mark(connection)

    def mark_copy(self, source: str) -> None:
        """Mark this database as a new copy of another."""
        self._write(DatabaseMark(write_moment(datetime.now(UTC)), source))

    def mark_moved(self, target: str) -> None:
        """Mark this database as the old one of a study moved elsewhere."""
        self._write(DatabaseMark("", "", target))

    def adopt(self) -> DatabaseMark | None:
        """Make this database the collecting study. Returns the removed mark; None if there was no mark.

        The database must be opened with ``write_marked``; other open connections remain read-only.
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
