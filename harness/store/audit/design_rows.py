"""SQL for audits: rows and digests of a study's design, and the study's answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

import orjson
import sqlalchemy as sa

from oversight.harness.store.database import Repository
from oversight.harness.store.serialization import read_json
from oversight.harness.store.tables.study_tables import (
    ANSWER,
    ASSIGNMENT,
    CONTROL,
    CONTROL_ANSWER,
    GOLD,
    ITEM,
    ITEM_DRAW,
    OPEN_ANSWER,
    POOL_ITEM,
    QUESTION,
    RATING,
    UNIT,
    UNIT_DRAW,
    ControlQuestion,
    DrawnExpert,
    ItemDraw,
)
from oversight.harness.store.tables.table_maker import is_json
from oversight.harness.types import Assignment, Question

_POSITION = ITEM.c.position
REPLIES: dict[str, tuple[sa.Table, str, str]] = {
    "answer": (ANSWER, "question_id", "verdict"),
    "control_answer": (CONTROL_ANSWER, "question_id", "verdict"),
    "rating": (RATING, "assignment_id", "label"),
}
"""Tables of replies by name, each with its columns of ids and of values."""
REPLY_TABLES = tuple(REPLIES)
"""Names of the tables of answers: to questions, to control questions, and by a panel."""


class StoredAnswerValue(NamedTuple):
    """An answer as stored in the database."""

    position: int
    asked_id: str
    person: str
    value: str
    source: str
    comment: str


@dataclass(frozen=True, slots=True)
class DesignPart:
    """One part of a design: its table, the hashed columns, and the columns that rows are sorted by."""

    table: sa.Table
    columns: tuple[str, ...]
    order: tuple[str, ...]
    by_item: bool = False
    """Whether rows are sorted first by the position of their item."""

    def shorten(self, row: Sequence[Any]) -> Sequence[Any]:
        """Return a row for hashing: without the last column if this is `place` and its value is None.

        Older versions stored no places, so their digests do not include this column.
        """
        return row[:-1] if self.columns[-1] == "place" and row[-1] is None else row


DESIGN_PARTS = {
    "questions": DesignPart(
        QUESTION, tuple(f.name for f in fields(Question)), ("option", "expert", "id"), True
    ),
    "assignments": DesignPart(
        ASSIGNMENT, tuple(f.name for f in fields(Assignment)), ("annotator", "id"), True
    ),
    "controls": DesignPart(CONTROL, tuple(f.name for f in fields(ControlQuestion)), ("id",)),
    "gold": DesignPart(GOLD, ("id", "text", "options", "permutation", "truth"), ("id",)),
    "draws": DesignPart(ITEM_DRAW, tuple(f.name for f in fields(ItemDraw))[:-1], ("batch",)),
    "drawn_items": DesignPart(POOL_ITEM, ("item_id", "stratum", "batch", "chance"), ("item_id",), True),
    # The ids of open answers and units are hashes of their texts, which may be confidential.
    "open_answers": DesignPart(OPEN_ANSWER, ("id", "item_id", "model"), ("id",)),
    "units": DesignPart(UNIT, ("id", "item_id", "answer", "place", "points", "field", "origin"), ("id",)),
    "unit_draws": DesignPart(UNIT_DRAW, tuple(f.name for f in fields(DrawnExpert)), ("row", "attempt")),
}


class RowsDigest:
    """A hash of rows in their order. It does not matter how the rows are divided among calls of `add`."""

    def __init__(self) -> None:
        self._hash = sha256()
        self.number = 0

    def add(self, rows: Sequence[Any]) -> None:
        """Add rows to the hash."""
        if rows:
            # A value of another type, for example '1' instead of 1, must change the hash.
            self._hash.update(memoryview(orjson.dumps(rows, default=repr))[1:-1])
            self._hash.update(b",")
            self.number += len(rows)

    def digest(self) -> str:
        """Return the hash of all added rows."""
        return self._hash.hexdigest()


class BatchDigest:
    """A hash of replies that arrived together, so that one audit event can record all of them.

    The hash covers ids, people and values in order of arrival. It does not matter how the replies are divided
    among calls of `add`.
    """

    def __init__(self) -> None:
        self._columns = tuple(RowsDigest() for _ in range(3))

    @property
    def number(self) -> int:
        """Number of replies added so far."""
        return self._columns[0].number

    def add(self, ids: Sequence[str], people: Sequence[str], values: Sequence[str]) -> None:
        """Add replies, given as columns, to the hash."""
        for digest, column in zip(self._columns, (ids, people, values), strict=True):
            digest.add(list(column))

    def digest(self) -> str:
        """Return the hash of all added replies."""
        return sha256(b"".join(bytes.fromhex(each.digest()) for each in self._columns)).hexdigest()


class DesignRepository(Repository):
    """Reads a study's design in an order that does not depend on the order of storage."""

    def read_part(self, name: str) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of one part of the design in batches.

        If the part is sorted by item, rows about items that do not exist are omitted.
        """
        part = DESIGN_PARTS[name]
        places = [place for place, column in enumerate(part.columns) if is_json(part.table.c[column])]
        columns = [
            sa.cast(part.table.c[column], sa.Text) if place in places else part.table.c[column]
            for place, column in enumerate(part.columns)
        ]
        query = sa.select(*columns)
        if part.by_item:
            query = query.join_from(part.table, ITEM).order_by(_POSITION)
        for column in (part.table.c[name] for name in part.order):
            # Texts are sorted by code point, independent of the server's locale.
            is_plain = self._database.is_file or column.type.python_type is not str
            query = query.order_by(column if is_plain else sa.collate(column, "C"))
        for portion in self._database.read_portions(query.where(*_limit_to_drawn(name))):
            read = [list(map(_read_plainly, col)) if at in places else col for at, col in enumerate(portion)]
            yield [tuple(part.shorten(row)) for row in zip(*read, strict=True)]

    def measure(self) -> dict[str, dict[str, Any]]:
        """Return the number of rows of each part of the design, and a hash of these rows.

        The value of each part has the form ``{"number": …, "digest": …}``.
        """
        found, numbers = dict[str, dict[str, Any]](), self.count_parts()
        for name in DESIGN_PARTS:
            rows = RowsDigest()
            for portion in self.read_part(name):
                rows.add(portion)
            found[name] = {"number": numbers[name], "digest": rows.digest()}
        return found

    def count_parts(self) -> dict[str, int]:
        """Return the number of rows of each part of the design."""
        count = self._database.count
        return {name: count(part.table, *_limit_to_drawn(name)) for name, part in DESIGN_PARTS.items()}

    def read_answers(self, table: str) -> Iterator[StoredAnswerValue]:
        """Yield all answers in one of the `REPLY_TABLES`, in order of arrival."""
        replies, name, value = REPLIES[table]
        r = replies.c
        query = sa.select(r.position, r[name], r.expert, r[value], r.source, r.comment)
        for portion in self._database.read_portions(query.order_by(r.position, r[name])):
            yield from map(StoredAnswerValue._make, zip(*portion, strict=True))

    def count_replies(self) -> int:
        """Return the number of stored answers of all kinds."""
        return sum(self._database.count(table) for table, _, _ in REPLIES.values())


def _limit_to_drawn(name: str) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the SQL conditions for the rows of the design part `name`.

    Only ``drawn_items`` has a condition, which omits undrawn items of the pool.
    """
    return (POOL_ITEM.c.batch > 0,) if name == "drawn_items" else ()


@lru_cache(maxsize=4096)
def _read_plainly(text: Any) -> Any:
    """Decode the value of a JSON column; for invalid JSON, return a text that quotes the value."""
    try:
        return read_json(text)
    except (TypeError, ValueError, AttributeError):
        return f"no JSON: {text!r}"
