"""Rows of what models were asked, what they answered, and what that cost."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger
from sqlmodel import Field

from oversight.harness.store.tables.row_kinds import JSONTuple, ModelAnswerRow, SpecifiedRow, TableRow


class RunRow(SpecifiedRow, table=True):
    """One model with one prompt and one set of parameters; `id` is the hash of `spec`.

    `served_as` is what the endpoint called the model in its first reply.
    """

    name: str = Field(index=True)
    served_as: str | None


class RunLockRow(TableRow, table=True):
    """Which process works on a run, and since when, in seconds by the database's clock.

    `run_id` need not be stored yet. Every holder draws its own `owner`; on its `machine`, `pid` and `started`
    tell whether the process still runs.
    """

    run_id: str = Field(primary_key=True)
    owner: str
    host: str
    machine: str
    pid: int
    started: str
    since: float


class PredictionRow(ModelAnswerRow, table=True):
    """A run's answer to an item; the endpoint reported no tokens for `guessed` of its calls."""

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    item_id: str = Field(primary_key=True, foreign_key="item.id")
    sample: int = Field(primary_key=True)
    confidence: float | None
    source: str = Field(sa_column_kwargs={"server_default": "call"})
    step: str = Field(sa_column_kwargs={"server_default": ""})
    guessed: int = Field(sa_column_kwargs={"server_default": "0"})


class JudgeProbabilityRow(TableRow, table=True):
    """The probability that a judge gave to each option of an item, in the order of the item's options."""

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    item_id: str = Field(primary_key=True, foreign_key="item.id")
    probabilities: tuple[float, ...] = Field(sa_type=JSONTuple)


class LedgerRow(TableRow, table=True):
    """Usage of a run's calls that no prediction counts, and the most that calls under way may use.

    `kind` is "reserved" for the answer under way of an item and sample, which is gone once the answer is
    stored; "under way" for all calls under way of a workflow's run; "paid" for those of them that are over;
    "charged" for what never became an answer.
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


class RunVersionRow(TableRow, table=True):
    """How often the predictions of a run were changed; the database itself counts."""

    run_id: str = Field(primary_key=True)
    version: int = Field(sa_type=BigInteger)


class RunColumnsRow(TableRow, table=True):
    """A run's answers as columns, computed from this version of its predictions.

    `options` are 16-bit integers by item, see `oversight.harness.columns.PredictionColumns`, `confidences`
    64-bit floating-point numbers or nothing; little-endian.
    """

    run_id: str = Field(primary_key=True)
    version: int = Field(sa_type=BigInteger)
    options: bytes
    confidences: bytes
    counts: dict[str, Any] = Field(sa_type=JSON)
