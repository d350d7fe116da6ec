"""Rows of model runs and workflow searches: calls, answers and usage."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKeyConstraint
from sqlmodel import Field

from oversight.harness.store.tables.row_kinds import JSONTuple, ModelAnswerRow, SpecifiedRow, TableRow


class SearchRow(SpecifiedRow, table=True):
    """A search for a better workflow; `spec` contains all settings that determine it."""


class _OfSearch(TableRow):
    search_id: str = Field(primary_key=True, foreign_key="search.id")
    position: int


class SearchItemRow(_OfSearch, table=True):
    """The split to which a search assigned an item; `position` is the item's position in the split."""

    item_id: str = Field(primary_key=True, foreign_key="item.id")
    split: str


class CandidateRow(_OfSearch, table=True):
    """A candidate program in the archive of a search; `position` is its place in the order of arrival.

    `parents` are the ids of the candidates from which it was made.
    """

    id: str = Field(primary_key=True)
    slot: int
    op: str
    name: str
    source: str
    thought: str
    note: str
    parents: tuple[str, ...] = Field(sa_type=JSONTuple, sa_column_kwargs={"server_default": "[]"})


class CandidateAnswerRow(ModelAnswerRow, table=True):
    """A candidate's answer to an item in one replicate."""

    __table_args__ = (
        ForeignKeyConstraint(["search_id", "candidate_id"], ["candidate.search_id", "candidate.id"]),
    )
    search_id: str = Field(primary_key=True)
    candidate_id: str = Field(primary_key=True)
    replicate: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    item_id: str = Field(primary_key=True, foreign_key="item.id")


class SearchEventRow(_OfSearch, table=True):
    """A decision of a search, identified by `key`.

    Once a decision is stored, later decisions with the same key are ignored.
    """

    key: str = Field(primary_key=True)
    data: dict[str, Any] = Field(sa_type=JSON)


class RunRow(SpecifiedRow, table=True):
    """One model with one prompt and one set of parameters; `id` is the hash of `spec`.

    `served_as` is the model's name in the endpoint's first reply.
    """

    name: str = Field(index=True)
    served_as: str | None


class RunLockRow(TableRow, table=True):
    """The process that holds the lock of a run; `since` is in seconds by the database's clock.

    The run itself need not be stored yet. `owner` is a random id of the holder. With `pid` and `started`,
    a process on the same `machine` can check whether the holder still runs.
    """

    run_id: str = Field(primary_key=True)
    owner: str
    host: str
    machine: str
    pid: int
    started: str
    since: float


class PredictionRow(ModelAnswerRow, table=True):
    """A run's answer to an item; `guessed` is the number of calls whose endpoint reported no tokens."""

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    item_id: str = Field(primary_key=True, foreign_key="item.id")
    sample: int = Field(primary_key=True)
    confidence: float | None
    source: str = Field(sa_column_kwargs={"server_default": "call"})
    step: str = Field(sa_column_kwargs={"server_default": ""})
    guessed: int = Field(sa_column_kwargs={"server_default": "0"})


class JudgeProbabilityRow(TableRow, table=True):
    """The probabilities that a judge gave to the options of an item, in option order."""

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    item_id: str = Field(primary_key=True, foreign_key="item.id")
    probabilities: tuple[float, ...] = Field(sa_type=JSONTuple)


class LedgerRow(TableRow, table=True):
    """Usage of a run that belongs to no stored prediction, including reserved usage of unfinished calls.

    `kind` is "reserved" for one unfinished answer (the row is removed when the answer is stored), "under way"
    for all unfinished calls of a workflow run, "paid" for its finished calls, and "charged" for usage that
    never led to an answer.
    """

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    kind: str = Field(primary_key=True)
    item_id: str = Field(primary_key=True)
    sample: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    requests: int
    input_tokens: int = Field(sa_type=BigInteger)
    output_tokens: int = Field(sa_type=BigInteger)
    answers: int


class ProbeRow(TableRow, table=True):
    """Whether a model at an endpoint offers a feature, as found by one test request."""

    endpoint: str = Field(primary_key=True)
    model: str = Field(primary_key=True)
    feature: str = Field(primary_key=True)
    offered: bool
    detail: str


class BatchRow(TableRow, table=True):
    """A batch submitted to an endpoint; `marker` identifies the batch if its id was not stored.

    `requests` lists (item id, sample) of every request in the batch.
    """

    marker: str = Field(primary_key=True)
    run_id: str = Field(foreign_key="run.id", index=True)
    remote_id: str | None
    state: str
    requests: list[Any] = Field(sa_type=JSON)


class CallRow(TableRow, table=True):
    """A model call and its result.

    `key` is a hash of the model, the request, and the name of the draw. A draw's name is, for example,
    ``item/replicate/occurrence``. A failed call has an `error`, and a later attempt replaces its row. `usd`
    is None if no price is known.
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


class RunVersionRow(TableRow, table=True):
    """Number of changes to a run's predictions, counted by database triggers."""

    run_id: str = Field(primary_key=True)
    version: int = Field(sa_type=BigInteger)


class RunColumnsRow(TableRow, table=True):
    """A run's answers as arrays, cached for version `version` of its predictions (`RunVersionRow`).

    `options` contains one 16-bit integer per item, see `oversight.harness.columns.PredictionColumns`.
    `confidences` contains one 64-bit float per item, or is empty. Both are little-endian.
    """

    run_id: str = Field(primary_key=True)
    version: int = Field(sa_type=BigInteger)
    options: bytes
    confidences: bytes
    counts: dict[str, Any] = Field(sa_type=JSON)
