"""SQL of what a study asks, and whom: yes/no questions with their answers, or a panel's assignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import sqlalchemy as sa

from harness.errors import DataError
from harness.output import make_storable
from harness.store.database import (
    Repository,
    count_rows,
    insert_into,
    row_of,
    select_values,
    split_into_batches,
)
from harness.store.replies import ReplyRepository, Response
from harness.store.tables import AssignmentRow, ItemRow, QuestionRow
from harness.types import Answer, Assignment, Choice, Item, Question, Rating, Verdict

_ITEM, _QUESTION, _ASSIGNMENT = ItemRow.__table__, QuestionRow.__table__, AssignmentRow.__table__


class ContentRepository(Repository):
    """Items, questions and answers."""

    @property
    def replies(self) -> ReplyRepository:
        """What experts answered, as replies to question ids."""
        return ReplyRepository(self._database, panel=False)

    def add_items(self, items: Iterable[Item]) -> list[str]:
        """Store items that are not there yet, all or none; return the ids of all of them.

        Items are drawn and written in portions, so that a file of any length takes little memory.

        Raises
        ------
        DataError
            If an item is there with another text or other options: questions about it were asked
            as it was, so it may not change. If an id is given twice, or is one that not every database
            takes; of texts and options such characters are kept in visible form.
        """
        ids = list[str]()
        with self._database.transaction() as connection:
            count = count_rows(connection, _ITEM)
            for portion in split_into_batches(map(_make_storable, items)):
                names = [item.id for item in portion]
                query = sa.select(_ITEM.c.id, _ITEM.c.text, _ITEM.c.options).where(_ITEM.c.id.in_(names))
                known = {row.id: (row.text, row.options) for row in connection.execute(query)}
                fresh = [item for item in portion if item.id not in known]
                for item in portion:
                    if known.get(item.id, (item.text, item.options)) != (item.text, item.options):
                        raise DataError(
                            f"the item {item.id!r} is stored with another text or other options; give the "
                            "changed item a new id"
                        )
                rows = [
                    {**row_of(item), "meta": dict(item.meta), "position": position}
                    for position, item in enumerate(fresh, count)
                ]
                if rows:  # another process may be storing the same items
                    insert = insert_into(_ITEM, connection.dialect)
                    connection.execute(insert.on_conflict_do_nothing(), rows)
                count += len(fresh)
                ids += names
            if len(set(ids)) < len(ids):
                twice = next(name for name, n in Counter(ids).items() if n > 1)
                raise DataError(f"the item id {twice!r} is there twice; ids must be unique")
        return ids

    def read_items(self) -> list[Item]:
        """All items, in source order."""
        return self._database.read_table(Item, _ITEM, _ITEM.c.position)

    def find_items(self, ids: Collection[str]) -> dict[str, Item]:
        """Stored items of these ids; fewer if some are not stored."""
        query = select_values(Item, _ITEM).where(_ITEM.c.id.in_(ids))
        return {item.id: item for item in self._database.read_values(Item, query)}

    def add_questions(self, questions: Sequence[Question]) -> int:
        """Store questions that are not there yet; return how many were new.

        A question keeps the expert it was first put to, even if routed again.
        """
        return self._database.add_rows(_QUESTION, [row_of(q) for q in questions])

    def read_questions(self) -> list[Question]:
        """All questions, in the order of their items."""
        query = sa.select(_QUESTION).join(_ITEM).order_by(_ITEM.c.position, _QUESTION.c.option)
        return self._database.read_values(Question, query)

    def add_answers(self, answers: Sequence[Answer]) -> int:
        """Store answers to stored questions, all or none; return how many were new.

        Raises
        ------
        StoreError
            If a question has another verdict already.
        """
        return self.replies.add_replies(
            [Response(a.question.id, a.expert, str(a.verdict), a.source, a.comment) for a in answers]
        )

    def read_answers(self) -> list[Answer]:
        """All answers with their questions, in order of arrival."""
        asked = {q.id: q for q in self.read_questions()}
        replies = self.replies.read_replies().values()
        with self._database.reading():
            return [Answer(asked[r.id], r.expert, Verdict(r.value), r.source, r.comment) for r in replies]


def _make_storable(item: Item) -> Item:
    if make_storable(item.id) != item.id:
        raise DataError(f"the item id {item.id!r} holds a character that no database takes, or a key")
    text, options = make_storable(item.text), tuple(map(make_storable, item.options))
    if text == item.text and options == item.options:
        return item
    return replace(item, text=text, options=options)


class PanelRepository(Repository):
    """Assignments and ratings."""

    @property
    def replies(self) -> ReplyRepository:
        """What annotators chose, as replies to assignment ids."""
        return ReplyRepository(self._database, panel=True)

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
        with self._database.reading():
            return [Choice(given[r.id], r.value, r.source, r.comment) for r in replies]

    def read_ratings(self) -> list[Rating]:
        """What was chosen, in the order of the items; what was skipped is no row."""
        said = self.replies.read_replies()
        return [
            Rating(a.item_id, a.annotator, said[a.id].value)
            for a in self.read_assignments()
            if a.id in said and said[a.id].value
        ]
