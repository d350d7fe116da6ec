"""SQL of a panel: which item was given to whom, and what they chose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from harness.store.database import Database, Repository, row_of
from harness.store.replies import ReplyRepository, Response
from harness.store.tables import AssignmentRow, ItemRow
from harness.types import Assignment, Choice, Rating

_ASSIGNMENT, _ITEM = AssignmentRow.__table__, ItemRow.__table__


class PanelRepository(Repository):
    """Assignments and ratings."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.replies = ReplyRepository(database, panel=True)

    def add_assignments(self, assignments: Sequence[Assignment]) -> int:
        """Store assignments that are not there yet; return how many were new."""
        return self._database.add_rows(_ASSIGNMENT, [row_of(a) for a in assignments])

    def read_assignments(self) -> list[Assignment]:
        """All assignments, in the order of their items."""
        query = sa.select(_ASSIGNMENT).join(_ITEM).order_by(_ITEM.c.position, _ASSIGNMENT.c.annotator)
        return self._database.read_values(Assignment, query)

    def add_choices(self, choices: Iterable[Choice]) -> int:
        """Store what annotators chose, all or none; return how many were new.

        Raises
        ------
        StoreError
            If an assignment has another label already.
        """
        return self.replies.add_replies(
            [Response(c.assignment.id, c.assignment.annotator, c.label, c.source, c.comment) for c in choices]
        )

    def read_choices(self) -> list[Choice]:
        """All that was chosen or skipped, in order of arrival."""
        given = {a.id: a for a in self.read_assignments()}
        replies = self.replies.read_replies().values()
        return [Choice(given[r.id], r.value, r.source, r.comment) for r in replies]

    def read_ratings(self) -> list[Rating]:
        """What was chosen, in the order of the items; what was skipped is no row."""
        said = self.replies.read_replies()
        return [
            Rating(a.item_id, a.annotator, said[a.id].value)
            for a in self.read_assignments()
            if a.id in said and said[a.id].value
        ]
