"""Rows of what a study asks and what people said."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, UniqueConstraint
from sqlmodel import Field

from oversight.harness.store.tables.row_kinds import JSONTuple, TableRow


class ItemRow(TableRow, table=True):
    """An item as it was when it was first seen; `position` keeps the source's order."""

    id: str = Field(primary_key=True)
    position: int = Field(index=True)
    text: str
    options: tuple[str, ...] = Field(sa_type=JSONTuple)
    permutation: tuple[int, ...] = Field(sa_type=JSONTuple)
    meta: dict[str, str] = Field(sa_type=JSON)


class ItemSourceRow(TableRow, table=True):
    """A source with the number of its first items, in its order; `digest` is of all that made them."""

    digest: str = Field(primary_key=True)
    items: int


class _Asked(TableRow):
    id: str = Field(primary_key=True)
    item_id: str = Field(foreign_key="item.id", index=True)
    protocol: str
    propensity: float
    seed: int = Field(sa_type=BigInteger)


class QuestionRow(_Asked, table=True):
    """A question with the propensity and the place in its expert's queue, both fixed before any answer."""

    __table_args__ = (UniqueConstraint("item_id", "option", "expert", name="uq_question_asked_once"),)
    option: int
    expert: str = Field(index=True)
    n_options: int
    propensities: tuple[float, ...] = Field(sa_type=JSONTuple)
    place: int | None = Field(default=None, sa_type=BigInteger)


class ReplyRow(TableRow):
    """An answer, its expert, and the way by which it came."""

    position: int = Field(index=True)
    expert: str
    source: str
    comment: str


class AnswerRow(ReplyRow, table=True):
    """The one answer to a question; `position` keeps the order of arrival."""

    question_id: str = Field(primary_key=True, foreign_key="question.id")
    verdict: str


class AssignmentRow(_Asked, table=True):
    """An item given to an annotator of a panel, with the propensity that was fixed before any rating."""

    __table_args__ = (UniqueConstraint("item_id", "annotator", name="uq_assignment_given_once"),)
    annotator: str = Field(index=True)


class RatingRow(ReplyRow, table=True):
    """The one rating of an assignment, `label` being an option of the item, empty if skipped."""

    assignment_id: str = Field(primary_key=True, foreign_key="assignment.id")
    label: str


class LookRow(TableRow, table=True):
    """A planned look at the estimates that was taken, `look` of `looks`, and what was answered by then."""

    look: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    looks: int
    answered: int
    drawn: int
    created: str


class ItemDrawRow(TableRow, table=True):
    """A draw of items from the study's pool: `items` of those `remaining`.

    `wanted` is the number of questions asked for, `pool` that of the items of the pool.
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
    """An item of the pool: its stratum, and the draw that took it (0: none yet), with what `chance`.

    Without a chance it was drawn as likely as any other of those that remained.
    """

    item_id: str = Field(primary_key=True, foreign_key="item.id")
    stratum: int
    batch: int = Field(index=True)
    chance: float | None = None


class DatabaseMarkRow(TableRow, table=True):
    """The random id of a database, one row; copies and old databases name others."""

    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    database: str
    copied_at: str
    source: str
    moved_to: str
