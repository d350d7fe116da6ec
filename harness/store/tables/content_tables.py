"""Rows of a study's items, questions and answers, and of open answers with their units."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, UniqueConstraint
from sqlmodel import Field

from oversight.harness.store.tables.row_kinds import JSONTuple, TableRow


class ItemRow(TableRow, table=True):
    """An item as it was when first read; `position` is its index in source order, from 0."""

    id: str = Field(primary_key=True)
    position: int = Field(index=True)
    text: str
    options: tuple[str, ...] = Field(sa_type=JSONTuple)
    permutation: tuple[int, ...] = Field(sa_type=JSONTuple)
    meta: dict[str, str] = Field(sa_type=JSON)


class ItemSourceRow(TableRow, table=True):
    """A source of items: its number of items, and a hash (`digest`) of all data that define them."""

    digest: str = Field(primary_key=True)
    items: int


class _Asked(TableRow):
    id: str = Field(primary_key=True)
    item_id: str = Field(foreign_key="item.id", index=True)
    protocol: str
    propensity: float
    seed: int = Field(sa_type=BigInteger)


class QuestionRow(_Asked, table=True):
    """A question with its propensity and its place in the expert's queue, both fixed before any answer."""

    __table_args__ = (UniqueConstraint("item_id", "option", "expert", name="uq_question_asked_once"),)
    option: int
    expert: str = Field(index=True)
    n_options: int
    propensities: tuple[float, ...] = Field(sa_type=JSONTuple)
    place: int | None = Field(default=None, sa_type=BigInteger)


class ReplyRow(TableRow):
    """Base class of replies: place in the order of arrival, person, channel and comment."""

    position: int = Field(index=True)
    expert: str
    source: str
    comment: str


class AnswerRow(ReplyRow, table=True):
    """The answer to a question, at most one per question.

    `position` is the answer's place in the order of arrival.
    """

    question_id: str = Field(primary_key=True, foreign_key="question.id")
    verdict: str


class AssignmentRow(_Asked, table=True):
    """An item assigned to an annotator of a panel; its propensity is fixed before any rating."""

    __table_args__ = (UniqueConstraint("item_id", "annotator", name="uq_assignment_given_once"),)
    annotator: str = Field(index=True)


class RatingRow(ReplyRow, table=True):
    """The rating of an assignment, at most one per assignment.

    `label` is an option of the item; empty if the annotator skipped the assignment.
    """

    assignment_id: str = Field(primary_key=True, foreign_key="assignment.id")
    label: str


class GoldItemRow(TableRow, table=True):
    """A gold item as it was when first drawn; `truth` is the index of its true option."""

    id: str = Field(primary_key=True)
    text: str
    options: tuple[str, ...] = Field(sa_type=JSONTuple)
    permutation: tuple[int, ...] = Field(sa_type=JSONTuple)
    truth: int


class ControlQuestionRow(TableRow, table=True):
    """A control question in an expert's queue.

    It is about the gold item `item_id`, or it repeats the study's question `original`, which is about the
    study's item `item_id`. For a gold question, `original` is empty.
    """

    id: str = Field(primary_key=True)
    kind: str
    item_id: str
    option: int
    expert: str = Field(index=True)
    n_options: int
    seed: int = Field(sa_type=BigInteger)
    original: str
    place: int | None = Field(default=None, sa_type=BigInteger)


class ControlAnswerRow(ReplyRow, table=True):
    """The answer to a control question, at most one per question.

    `position` numbers the answers to control questions in their order of arrival.
    """

    question_id: str = Field(primary_key=True, foreign_key="control_question.id")
    verdict: str


class QuestionKeyRow(TableRow, table=True):
    """The study's secret key (one row), from which question ids are derived.

    The key is stored nowhere else. Without a row, or with an empty secret, question ids depend only on the
    study's seed.
    """

    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    secret: bytes = Field(repr=False)


class LookRow(TableRow, table=True):
    """Interim analysis number `look` of `looks`, with the numbers of answered and of drawn questions."""

    look: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    looks: int
    answered: int
    drawn: int
    created: str


class ItemDrawRow(TableRow, table=True):
    """A draw of `items` items from the `remaining` undrawn items of the study's pool.

    `wanted` is the requested number of questions, and `pool` the number of items in the pool.
    """

    batch: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    wanted: int
    items: int
    remaining: int
    pool: int
    seed: int = Field(sa_type=BigInteger)
    strata: str
    created: str


class PoolItemRow(TableRow, table=True):
    """An item of the pool. `batch` is the number of the draw that drew the item, or 0 if it is undrawn.

    `chance` is the probability with which the item was drawn; None if this draw gave all undrawn items the
    same probability.
    """

    item_id: str = Field(primary_key=True, foreign_key="item.id")
    stratum: int
    batch: int = Field(index=True)
    chance: float | None = None


class DatabaseMarkRow(TableRow, table=True):
    """The table's only row: the database's random id, and its `DatabaseMark` as three texts.

    All three texts are empty if the database may collect answers.
    """

    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    database: str
    copied_at: str
    source: str
    moved_to: str


class OpenAnswerRow(TableRow, table=True):
    """A model's answer to an item, as it was when questions were drawn."""

    item_id: str = Field(primary_key=True, foreign_key="item.id")
    model: str = Field(primary_key=True)
    id: str = Field(unique=True)
    text: str


class UnitRow(TableRow, table=True):
    """A unit that experts judge: a part of a model's answer, or a criterion from an item's rubric.

    The field `answer` is empty for a criterion.

    `origin` is the source of the unit; `place` is the unit's position within the answer or the rubric.
    """

    id: str = Field(primary_key=True)
    item_id: str = Field(foreign_key="item.id", index=True)
    answer: str = Field(index=True)
    place: int
    text: str
    points: float
    field: str | None
    origin: str


class UnitDrawRow(TableRow, table=True):
    """An expert drawn for a question about a unit, with the probability of drawing the question.

    The columns are the fields of `oversight.harness.store.open_answers.DrawnExpert`.
    """

    row: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    attempt: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    number: int = Field(index=True)
    answer: str
    unit_id: str = Field(foreign_key="unit.id")
    place: int
    propensity: float
    expert: str
    field: str
    question_id: str = Field(index=True)
