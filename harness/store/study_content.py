"""SQL of a study's items, questions, assignments and answers."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime
from itertools import chain
from operator import attrgetter, eq
from typing import Any

import sqlalchemy as sa

from oversight.harness.errors import DataError
from oversight.harness.store.audit.people import PeopleRepository
from oversight.harness.store.database import BULK, Repository, split_into_batches
from oversight.harness.store.full_text.full_text_index import index_new_words
from oversight.harness.store.replies import ReplyRepository, Response
from oversight.harness.store.serialization import (
    add_meta,
    is_same_item,
    make_items_storable,
    name_today,
    read_json,
    read_tuple,
    write_json,
    write_meta,
    write_tuple,
)
from oversight.harness.store.tables.insertion import (
    count_rows,
    execute_many,
    insert_tuples,
    row_of,
    select_values,
)
from oversight.harness.store.tables.study_tables import (
    ASSIGNMENT,
    CONTROL,
    ITEM,
    ITEM_SOURCE,
    LOOK,
    QUESTION,
    PlannedLook,
)
from oversight.harness.store.withdrawal import WithdrawalRepository
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

_PLACED = (QUESTION, CONTROL)
_CHANGED_META = sa.update(ITEM).where(ITEM.c.id == sa.bindparam("named")).values(meta=sa.bindparam("meta"))
_JSON = [sa.cast(ITEM.c[name], sa.Text) for name in ("options", "permutation", "meta")]
_ITEMS = sa.select(ITEM.c.id, ITEM.c.text, *_JSON)
_OF_ITEM = ("id", "position", "text", "options", "permutation", "meta")
_OF_QUESTION = tuple(field.name for field in fields(Question))
_fields_of_question = attrgetter(*_OF_QUESTION)


class ContentRepository(Repository):
    """Reads and writes items, questions and answers."""

    @property
    def replies(self) -> ReplyRepository:
        """Repository of experts' answers to the study's questions."""
        return ReplyRepository(self._database, "answer")

    def add_items(self, items: Iterable[Item]) -> list[str]:
        """Store new items, all or none. Returns the ids of all given items.

        Items are read and written in batches to save memory. Columns that a stored item lacks are added to
        its meta; existing values are kept.

        Raises
        ------
        DataError
            If an id occurs twice, if an id has characters that a database cannot store, or if a stored item
            has another text or other options than the given item with its id. A stored item cannot be
            changed here, because questions may have been asked about it.
        """
        return [item.id for portion in self.store_items(items) for item in portion]

    def store_items(self, items: Iterable[Item]) -> Iterator[list[Item]]:
        """Store items as `add_items` does, and yield them in batches.

        The items are stored permanently only after the caller has read the last batch.
        """
        given = set[str]()
        # The transaction is exclusive, so that two processes cannot give the same position to two items.
        with self._database.transaction(exclusive=True) as connection:
            first = count = count_rows(connection, ITEM)
            removed = WithdrawalRepository(self._database).read_removed() if first else set[str]()
            former = self.read_former_ids() if first else {}
            named = (replace(item, id=former.get(item.id, item.id)) for item in items) if former else items
            kept = (item for item in named if item.id not in removed)
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
                # Another process may have stored the same item, so existing rows are kept.
                insert_tuples(connection, ITEM, _OF_ITEM, rows)
                count += len(fresh)
                yield portion
            index_new_words(connection, first)

    def has_items(self) -> bool:
        """Whether any item is stored."""
        return self._database.has_rows(ITEM)

    def read_source(self, digest: str) -> list[str] | None:
        """Return the ids, in order, of the items that came from a source with this digest.

        Returns None if no source with this digest was recorded.
        """
        noted = self._database.read_rows(
            sa.select(ITEM_SOURCE.c["items"]).where(ITEM_SOURCE.c.digest == digest)
        )
        return list(self._iterate_first_ids(noted[0][0])) if noted else None

    def note_source(self, digest: str, ids: Sequence[str], *, are_all: bool = False) -> None:
        """Record that a source contains the first `len(ids)` stored items.

        The source then need not be read again. The method first checks that `ids` are the ids of these
        items; if they are not, it records nothing. With `are_all`, it does not check.
        """
        if are_all or all(map(eq, self._iterate_first_ids(len(ids)), ids)):
            self._database.add_rows(ITEM_SOURCE, ("digest", "items"), [(digest, len(ids))])

    def _iterate_first_ids(self, number: int) -> Iterator[str]:
        query = sa.select(ITEM.c.id).order_by(ITEM.c.position, ITEM.c.id).limit(number)
        return chain.from_iterable(names for (names,) in self._database.read_portions(query))

    def _read_known(self, ids: list[str]) -> dict[str, tuple[str, str, str]]:
        """Return (text, options, meta) of the stored items with these ids; options and meta as JSON."""
        json = (sa.cast(column, sa.Text) for column in (ITEM.c.options, ITEM.c.meta))
        query = sa.select(ITEM.c.id, ITEM.c.text, *json)
        rows = self._database.read_rows(query.where(self._database.among(ITEM.c.id, ids)))
        return {name: (text, options, meta) for name, text, options, meta in rows}

    def read_former_ids(self) -> dict[str, str]:
        """Return new id → stored id of the items that `name_today` gives a new id."""
        query = sa.select(ITEM.c.id, ITEM.c.text, sa.cast(ITEM.c.options, sa.Text))
        rows = self._database.read_rows(query.where(ITEM.c.text.contains("\r")))
        found = {name_today(name, text, options): name for name, text, options in rows}
        known = self._read_known(list(found)) if found else {}
        return {today: name for today, name in found.items() if today not in known}

    def read_items(self) -> list[Item]:
        """Return all items, in source order."""
        return self._read_items(_ITEMS.order_by(ITEM.c.position))

    def _read_items(self, query: sa.Select[Any]) -> list[Item]:
        """Return the items of a query that extends `_ITEMS`; items with equal options share one tuple."""
        with self._database.reading():
            rows = self._database.read_tuples(query)
            return [Item(i, t, read_tuple(o), read_tuple(p), read_json(m)) for i, t, o, p, m in rows]

    def read_bare_items(self) -> list[Item]:
        """Return all items in source order without text and meta, to save memory.

        Permutations are the identity, and items with equal options share one tuple.
        """
        query = sa.select(ITEM.c.id, sa.cast(ITEM.c.options, sa.Text)).order_by(ITEM.c.position)
        with self._database.reading():
            pairs = self._database.read_tuples(query)
            parts = {text: (found := read_tuple(text), tuple(range(len(found)))) for _, text in pairs}
            return [Item(name, "", *parts[text]) for name, text in pairs]

    def find_items(self, ids: Collection[str]) -> dict[str, Item]:
        """Return the stored items with these ids, by id; unknown ids are left out."""
        query = _ITEMS.where(self._database.among(ITEM.c.id, ids))
        return {item.id: item for item in self._read_items(query)}

    def find_same(self, texts: Collection[str]) -> list[Item]:
        """Return the stored items whose text equals one of these texts, in no particular order."""
        return self._read_items(_ITEMS.where(self._database.among(ITEM.c.text, texts)))

    def find_options(self, ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the options of each given item, by item id; unknown ids are left out."""
        query = sa.select(ITEM.c.id, sa.cast(ITEM.c.options, sa.Text))
        query = query.where(self._database.among(ITEM.c.id, ids))
        with self._database.reading():
            return {name: read_tuple(options) for name, options in self._database.read_tuples(query)}

    def add_questions(self, questions: Iterable[Question]) -> int:
        """Store questions that are not stored yet. Returns how many were new.

        A stored question keeps its expert, even if a later draw routes it to another expert.
        """
        return self.add_question_fields(map(_fields_of_question, questions), self.count_draws())

    def add_question_fields(self, questions: Iterable[tuple[Any, ...]], draws: int) -> int:
        """Store questions as `add_questions` does; each is given as a tuple of the fields of `Question`.

        `draws` is the number of earlier draws. The new questions get places in the queues after the questions
        of these draws.
        """
        first = draws * PLACES
        rows = (
            (*fields, write_json(each) if each else "[]", None if place is None else first + place)
            for *fields, each, place in questions
        )
        return self._database.add_rows(QUESTION, _OF_QUESTION, rows)

    def count_draws(self) -> int:
        """Return the number of draws of questions so far, computed from the largest stored `place`."""
        last = [self._database.read_rows(sa.select(sa.func.max(table.c.place)))[0][0] for table in _PLACED]
        return max((-1 if place is None else int(place)) // PLACES for place in last) + 1

    @contextmanager
    def indexing_late(self) -> Iterator[None]:
        """Build the indices of the question table at the end of the block, if no question is stored yet.

        This makes adding many questions faster. Use it inside `oversight.harness.store.Store.together`. It
        has no effect on a server, where readers would have to wait until the end of the block.
        """
        with self._database.transaction() as connection:
            is_late = connection.dialect.name == "sqlite" and not count_rows(connection, QUESTION)
            indices = sorted(QUESTION.indexes, key=attrgetter("name")) if is_late else ()
            for index in indices:
                index.drop(connection)
            yield
            for index in indices:
                index.create(connection)

    def has_questions(self) -> bool:
        """Whether any question was drawn."""
        return self._database.has_rows(QUESTION)

    def read_questions_about(self, items: Sequence[Item]) -> list[Question]:
        """Return all questions about the given items, read in one batch."""
        about = self._database.among(QUESTION.c.item_id, [item.id for item in items])
        return self._database.read_values(Question, select_values(Question, QUESTION).where(about))

    def find_other_rule(self, protocol: str) -> Question | None:
        """Return the first question that another protocol than `protocol` drew; None if there is none.

        Questions of the second phase are ignored.
        """
        names = (protocol, SECOND_QUESTIONS)
        other = select_values(Question, QUESTION).join(ITEM).where(QUESTION.c.protocol.not_in(names))
        query = other.order_by(ITEM.c.position, QUESTION.c.option).limit(1)
        return next(iter(self._database.read_values(Question, query)), None)

    def count_questions(self) -> int:
        """Return the number of stored questions, including those of the second phase."""
        return self._database.count(QUESTION)

    def read_experts(self) -> dict[str, str]:
        """Return the expert of each question, by question id."""
        query, found = sa.select(QUESTION.c.id, QUESTION.c.expert), dict[str, str]()
        for names, experts in self._database.read_portions(query):
            found.update(zip(names, experts, strict=True))
        return found

    def find_experts(self, ids: Collection[str]) -> dict[str, str]:
        """Return the expert of each given question, by question id; unknown ids are left out."""
        query = sa.select(QUESTION.c.id, QUESTION.c.expert)
        return dict(self._database.read_tuples(query.where(self._database.among(QUESTION.c.id, ids))))

    def read_questions(self, *, second: bool | None = None) -> list[Question]:
        """Return questions in item order.

        If `second` is true, return only the questions of the second phase; if false, only all other
        questions; if None, all questions.
        """
        query = sa.select(QUESTION).join(ITEM).order_by(ITEM.c.position, QUESTION.c.option)
        if second is not None:
            is_second = QUESTION.c.protocol == SECOND_QUESTIONS
            query = query.where(is_second if second else ~is_second)
        return self._database.read_values(Question, query)

    def add_answers(self, answers: Iterable[Answer]) -> int:
        """Store answers to stored questions, all or none. Returns how many were new.

        Raises
        ------
        StoreError
            If a question has a different verdict already.
        """
        return self.replies.add_replies(
            Response(a.question.id, a.expert, str(a.verdict), a.source, a.comment) for a in answers
        )

    def read_answers(self) -> list[Answer]:
        """Return the answers, each with its question, in order of arrival.

        Answers to questions of the second phase are left out. If a reassigned question was answered by its
        new expert, this expert is the `expert` of the returned question.
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
        """Return the recorded interim analyses, in order."""
        return self._database.read_table(PlannedLook, LOOK, LOOK.c.look)

    def add_look(self, look: PlannedLook) -> None:
        """Record an interim analysis; an existing record is kept."""
        if look.look not in {taken.look for taken in self.read_looks()}:
            row = {**row_of(look), "created": datetime.now(UTC).isoformat()}
            self._database.write_rows(LOOK.insert(), [row])


class PanelRepository(Repository):
    """Assignments and ratings of a panel."""

    @property
    def replies(self) -> ReplyRepository:
        """Repository of annotators' choices."""
        return ReplyRepository(self._database, "rating")

    def add_assignments(self, assignments: Sequence[Assignment]) -> int:
        """Store assignments that are not stored yet. Returns how many were new."""
        return self._database.add_values(ASSIGNMENT, Assignment, assignments)

    def has_assignments(self) -> bool:
        """Whether any item was assigned to an annotator."""
        return self._database.has_rows(ASSIGNMENT)

    def read_assignments(self) -> list[Assignment]:
        """Return all assignments, in item order."""
        query = sa.select(ASSIGNMENT).join(ITEM).order_by(ITEM.c.position, ASSIGNMENT.c.annotator)
        return self._database.read_values(Assignment, query)

    def add_choices(self, choices: Iterable[Choice]) -> int:
        """Store annotators' choices, all or none. Returns how many were new.

        Raises
        ------
        StoreError
            If an assignment has a different label already.
        """
        return self.replies.add_replies(
            Response(c.assignment.id, c.assignment.annotator, c.label, c.source, c.comment) for c in choices
        )

    def read_choices(self) -> list[Choice]:
        """Return all choices, including skips, in order of arrival."""
        given = {a.id: a for a in self.read_assignments()}
        replies = self.replies.read_replies().values()
        with self._database.reading():
            return [Choice(given[r.id], r.value, r.source, r.comment) for r in replies]

    def read_ratings(self) -> list[Rating]:
        """Return the ratings in item order; skipped assignments have no rating."""
        said = self.replies.read_replies()
        return [
            Rating(a.item_id, a.annotator, said[a.id].value)
            for a in self.read_assignments()
            if a.id in said and said[a.id].value
        ]
