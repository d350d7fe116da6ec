"""SQL of what a study asks, and whom: yes/no questions with their answers, or a panel's assignments."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from itertools import chain
from operator import attrgetter, eq
from typing import Any

import sqlalchemy as sa

from oversight.harness.errors import DataError
from oversight.harness.store.audit import PeopleRepository
from oversight.harness.store.database import BULK, Repository, split_into_batches
from oversight.harness.store.replies import ReplyRepository, Response
from oversight.harness.store.stored_values import (
    add_meta,
    is_same_item,
    make_items_storable,
    read_texts,
    write_json,
    write_meta,
    write_tuple,
)
from oversight.harness.store.tables import (
    AssignmentRow,
    ControlQuestionRow,
    ItemRow,
    ItemSourceRow,
    LookRow,
    QuestionRow,
    count_rows,
    execute_many,
    insert_tuples,
    row_of,
    select_values,
)
from oversight.harness.store.withdrawal import WithdrawalRepository
from oversight.harness.store.words import index_new_words
from oversight.harness.types import (
    PLACES,
    SECOND_QUESTIONS,
    Answer,
    Assignment,
    Choice,
    Item,
    Question,
    Rating,
    Verdict,
)

_ITEM, _QUESTION, _ASSIGNMENT = ItemRow.__table__, QuestionRow.__table__, AssignmentRow.__table__
_SOURCE, _LOOK = ItemSourceRow.__table__, LookRow.__table__
_PLACED = (_QUESTION, ControlQuestionRow.__table__)
_CHANGED_META = sa.update(_ITEM).where(_ITEM.c.id == sa.bindparam("named")).values(meta=sa.bindparam("meta"))
_OF_ITEM = ("id", "position", "text", "options", "permutation", "meta")
_OF_QUESTION = tuple(field.name for field in fields(Question))
_OF_ASSIGNMENT = tuple(field.name for field in fields(Assignment))
_fields_of_question, _fields_of_assignment = attrgetter(*_OF_QUESTION), attrgetter(*_OF_ASSIGNMENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLook:
    """A look at the estimates, of so many planned ones, when so many of the drawn questions were answered."""

    look: int
    looks: int
    answered: int
    drawn: int


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

        Columns that a stored item did not have yet are added to its meta; what it has stays.
        """
        return [item.id for portion in self.store_items(items) for item in portion]

    def store_items(self, items: Iterable[Item]) -> Iterator[list[Item]]:
        """Store items as `add_items`, and give each portion once it is; they stay when the last was given."""
        given = set[str]()
        # exclusive, or two processes could give one place to two items
        with self._database.transaction(exclusive=True) as connection:
            first = count = count_rows(connection, _ITEM)
            removed = WithdrawalRepository(self._database).read_removed() if first else set[str]()
            kept = (item for item in items if item.id not in removed)
            for portion in map(make_items_storable, split_into_batches(kept, BULK)):
                ids = [item.id for item in portion]
                known = self._read_known(ids) if first else {}
                fresh = [item for item in portion if item.id not in known] if known else portion
                if len(set(ids)) < len(ids) or not given.isdisjoint(ids):
                    again = next(name for j, name in enumerate(ids) if name in given or name in ids[:j])
                    raise DataError(f"the item id {again!r} occurs twice; ids must be unique")
                given.update(ids)
                for item in portion if known else ():
                    if item.id in known and not is_same_item(item, *known[item.id][:2]):
                        raise DataError(
                            f"the item {item.id!r} is stored with another text or other options; if it was "
                            f"corrected: oversight items correct {shlex.quote(item.id)}; if it is another "
                            "item, give it a new id"
                        )
                metas = ((item, known[item.id][2]) for item in portion if item.id in known)
                changed = [{"named": i.id, "meta": new} for i, old in metas if (new := add_meta(i, old))]
                execute_many(connection, _CHANGED_META, changed)
                rows = [
                    (i.id, at, i.text, write_tuple(i.options), write_tuple(i.permutation), write_meta(i.meta))
                    for at, i in enumerate(fresh, count)
                ]
                insert_tuples(connection, _ITEM, _OF_ITEM, rows)  # another process may be storing the same
                count += len(fresh)
                yield portion
            index_new_words(connection, first)

    def has_items(self) -> bool:
        """Whether any item is stored."""
        return bool(self._database.read_rows(sa.select(_ITEM.c.id).limit(1)))

    def read_source(self, digest: str) -> list[str] | None:
        """Ids of the items of a source that was noted, in its order; None if none was."""
        noted = self._database.read_rows(sa.select(_SOURCE.c["items"]).where(_SOURCE.c.digest == digest))
        return list(self._iterate_first_ids(noted[0][0])) if noted else None

    def note_source(self, digest: str, ids: Sequence[str], *, are_all: bool = False) -> None:
        """Note whose items these are, so that they need not be read again, if they are the first of all.

        `are_all` if they are known to be all.
        """
        if are_all or all(map(eq, self._iterate_first_ids(len(ids)), ids)):
            self._database.add_rows(_SOURCE, ("digest", "items"), [(digest, len(ids))])

    def _iterate_first_ids(self, number: int) -> Iterator[str]:
        query = sa.select(_ITEM.c.id).order_by(_ITEM.c.position, _ITEM.c.id).limit(number)
        return chain.from_iterable(names for (names,) in self._database.read_portions(query))

    def _read_known(self, ids: list[str]) -> dict[str, tuple[str, str, str]]:
        """Text, and options and meta in JSON, of the items of these ids that are stored."""
        json = (sa.cast(column, sa.Text) for column in (_ITEM.c.options, _ITEM.c.meta))
        query = sa.select(_ITEM.c.id, _ITEM.c.text, *json)
        rows = self._database.read_rows(query.where(self._database.among(_ITEM.c.id, ids)))
        return {name: (text, options, meta) for name, text, options, meta in rows}

    def read_items(self) -> list[Item]:
        """All items, in source order."""
        return self._database.read_table(Item, _ITEM, _ITEM.c.position)

    def read_bare_items(self) -> list[Item]:
        """All items in source order without texts and metadata, which take little memory.

        Options are in the order of the source, and items with the same ones share them.
        """
        query = sa.select(_ITEM.c.id, sa.cast(_ITEM.c.options, sa.Text)).order_by(_ITEM.c.position)
        with self._database.reading():
            pairs = self._database.read_tuples(query)
            parts = {text: (found := read_texts(text), tuple(range(len(found)))) for _, text in pairs}
            return [Item(name, "", *parts[text]) for name, text in pairs]

    def find_items(self, ids: Collection[str]) -> dict[str, Item]:
        """Stored items of these ids; fewer if some are not stored."""
        query = select_values(Item, _ITEM).where(self._database.among(_ITEM.c.id, ids))
        return {item.id: item for item in self._database.read_values(Item, query)}

    def find_same(self, texts: Collection[str]) -> list[Item]:
        """Stored items that have one of these texts, in no order; at most a portion of texts."""
        query = select_values(Item, _ITEM).where(self._database.among(_ITEM.c.text, texts))
        return list(self._database.read_values(Item, query))

    def find_options(self, ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Options of the stored items of these ids, at most a portion of them."""
        query = sa.select(_ITEM.c.id, sa.cast(_ITEM.c.options, sa.Text))
        query = query.where(self._database.among(_ITEM.c.id, ids))
        with self._database.reading():
            return {name: read_texts(options) for name, options in self._database.read_tuples(query)}

    def add_questions(self, questions: Iterable[Question]) -> int:
        """Store questions that are not there yet; return how many were new.

        A question keeps the expert it was first put to, even if routed again.
        """
        return self.add_question_fields(map(_fields_of_question, questions), self.count_draws())

    def add_question_fields(self, questions: Iterable[tuple[Any, ...]], draws: int) -> int:
        """Store questions as `add_questions`, given by their fields in order.

        Their places follow those of the first `draws` draws, see `count_draws`.
        """
        first = draws * PLACES
        rows = (
            (*fields, write_json(each) if each else "[]", None if place is None else first + place)
            for *fields, each, place in questions
        )
        return self._database.add_rows(_QUESTION, _OF_QUESTION, rows)

    def count_draws(self) -> int:
        """Number of draws whose questions, control questions included, have a place in their queue."""
        last = [self._database.read_rows(sa.select(sa.func.max(table.c.place)))[0][0] for table in _PLACED]
        return max((-1 if place is None else int(place)) // PLACES for place in last) + 1

    @contextmanager
    def indexing_late(self) -> Iterator[None]:
        """Have the first questions of all, stored inside, indexed at the end: in order, not one by one.

        To be used inside of `oversight.harness.store.Store.together`. Other than SQLite, a database indexes
        them as they come, since whoever reads would have to wait until the end.
        """
        with self._database.transaction() as connection:
            is_late = connection.dialect.name == "sqlite" and not count_rows(connection, _QUESTION)
            indices = sorted(_QUESTION.indexes, key=attrgetter("name")) if is_late else ()
            for index in indices:
                index.drop(connection)
            yield
            for index in indices:
                index.create(connection)

    def has_questions(self) -> bool:
        """Whether any question was drawn."""
        return bool(self._database.read_rows(sa.select(_QUESTION.c.id).limit(1)))

    def read_questions_about(self, items: Sequence[Item]) -> list[Question]:
        """All questions about these items, at most a portion of them."""
        about = self._database.among(_QUESTION.c.item_id, [item.id for item in items])
        return self._database.read_values(Question, select_values(Question, _QUESTION).where(about))

    def find_other_rule(self, protocol: str) -> Question | None:
        """The first question, in the order of items, that another rule drew; second questions aside."""
        names = (protocol, SECOND_QUESTIONS)
        other = select_values(Question, _QUESTION).join(_ITEM).where(_QUESTION.c.protocol.not_in(names))
        query = other.order_by(_ITEM.c.position, _QUESTION.c.option).limit(1)
        return next(iter(self._database.read_values(Question, query)), None)

    def count_questions(self) -> int:
        """Number of questions drawn."""
        with self._database.transaction() as connection:
            return count_rows(connection, _QUESTION)

    def read_experts(self) -> dict[str, str]:
        """Question id → whom it was put to, of all questions."""
        query, found = sa.select(_QUESTION.c.id, _QUESTION.c.expert), dict[str, str]()
        for names, experts in self._database.read_portions(query):
            found.update(zip(names, experts, strict=True))
        return found

    def find_experts(self, ids: Collection[str]) -> dict[str, str]:
        """Question id → whom it was put to, of at most a portion of ids; fewer if some were never asked."""
        query = sa.select(_QUESTION.c.id, _QUESTION.c.expert)
        return dict(self._database.read_tuples(query.where(self._database.among(_QUESTION.c.id, ids))))

    def read_questions(self, *, second: bool | None = None) -> list[Question]:
        """Questions in the order of their items: all, only second ones, or only the others."""
        query = sa.select(_QUESTION).join(_ITEM).order_by(_ITEM.c.position, _QUESTION.c.option)
        if second is not None:
            is_second = _QUESTION.c.protocol == SECOND_QUESTIONS
            query = query.where(is_second if second else ~is_second)
        return self._database.read_values(Question, query)

    def add_answers(self, answers: Iterable[Answer]) -> int:
        """Store answers to stored questions, all or none; return how many were new.

        Raises
        ------
        StoreError
            If a question has another verdict already.
        """
        return self.replies.add_replies(
            Response(a.question.id, a.expert, str(a.verdict), a.source, a.comment) for a in answers
        )

    def read_answers(self) -> list[Answer]:
        """Answers with their questions, in order of arrival; those to second questions aside.

        A question that was handed over, and answered by whoever took it, is put to that expert.
        """
        asked = {q.id: q for q in self.read_questions(second=False)}
        handed = PeopleRepository(self._database).read_handovers()
        replies = [r for r in self.replies.read_replies().values() if r.id in asked]
        for r in replies:
            if r.id in handed and r.expert == handed[r.id].taker:
                asked[r.id] = replace(asked[r.id], expert=r.expert)
        with self._database.reading():
            return [Answer(asked[r.id], r.expert, Verdict(r.value), r.source, r.comment) for r in replies]

    def read_looks(self) -> list[PlannedLook]:
        """All looks taken, in their order."""
        return self._database.read_table(PlannedLook, _LOOK, _LOOK.c.look)

    def add_look(self, look: PlannedLook) -> None:
        """Note a look; one that was noted before stays as it is."""
        if look.look not in {taken.look for taken in self.read_looks()}:
            row = {**row_of(look), "created": datetime.now(UTC).isoformat()}
            self._database.write_rows(_LOOK.insert(), [row])


class PanelRepository(Repository):
    """Assignments and ratings."""

    @property
    def replies(self) -> ReplyRepository:
        """What annotators chose, as replies to assignment ids."""
        return ReplyRepository(self._database, panel=True)

    def add_assignments(self, assignments: Sequence[Assignment]) -> int:
        """Store assignments that are not there yet; return how many were new."""
        return self._database.add_rows(_ASSIGNMENT, _OF_ASSIGNMENT, map(_fields_of_assignment, assignments))

    def has_assignments(self) -> bool:
        """Whether any item was given to an annotator."""
        return bool(self._database.read_rows(sa.select(_ASSIGNMENT.c.id).limit(1)))

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
            Response(c.assignment.id, c.assignment.annotator, c.label, c.source, c.comment) for c in choices
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
