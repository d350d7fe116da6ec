"""Rows of control questions, which never count as answers about the study's items."""

from __future__ import annotations

from sqlalchemy import BigInteger
from sqlmodel import Field

from oversight.harness.store.tables.content_tables import ReplyRow
from oversight.harness.store.tables.row_kinds import JSONTuple, TableRow


class GoldItemRow(TableRow, table=True):
    """An item whose true option is known in advance, as it was when it was first drawn."""

    id: str = Field(primary_key=True)
    text: str
    options: tuple[str, ...] = Field(sa_type=JSONTuple)
    permutation: tuple[int, ...] = Field(sa_type=JSONTuple)
    truth: int


class ControlQuestionRow(TableRow, table=True):
    """A control question in an expert's queue; `item_id` is the id of a gold item or of a study's item.

    `original` is the study's question that is repeated; empty for gold.
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
    """The only answer to a control question; `position` is its place among these in the order of arrival."""

    question_id: str = Field(primary_key=True, foreign_key="control_question.id")
    verdict: str


class QuestionKeyRow(TableRow, table=True):
    """The study's secret key (one row), from which question ids are derived.

    Only copies of the database contain the key. Without a row, or with an empty secret, question ids follow
    from the study's seed.
    """

    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    secret: bytes = Field(repr=False)
