"""The rows of a study's database.

Keys make every write idempotent: the same item, question, answer, run or prediction written twice
is one row. Changing anything here needs a new file in ``migrations/versions``.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, Column, ForeignKeyConstraint, UniqueConstraint
from sqlmodel import Field, SQLModel


class ItemRow(SQLModel, table=True):
    """An item as it was when it was first seen; `position` keeps the source's order."""

    __tablename__ = "item"
    id: str = Field(primary_key=True)
    position: int = Field(index=True)
    text: str
    options: list[str] = Field(sa_column=Column(JSON, nullable=False))
    permutation: list[int] = Field(sa_column=Column(JSON, nullable=False))
    meta: dict[str, str] = Field(sa_column=Column(JSON, nullable=False))


class QuestionRow(SQLModel, table=True):
    """A question with the propensity that was fixed before any answer."""

    __tablename__ = "question"
    __table_args__ = (UniqueConstraint("item_id", "option", "expert", name="uq_question_asked_once"),)
    id: str = Field(primary_key=True)
    item_id: str = Field(foreign_key="item.id", index=True)
    option: int
    expert: str = Field(index=True)
    n_options: int
    protocol: str
    propensity: float
    seed: int = Field(sa_type=BigInteger)
    propensities: list[float] = Field(sa_column=Column(JSON, nullable=False))


class AnswerRow(SQLModel, table=True):
    """The one answer to a question; `position` keeps the order of arrival."""

    __tablename__ = "answer"
    question_id: str = Field(primary_key=True, foreign_key="question.id")
    position: int = Field(index=True)
    expert: str
    verdict: str
    source: str
    comment: str


class RunRow(SQLModel, table=True):
    """One model with one prompt and one set of parameters; `id` is the hash of `spec`."""

    __tablename__ = "run"
    id: str = Field(primary_key=True)
    name: str = Field(index=True)
    created: str
    spec: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))


class PredictionRow(SQLModel, table=True):
    """What a run answered to an item."""

    __tablename__ = "prediction"
    __table_args__ = (
        ForeignKeyConstraint(["run_id"], ["run.id"]),
        ForeignKeyConstraint(["item_id"], ["item.id"]),
    )
    run_id: str = Field(primary_key=True)
    item_id: str = Field(primary_key=True)
    sample: int = Field(primary_key=True)
    option: int | None
    status: str
    reason: str
    raw: str
    input_tokens: int
    output_tokens: int
    seconds: float
    attempts: int
