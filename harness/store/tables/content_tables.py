"""Rows and tables of a study's items, questions and answers, and of open answers with their units."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.store.tables.table_maker import make_table
from oversight.harness.types import Assignment, Item, Question


class ControlKind(StrEnum):
    """Kind of a control question."""

    GOLD = "gold"
    """About an item whose true option is known; measures how often the expert errs."""
    REPEAT = "repeat"
    """A question of the study that the same expert is asked again; measures the expert's consistency."""
    OVERLAP = "overlap"
    """A question of the study that a second expert is asked; measures how often two experts agree."""


@dataclass(frozen=True, slots=True)
class ControlQuestion:
    """A control question in an expert's queue.

    Attributes
    ----------
    id, option, expert, n_options, seed
        As in `Question`, and in the same format, so that experts cannot recognize control questions.
    item_id
        Id of the gold item, or of the study's item that is asked about again.
    original
        Id of the study's question that is repeated; empty for gold.
    place
        As in `Question`.
    """

    id: str
    kind: ControlKind
    item_id: str
    option: int
    expert: str
    n_options: int
    seed: int
    original: str = ""
    place: int | None = None

    @property
    def question(self) -> Question:
        """The question as the expert sees it."""
        return Question(
            id=self.id,
            item_id=self.item_id,
            option=self.option,
            expert=self.expert,
            n_options=self.n_options,
            protocol=self.kind.value,
            propensity=1.0,
            seed=self.seed,
            place=self.place,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLook:
    """Interim analysis number `look` of `looks`, with the numbers of answered and of drawn questions."""

    look: int
    looks: int
    answered: int
    drawn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDraw:
    """One draw of items from the undrawn items of the pool.

    Unless items have individual probabilities, each undrawn item is drawn with probability
    `items` / `remaining`.

    Attributes
    ----------
    batch
        Number of the draw, from 1.
    wanted
        Requested number of questions.
    items, remaining
        Number of items in this draw, and number of undrawn items before it.
    pool
        Number of items in the pool.
    seed
        Seed of the draw.
    strata
        Description of how the strata were formed.
    created
        Time of the draw in ISO 8601.
    """

    batch: int
    wanted: int
    items: int
    remaining: int
    pool: int
    seed: int
    strata: str
    created: str


@dataclass(frozen=True, slots=True)
class DatabaseMark:
    """Reason why a database must not collect answers: it is a copy, or the study was moved elsewhere.

    Attributes
    ----------
    copied_at
        Time of the copy in ISO 8601, UTC; empty if the database is not a copy.
    source
        Address of the original database, without a password; empty if the database is not a copy.
    moved_to
        Address of the study's new database, without a password; empty if the study was not moved.
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


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A model's answer to an item, as it was when questions were drawn."""

    item_id: str
    model: str
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class StoredUnit:
    """A unit that experts judge: a criterion of an item, or a part of an answer.

    Attributes
    ----------
    answer
        Id of the answer that the unit is part of; empty for a criterion.
    place
        Position of the unit within the item's rubric or the answer, from 0.
    origin
        Source of the unit: ``"rubric"``, ``"answer"``, ``"sentences"``, ``"claims"`` or ``"hand"``.
    """

    id: str
    item_id: str
    answer: str
    place: int
    text: str
    points: float
    field: str | None
    origin: str


@dataclass(frozen=True, slots=True)
class DrawnExpert:
    """An expert drawn for a question about a unit of an answer; `attempt` gives the order of experts.

    Attributes
    ----------
    row, number
        Row of the (unit, answer) pair in the sampling frame, and number of the question. One question can
        belong to several rows.
    attempt
        1 for the expert who is asked first.
    answer, unit_id
        Ids of the answer and of the unit that the question shows.
    place
        In designs that ask about an answer's units one after another, until an expert says no: the unit's
        place in this order, from 1. In all other designs: 0.
    propensity
        Probability with which the question was drawn.
    expert, field
        Name of the expert, and the field of expertise in the roster for which the expert was drawn.
    question_id
        Id of the question; empty until the question is asked.
    """

    row: int
    attempt: int
    number: int
    answer: str
    unit_id: str
    place: int
    propensity: float
    expert: str
    field: str
    question_id: str = ""


ITEM = make_table("item", Item, "id", index="position", position="int")
# A source of items: its number of items, and a hash of all data that define them.
ITEM_SOURCE = make_table("item_source", "digest str, items int", "digest")
_OF_ITEM = {"item_id": "item.id"}
QUESTION = make_table(
    "question",
    Question,
    "id",
    sa.UniqueConstraint("item_id", "option", "expert", name="uq_question_asked_once"),
    index="item_id expert",
    refers=_OF_ITEM,
    seed="big",
    place="big | None",
)
ASSIGNMENT = make_table(
    "assignment",
    Assignment,
    "id",
    sa.UniqueConstraint("item_id", "annotator", name="uq_assignment_given_once"),
    index="item_id annotator",
    refers=_OF_ITEM,
    seed="big",
)
_GOLD = "id str, text str, options tuple, permutation tuple, truth int"
GOLD = make_table("gold_item", _GOLD, "id")
CONTROL = make_table(
    "control_question", ControlQuestion, "id", index="expert", seed="big", place="big | None"
)
# Replies, at most one per question or assignment; `position` is the place in the order of arrival.
_REPLY = "{} str, {} str, position int, expert str, source str, comment str"
_SAID, _RATED = _REPLY.format("question_id", "verdict"), _REPLY.format("assignment_id", "label")
ANSWER = make_table("answer", _SAID, "question_id", index="position", refers={"question_id": "question.id"})
CONTROL_ANSWER = make_table(
    "control_answer", _SAID, "question_id", index="position", refers={"question_id": "control_question.id"}
)
# `label` is empty if the annotator skipped the assignment.
RATING = make_table(
    "rating", _RATED, "assignment_id", index="position", refers={"assignment_id": "assignment.id"}
)
# The study's secret key (one row), from which question ids are derived; stored nowhere else. Without a row,
# or with an empty secret, question ids depend only on the study's seed.
QUESTION_KEY = make_table("question_key", "id int, secret bytes", "id")
LOOK = make_table("look", PlannedLook, "look", created="str")
ITEM_DRAW = make_table("item_draw", ItemDraw, "batch", seed="big")
# An item of the pool. `batch` is the number of its draw, or 0. `chance` is the probability with which it was
# drawn; None if its draw gave all undrawn items the same probability.
_POOLED = "item_id str, stratum int, batch int, chance float | None"
POOL_ITEM = make_table("pool_item", _POOLED, "item_id", index="batch", refers=_OF_ITEM)
# One row: the database's random id, and its mark, whose texts are empty if the database may collect answers.
MARK = make_table("database_mark", DatabaseMark, "id", id="int", database="str")
OPEN_ANSWER = make_table("open_answer", StoredAnswer, "item_id model", unique="id", refers=_OF_ITEM)
UNIT = make_table("unit", StoredUnit, "id", index="item_id answer", refers=_OF_ITEM)
UNIT_DRAW = make_table(
    "unit_draw", DrawnExpert, "row attempt", index="number question_id", refers={"unit_id": "unit.id"}
)
