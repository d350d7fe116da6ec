"""The rows of a study's database.

Keys make every write idempotent: the same item, question, answer, run or prediction written twice
is one row. Changing anything here needs a new file in ``migrations/versions``.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, Column, ForeignKeyConstraint, Table, UniqueConstraint
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


class AssignmentRow(SQLModel, table=True):
    """An item given to an annotator of a panel, with the propensity that was fixed before any rating."""

    __tablename__ = "assignment"
    __table_args__ = (UniqueConstraint("item_id", "annotator", name="uq_assignment_given_once"),)
    id: str = Field(primary_key=True)
    item_id: str = Field(foreign_key="item.id", index=True)
    annotator: str = Field(index=True)
    propensity: float
    protocol: str
    seed: int = Field(sa_type=BigInteger)


class RatingRow(SQLModel, table=True):
    """The one rating of an assignment, `label` being an option of the item, empty if skipped."""

    __tablename__ = "rating"
    assignment_id: str = Field(primary_key=True, foreign_key="assignment.id")
    position: int = Field(index=True)
    expert: str
    label: str
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
    confidence: float | None
    source: str = Field(sa_column_kwargs={"server_default": "call"})


class ProbeRow(SQLModel, table=True):
    """Whether a model offers something at its endpoint, as it said when it was tried once."""

    __tablename__ = "probe"
    endpoint: str = Field(primary_key=True)
    model: str = Field(primary_key=True)
    feature: str = Field(primary_key=True)
    offered: bool
    detail: str


class BatchRow(SQLModel, table=True):
    """A batch handed to an endpoint; `marker` finds it again if its id was not noted.

    `requests` lists item id and sample of every line in it.
    """

    __tablename__ = "batch"
    marker: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="run.id", index=True)
    remote_id: str | None
    state: str
    requests: list[Any] = Field(sa_column=Column(JSON, nullable=False))


class LabelQueueRow(SQLModel, table=True):
    """One expert's project on a Label Studio server; `marker` finds it again if its id was not noted."""

    __tablename__ = "label_queue"
    expert: str = Field(primary_key=True)
    marker: str = Field(unique=True)
    server: str
    project_id: int | None
    email: str
    user_id: int | None
    cursor: str
    closed: bool


class LabelTaskRow(SQLModel, table=True):
    """A question or an assignment in a queue: its place, what was sent (`digest`), its id over there."""

    __tablename__ = "label_task"
    question_id: str = Field(primary_key=True)
    expert: str = Field(foreign_key="label_queue.expert", index=True)
    place: int
    digest: str
    task_id: int | None
    sending: bool


class LabelRevisionRow(SQLModel, table=True):
    """One state of an annotation, as it was seen; nothing is ever changed or removed here."""

    __tablename__ = "label_revision"
    expert: str = Field(primary_key=True, foreign_key="label_queue.expert")
    annotation_id: int = Field(primary_key=True)
    version: str = Field(primary_key=True)
    position: int = Field(index=True)
    task_id: int = Field(index=True)
    question_id: str | None
    deleted: bool
    author: int | None
    editor: int | None
    cancelled: bool
    result: list[Any] = Field(sa_column=Column(JSON, nullable=False))
    updated_at: str
    seconds: float | None


class LabelQuarantineRow(SQLModel, table=True):
    """An annotation that counts for nothing, and why."""

    __tablename__ = "label_quarantine"
    expert: str = Field(primary_key=True, foreign_key="label_queue.expert")
    annotation_id: int = Field(primary_key=True)
    task_id: int
    question_id: str | None
    reason: str
    detail: str


class CallRow(SQLModel, table=True):
    """A call to a model and what came of it; `key` is the hash of model, request and draw.

    A failed call has an `error` and gives way to the next try. `usd` is None if no price is known.
    """

    __tablename__ = "call"
    key: str = Field(primary_key=True)
    request: str
    reply: str
    finish: str
    input_tokens: int
    output_tokens: int
    usd: float | None
    ms: float
    error: str
    created: str


class SearchRow(SQLModel, table=True):
    """A search for a better workflow; `spec` is all that decides how it goes."""

    __tablename__ = "search"
    id: str = Field(primary_key=True)
    created: str
    spec: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))


class SearchItemRow(SQLModel, table=True):
    """Which of a search's splits an item is in, and its place there; drawn once."""

    __tablename__ = "search_item"
    search_id: str = Field(primary_key=True, foreign_key="search.id")
    item_id: str = Field(primary_key=True, foreign_key="item.id")
    split: str
    position: int


class CandidateRow(SQLModel, table=True):
    """A program of a search's archive; `position` keeps the order of arrival."""

    __tablename__ = "candidate"
    search_id: str = Field(primary_key=True, foreign_key="search.id")
    id: str = Field(primary_key=True)
    position: int
    slot: int
    op: str
    name: str
    source: str
    thought: str
    note: str


class CandidateParentRow(SQLModel, table=True):
    """Whom a candidate was made from."""

    __tablename__ = "candidate_parent"
    __table_args__ = (
        ForeignKeyConstraint(["search_id", "child"], ["candidate.search_id", "candidate.id"]),
        ForeignKeyConstraint(["search_id", "parent"], ["candidate.search_id", "candidate.id"]),
    )
    search_id: str = Field(primary_key=True)
    child: str = Field(primary_key=True)
    parent: str = Field(primary_key=True)
    position: int


class CandidateAnswerRow(SQLModel, table=True):
    """What a candidate answered to an item in one of its runs; never how good that was."""

    __tablename__ = "candidate_answer"
    __table_args__ = (
        ForeignKeyConstraint(["search_id", "candidate_id"], ["candidate.search_id", "candidate.id"]),
        ForeignKeyConstraint(["item_id"], ["item.id"]),
    )
    search_id: str = Field(primary_key=True)
    candidate_id: str = Field(primary_key=True)
    replicate: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    item_id: str = Field(primary_key=True)
    option: int | None
    status: str
    reason: str
    raw: str
    input_tokens: int
    output_tokens: int
    seconds: float
    attempts: int


class SearchEventRow(SQLModel, table=True):
    """A decision of a search under a name that says which; the first one stands."""

    __tablename__ = "search_event"
    search_id: str = Field(primary_key=True, foreign_key="search.id")
    key: str = Field(primary_key=True)
    position: int
    data: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))


def table_of(row: type[SQLModel]) -> Table:
    """The table behind a kind of rows."""
    table: Table = row.__table__  # type: ignore[attr-defined]  # set by table=True
    return table
