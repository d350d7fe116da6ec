"""The rows of a study's database.

Keys make every write idempotent: the same item, question, answer, run or prediction written twice
is one row. Changing anything here needs a new file in ``migrations/versions``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import JSON, BigInteger, ForeignKeyConstraint, Table, TypeDecorator, UniqueConstraint
from sqlalchemy.orm import declared_attr
from sqlmodel import Field, SQLModel


class JSONTuple(TypeDecorator[tuple[Any, ...]]):
    """A tuple, stored as a list in JSON."""

    impl = JSON
    cache_ok = True

    def process_result_value(self, value: Any, dialect: object) -> tuple[Any, ...]:  # noqa: ARG002  the base class's
        """Make a tuple again of the list."""
        return tuple(value)


class TableRow(SQLModel):
    """A kind of rows, whose table is named after it: `LabelTaskRow` are the rows of ``label_task``."""

    if TYPE_CHECKING:
        __table__: ClassVar[Table]

    @declared_attr.directive
    def __tablename__(cls) -> str:
        return re.sub("(?<!^)(?=[A-Z])", "_", cls.__name__.removesuffix("Row")).lower()


class ItemRow(TableRow, table=True):
    """An item as it was when it was first seen; `position` keeps the source's order."""

    id: str = Field(primary_key=True)
    position: int = Field(index=True)
    text: str
    options: tuple[str, ...] = Field(sa_type=JSONTuple)
    permutation: tuple[int, ...] = Field(sa_type=JSONTuple)
    meta: dict[str, str] = Field(sa_type=JSON)


class _Asked(TableRow):
    id: str = Field(primary_key=True)
    item_id: str = Field(foreign_key="item.id", index=True)
    protocol: str
    propensity: float
    seed: int = Field(sa_type=BigInteger)


class QuestionRow(_Asked, table=True):
    """A question with the propensity that was fixed before any answer."""

    __table_args__ = (UniqueConstraint("item_id", "option", "expert", name="uq_question_asked_once"),)
    option: int
    expert: str = Field(index=True)
    n_options: int
    propensities: tuple[float, ...] = Field(sa_type=JSONTuple)


class _Reply(TableRow):
    position: int = Field(index=True)
    expert: str
    source: str
    comment: str


class AnswerRow(_Reply, table=True):
    """The one answer to a question; `position` keeps the order of arrival."""

    question_id: str = Field(primary_key=True, foreign_key="question.id")
    verdict: str


class AssignmentRow(_Asked, table=True):
    """An item given to an annotator of a panel, with the propensity that was fixed before any rating."""

    __table_args__ = (UniqueConstraint("item_id", "annotator", name="uq_assignment_given_once"),)
    annotator: str = Field(index=True)


class RatingRow(_Reply, table=True):
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


class _Specified(TableRow):
    id: str = Field(primary_key=True)
    created: str
    spec: dict[str, Any] = Field(sa_type=JSON)


class RunRow(_Specified, table=True):
    """One model with one prompt and one set of parameters; `id` is the hash of `spec`."""

    name: str = Field(index=True)


class ServedModelRow(TableRow, table=True):
    """What the endpoint of a run called the model in its first reply."""

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    name: str


class FirstLookRow(TableRow, table=True):
    """The first look that was taken at a run's items: how many `of` all, by which seed."""

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    items: int
    of: int
    seed: int = Field(sa_type=BigInteger)


class RunLockRow(TableRow, table=True):
    """Who works on a run, and until when that holds unless it is renewed, by the database's clock.

    `run_id` need not be stored yet. `owner` is drawn anew by every holder; `machine`, `pid` and `started`
    tell whether its process still runs.
    """

    run_id: str = Field(primary_key=True)
    owner: str
    host: str
    machine: str
    pid: int
    started: str
    since: float
    expires: float


class _ModelAnswer(TableRow):
    option: int | None
    status: str
    reason: str
    raw: str
    input_tokens: int
    output_tokens: int
    seconds: float
    attempts: int


class PredictionRow(_ModelAnswer, table=True):
    """What a run answered to an item."""

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    item_id: str = Field(primary_key=True, foreign_key="item.id")
    sample: int = Field(primary_key=True)
    confidence: float | None
    source: str = Field(sa_column_kwargs={"server_default": "call"})


class GuessedUsageRow(TableRow, table=True):
    """An answer with `calls` whose tokens are a guess, since the endpoint did not say."""

    __table_args__ = (
        ForeignKeyConstraint(
            ["run_id", "item_id", "sample"], ["prediction.run_id", "prediction.item_id", "prediction.sample"]
        ),
    )
    run_id: str = Field(primary_key=True)
    item_id: str = Field(primary_key=True)
    sample: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    calls: int


class _Used(TableRow):
    run_id: str = Field(primary_key=True, foreign_key="run.id")
    requests: int
    input_tokens: int
    output_tokens: int


class ReservationRow(_Used, table=True):
    """What an answer under way may have used at most, with the call that is out; gone once it is stored."""

    item_id: str = Field(primary_key=True, foreign_key="item.id")
    sample: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})


class ChargeRow(_Used, table=True):
    """What a run was charged for answers that were under way when a command ended, and never stored."""

    answers: int


class ProbeRow(TableRow, table=True):
    """Whether a model offers something at its endpoint, as it said when it was tried once."""

    endpoint: str = Field(primary_key=True)
    model: str = Field(primary_key=True)
    feature: str = Field(primary_key=True)
    offered: bool
    detail: str


class BatchRow(TableRow, table=True):
    """A batch handed to an endpoint; `marker` finds it again if its id was not noted.

    `requests` lists item id and sample of every line in it.
    """

    marker: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="run.id", index=True)
    remote_id: str | None
    state: str
    requests: list[Any] = Field(sa_type=JSON)


class LabelQueueRow(TableRow, table=True):
    """One expert's project on a Label Studio server; `marker` finds it again if its id was not noted."""

    expert: str = Field(primary_key=True)
    marker: str = Field(unique=True)
    server: str
    project_id: int | None
    email: str
    user_id: int | None
    cursor: str
    closed: bool


class LabelTaskRow(TableRow, table=True):
    """A question or an assignment in a queue: its place, what was sent (`digest`), its id over there."""

    question_id: str = Field(primary_key=True)
    expert: str = Field(foreign_key="label_queue.expert", index=True)
    place: int
    digest: str
    task_id: int | None
    sending: bool


class _Annotation(TableRow):
    expert: str = Field(primary_key=True, foreign_key="label_queue.expert")
    annotation_id: int = Field(primary_key=True)
    question_id: str | None


class LabelRevisionRow(_Annotation, table=True):
    """One state of an annotation, as it was seen; nothing is ever changed or removed here."""

    version: str = Field(primary_key=True)
    position: int = Field(index=True)
    task_id: int = Field(index=True)
    deleted: bool
    author: int | None
    editor: int | None
    cancelled: bool
    result: list[Any] = Field(sa_type=JSON)
    updated_at: str
    seconds: float | None


class LabelQuarantineRow(_Annotation, table=True):
    """An annotation that counts for nothing, and why."""

    task_id: int
    reason: str
    detail: str


class CallRow(TableRow, table=True):
    """A call to a model and what came of it; `key` is the hash of model, request and draw.

    A failed call has an `error` and gives way to the next try. `usd` is None if no price is known.
    """

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


class SearchRow(_Specified, table=True):
    """A search for a better workflow; `spec` is all that decides how it goes."""


class _OfSearch(TableRow):
    search_id: str = Field(primary_key=True, foreign_key="search.id")
    position: int


class SearchItemRow(_OfSearch, table=True):
    """Which of a search's splits an item is in, and its place there; drawn once."""

    item_id: str = Field(primary_key=True, foreign_key="item.id")
    split: str


class CandidateRow(_OfSearch, table=True):
    """A program of a search's archive; `position` keeps the order of arrival."""

    id: str = Field(primary_key=True)
    slot: int
    op: str
    name: str
    source: str
    thought: str
    note: str


_CANDIDATE_KEY = ["candidate.search_id", "candidate.id"]


class CandidateParentRow(TableRow, table=True):
    """Whom a candidate was made from."""

    __table_args__ = tuple(
        ForeignKeyConstraint(["search_id", name], _CANDIDATE_KEY) for name in ("child", "parent")
    )
    search_id: str = Field(primary_key=True)
    child: str = Field(primary_key=True)
    parent: str = Field(primary_key=True)
    position: int


class CandidateAnswerRow(_ModelAnswer, table=True):
    """What a candidate answered to an item in one of its runs; never how good that was."""

    __table_args__ = (ForeignKeyConstraint(["search_id", "candidate_id"], _CANDIDATE_KEY),)
    search_id: str = Field(primary_key=True)
    candidate_id: str = Field(primary_key=True)
    replicate: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    item_id: str = Field(primary_key=True, foreign_key="item.id")


class SearchEventRow(_OfSearch, table=True):
    """A decision of a search under a name that says which; the first one stands."""

    key: str = Field(primary_key=True)
    data: dict[str, Any] = Field(sa_type=JSON)
