"""SQL of a panel: which item was given to whom, and what they chose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import sqlalchemy as sa

from harness.store.responses import Response, Responses
from harness.store.tables import AssignmentRow, ItemRow, table_of
from harness.types import Assignment, Choice, Rating

if TYPE_CHECKING:
    from harness.store.repository import Repository


class PanelRatings:
    """Assignments and ratings of a study's database.

    Parameters
    ----------
    store
        The study's database.
    """

    def __init__(self, store: Repository) -> None:
        self._store, self.book = store, Responses(store, panel=True)

    def add_assignments(self, assignments: Sequence[Assignment]) -> int:
        """Store assignments that are not there yet; return how many were new."""
        table = table_of(AssignmentRow)
        with self._store.transaction() as connection:
            known = set(connection.execute(sa.select(table.c.id)).scalars())
            fresh = [asdict(a) for a in assignments if a.id not in known]
            if fresh:
                connection.execute(sa.insert(table), fresh)
        return len(fresh)

    def assignments(self) -> list[Assignment]:
        """All assignments, in the order of their items."""
        table, item = table_of(AssignmentRow), table_of(ItemRow)
        query = sa.select(table).join(item).order_by(item.c.position, table.c.annotator)
        with self._store.transaction() as connection:
            return [Assignment(**row) for row in connection.execute(query).mappings()]

    def add_choices(self, choices: Iterable[Choice]) -> int:
        """Store what annotators chose, all or none; return how many were new.

        Raises
        ------
        StoreError
            If an assignment has another label already.
        """
        return self.book.add(
            [Response(c.assignment.id, c.assignment.annotator, c.label, c.source, c.comment) for c in choices]
        )

    def choices(self) -> list[Choice]:
        """All that was chosen or skipped, in order of arrival."""
        given = {a.id: a for a in self.assignments()}
        return [Choice(given[r.id], r.value, r.source, r.comment) for r in self.book.replies().values()]

    def ratings(self) -> list[Rating]:
        """What was chosen, in the order of the items; what was skipped is no row."""
        said = self.book.replies()
        return [
            Rating(a.item_id, a.annotator, said[a.id].value)
            for a in self.assignments()
            if a.id in said and said[a.id].value
        ]
