"""Rows of runs that several processes make together: who works, on which items, within which limits."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger
from sqlmodel import Field

from oversight.harness.store.tables.row_kinds import ModelAnswerRow, SpecifiedRow, TableRow


class JointRunRow(SpecifiedRow, table=True):
    """Runs that are made together, under one budget; `spec` says all that its workers agree on.

    `taken_…` is what was spent before, and what its workers may spend; it never passes a limit of `spec`.
    """

    taken_usd: float
    taken_tokens: int = Field(sa_type=BigInteger)
    taken_requests: int = Field(sa_type=BigInteger)


class JointPartRow(TableRow, table=True):
    """One run of a joint run: items up to `next` of all `items` are given out; gone with the last of them.

    `locked` is the id by which the run's lock goes.
    """

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    joint_id: str = Field(foreign_key="joint_run.id", index=True)
    locked: str
    items: int
    next: int


class WorkerRow(TableRow, table=True):
    """A process that works on a joint run, until it has `ended`: "left", or "lost" to whoever noticed.

    It is lost once it has not shown itself until `expires`, by the database's clock. `writes` numbers what
    it stored; `calls_lost` were under way when it ended. It may spend what is `granted`, and has `spent`.
    """

    id: str = Field(primary_key=True)
    joint_id: str = Field(foreign_key="joint_run.id", index=True)
    host: str
    machine: str
    pid: int
    started: str
    since: float
    expires: float
    ended: str
    writes: int
    answers: int
    calls_lost: int
    granted_usd: float
    granted_tokens: int = Field(sa_type=BigInteger)
    granted_requests: int = Field(sa_type=BigInteger)
    spent_usd: float
    spent_tokens: int = Field(sa_type=BigInteger)
    spent_requests: int = Field(sa_type=BigInteger)


class LeaseRow(TableRow, table=True):
    """Items from `start` to before `stop` that a worker asks about; nobody does where `worker` is empty."""

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    start: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    stop: int
    worker: str = Field(index=True)
    taken_over: bool


class ProgramWorkRow(TableRow, table=True):
    """What programs are run for, a search or a workflow's run, while a process leads it: its `leader`."""

    id: str = Field(primary_key=True)
    joint_id: str = Field(foreign_key="joint_run.id", index=True)
    leader: str


class ProgramPortionRow(TableRow, table=True):
    """Some items that a program is to answer; `worker` runs it, nobody where that is empty.

    `found` is what became of it, None before.
    """

    id: str = Field(primary_key=True)
    work_id: str = Field(foreign_key="program_work.id", index=True)
    position: int
    task: dict[str, Any] = Field(sa_type=JSON)
    worker: str = Field(index=True)
    found: dict[str, Any] | None = Field(default=None, sa_type=JSON(none_as_null=True))


class CallClaimRow(TableRow, table=True):
    """A program's call that a worker makes, by the call's own key; gone once it is stored.

    It counts what was used, and the most that what is out may use.
    """

    key: str = Field(primary_key=True)
    work_id: str
    worker: str = Field(index=True)
    requests: int
    input_tokens: int
    output_tokens: int
    usd: float


class LateAnswerRow(ModelAnswerRow, table=True):
    """An answer of a worker that was taken for lost: its item was given to another meanwhile."""

    run_id: str = Field(primary_key=True, foreign_key="run.id")
    item_id: str = Field(primary_key=True, foreign_key="item.id")
    sample: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    worker: str = Field(primary_key=True)


class PaceRow(TableRow, table=True):
    """When an endpoint takes the next request and token for a model, in seconds by the database's clock."""

    endpoint: str = Field(primary_key=True)
    model: str = Field(primary_key=True)
    requests_at: float
    tokens_at: float
