"""SQL of model calls: the cache, the ledger, batches, and tested features of endpoints.

The ledger has one row per answer that is being requested. The row is written before the first call is sent,
and removed when the prediction is stored (`RunRepository.store_predictions`). If a run already has a row when
it starts, the process that wrote the row died. The reserved usage in the row may have been paid, so it is
charged to the run permanently.

A workflow makes many calls per answer, so the ledger has two rows per workflow run: the usage of finished
calls, and the maximum usage of unfinished calls. The usage of unfinished calls is charged in the same way at
the next start.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import sqlalchemy as sa

from oversight.harness.errors import Fault
from oversight.harness.store.database import Repository, repeated, split_into_batches
from oversight.harness.store.runs import write_predictions
from oversight.harness.store.tables.insertion import insert_into, row_of, select_values, upsert
from oversight.harness.store.tables.study_tables import (
    BATCH,
    CALL,
    LEDGER,
    PREDICTION,
    PROBE,
    SEARCH,
    Batch,
    ReservedAnswer,
    StoredCall,
)
from oversight.harness.types import Prediction, PredictionStatus, Usage

_USED = ("requests", "input_tokens", "output_tokens")

Booked: TypeAlias = Literal["charged", "paid", "under way"]
"""Kinds of ledger rows that sum usage; a run has at most one row of each kind. See `LEDGER`."""
Uncertain: TypeAlias = Literal["retry", "hold"]
"""Choice for answers that a dead process left unfinished: ask again, or record them as failed."""


def book(connection: sa.Connection, run_id: str, kind: Booked, used: Usage) -> None:
    """Add usage to a run's row of this kind in the ledger, creating the row if needed."""
    amounts = {name: getattr(used, name) for name in (*_USED, "answers")}
    key = {"run_id": run_id, "kind": kind, "item_id": "", "sample": 0}
    insert = insert_into(LEDGER, connection.dialect).values(**key, **amounts)
    more = {name: LEDGER.c[name] + value for name, value in amounts.items()}
    connection.execute(insert.on_conflict_do_update(index_elements=list(key), set_=more))


def _hold(connection: sa.Connection, rows: Sequence[sa.Row[Any]]) -> None:
    """Store each reserved answer as a failed prediction.

    If the answer already has a stored prediction, the failed prediction replaces it and includes its usage.
    """
    t, held = PREDICTION.c, []
    reason = (
        f"{Fault.LOST}: the call was unfinished when its process ended; the endpoint may have answered it"
    )
    for row in rows:
        same = (t[name] == getattr(row, name) for name in ("run_id", "item_id", "sample"))
        used = sa.select(t.attempts, t.input_tokens, t.output_tokens).where(*same)
        before = connection.execute(used).one_or_none() or (0, 0, 0)
        requests, sent, received = (getattr(row, name) + old for name, old in zip(_USED, before, strict=True))
        lost = Prediction(
            row.item_id,
            None,
            PredictionStatus.FAILED,
            reason,
            row.sample,
            input_tokens=sent,
            output_tokens=received,
            attempts=requests,
            guessed=1,
        )
        held.append((row.run_id, lost))
    write_predictions(connection, held)


UNDER_WAY = ("sending", "sent")
"""States of a batch that may still deliver answers; final states: "collected", "failed", "cancelled"."""


@dataclass(frozen=True, slots=True)
class Spending:
    """Changes to a run's paid usage and to the maximum usage of its unfinished calls."""

    paid: Usage = field(default_factory=Usage)
    under_way: Usage = field(default_factory=Usage)


_PROGRAM = "program"
"""Name of the feature under which the digest of a program's files is stored."""
_SUMS = [LEDGER.c[name] for name in (*_USED, "answers")]
_RESERVED = {"kind": "reserved", "answers": 1}
_MADE = select_values(StoredCall, CALL).where(CALL.c.key.in_(sa.bindparam("keys", expanding=True)))
_FOUND = _MADE.where(CALL.c.error == "")


class CallRepository(Repository):
    """Reads and writes calls, batches, tested features of endpoints, and the ledger."""

    def read_calls(self, keys: Sequence[str], *, failed: bool = False) -> dict[str, StoredCall]:
        """Return the successful calls with these keys, by key; with `failed`, also failed calls."""
        portions, query = split_into_batches(keys), _MADE if failed else _FOUND
        found = (call for p in portions for call in self._database.read_values(StoredCall, query, keys=p))
        return {call.key: call for call in found}

    def find_latest(self, *, has_schema: bool) -> StoredCall | None:
        """Return the latest successful call, or None.

        If `has_schema`, consider only calls whose request has a JSON Schema; otherwise only calls whose
        request has none.
        """
        # This text matches only the request's field, because quotation marks inside texts are escaped.
        free = CALL.c.request.contains('"schema":null', autoescape=True)
        query = select_values(StoredCall, CALL).where(
            CALL.c.error == "", sa.not_(free) if has_schema else free
        )
        latest = query.order_by(CALL.c.created.desc()).limit(1)
        return next(iter(self._database.read_values(StoredCall, latest)), None)

    @repeated(twice=True)
    def write_calls(self, calls: Sequence[StoredCall]) -> None:
        """Store calls in one transaction; a call replaces an earlier call with the same key.

        Their times are not before the newest search, so they count for its cap if the clock was set back.
        """
        with self._database.transaction() as connection:
            began = connection.execute(sa.select(sa.func.max(SEARCH.c.created))).scalar() or ""
            upsert(connection, CALL, [row_of(call) | {"created": max(call.created, began)} for call in calls])

    def read_probe(self, endpoint: str, model: str, feature: str) -> bool | None:
        """Return whether a model at an endpoint offers a feature; None if this was not tested yet."""
        same = (PROBE.c.endpoint == endpoint, PROBE.c.model == model, PROBE.c.feature == feature)
        rows = self._database.read_rows(sa.select(PROBE.c.offered).where(*same))
        return bool(rows[0].offered) if rows else None

    def note_program(self, where: str, model: str, digest: str, *, replaces: bool) -> str:
        """Store the digest of a program's files. Returns the stored digest.

        An existing digest is kept unless `replaces` is set.
        """
        same = (PROBE.c.endpoint == where, PROBE.c.model == model, PROBE.c.feature == _PROGRAM)
        if replaces:
            self._database.write_rows(sa.delete(PROBE).where(*same), [{}])
        self.add_probe(where, model, _PROGRAM, offered=True, detail=digest)
        return str(self._database.read_rows(sa.select(PROBE.c.detail).where(*same))[0].detail)

    @repeated(twice=True)
    def add_probe(self, endpoint: str, model: str, feature: str, *, offered: bool, detail: str) -> None:
        """Store whether a model offers a feature, unless it is already stored that the model offers it."""
        finding = {"endpoint": endpoint, "model": model, "feature": feature}
        result = {"offered": offered, "detail": detail}
        with self._database.transaction() as connection:
            insert = insert_into(PROBE, connection.dialect).values(**finding, **result)
            is_missing = sa.not_(PROBE.c.offered)
            connection.execute(
                insert.on_conflict_do_update(index_elements=list(finding), set_=result, where=is_missing)
            )

    def add_batch(self, batch: Batch) -> None:
        """Store a batch that is about to be submitted."""
        self._database.write_rows(sa.insert(BATCH), [row_of(batch)])

    def update_batch(self, marker: str, *, remote_id: str | None, state: str) -> None:
        """Store the state of a batch."""
        statement = sa.update(BATCH).where(BATCH.c.marker == marker)
        self._database.write_rows(statement, [{"remote_id": remote_id, "state": state}])

    def read_batches(self, run_id: str, states: Collection[str]) -> list[Batch]:
        """Return the batches of a run whose state is one of `states`."""
        query = sa.select(BATCH).where(BATCH.c.run_id == run_id, BATCH.c.state.in_(states))
        batches = self._database.read_values(Batch, query.order_by(BATCH.c.marker))
        return [replace(batch, requests=tuple((i, s) for i, s in batch.requests)) for batch in batches]

    def read_remote_ids(self) -> set[str]:
        """Return the ids that endpoints gave to batches."""
        query = sa.select(BATCH.c.remote_id).where(BATCH.c.remote_id.is_not(None))
        return {row.remote_id for row in self._database.read_rows(query)}

    @repeated(twice=True)
    def reserve(self, answers: Sequence[ReservedAnswer]) -> None:
        """Store reservations in one transaction; each replaces an earlier reservation of the same answer."""
        with self._database.transaction() as connection:
            upsert(connection, LEDGER, [row_of(answer) | _RESERVED for answer in answers])

    def charge_left(self, run_id: str, uncertain: Uncertain = "retry") -> Usage:
        """Remove the reservations that a dead process left for a run. Returns their maximum usage.

        Call this before a run makes its first call, and only while no other process makes calls for the run.
        If `uncertain` is ``"hold"``, each answer is stored as failed with its maximum usage, and is not
        requested again automatically. If it is ``"retry"``, the run is charged for the usage, and requests
        the answers again.
        """
        reserved = sa.delete(LEDGER).where(*_of_run(run_id, "reserved")).returning(LEDGER)
        with self._database.transaction() as connection:
            rows = connection.execute(reserved).all()
            requests, sent, received = (sum(getattr(row, name) for row in rows) for name in _USED)
            charge = Usage(requests, sent, received, answers=len(rows))
            if rows and uncertain == "hold":
                _hold(connection, rows)
            elif rows:
                book(connection, run_id, "charged", charge)
        return charge

    def charge(self, run_id: str, charge: Usage) -> None:
        """Charge a run for calls that belong to no item."""
        with self._database.transaction() as connection:
            book(connection, run_id, "charged", charge)

    def read_charge(self, run_id: str) -> Usage:
        """Return the usage charged to a run for calls that gave no answer; zeros if there are none."""
        return self._read(run_id, "charged") or Usage()

    @repeated(twice=False)
    def spend(self, run_id: str, changes: Sequence[Spending]) -> None:
        """Add changes to a workflow run's paid and unfinished usage, in one transaction."""
        with self._database.transaction() as connection:
            book(connection, run_id, "paid", Usage.sum(change.paid for change in changes))
            book(connection, run_id, "under way", Usage.sum(change.under_way for change in changes))

    def charge_calls_left(self, run_id: str) -> Usage:
        """Charge a workflow run for the calls that a dead process left unfinished. Returns the charged usage.

        In this usage, the number of answers equals the number of calls.
        """
        with self._database.transaction() as connection:
            charge = self._read(run_id, "under way") or Usage()
            charge.answers = charge.requests
            connection.execute(sa.delete(LEDGER).where(*_of_run(run_id, "under way")))
            if charge != Usage():
                book(connection, run_id, "charged", charge)
        return charge

    def read_spent(self, run_id: str) -> Usage | None:
        """Return the usage of a workflow run's finished calls; None if none was recorded yet."""
        spent = self._read(run_id, "paid")
        return None if spent is None else replace(spent, answers=0)

    def _read(self, run_id: str, kind: Booked) -> Usage | None:
        rows = self._database.read_rows(sa.select(*_SUMS).where(*_of_run(run_id, kind)))
        return Usage(*rows[0]) if rows else None


def _of_run(run_id: str, kind: str) -> tuple[sa.ColumnElement[bool], ...]:
    return LEDGER.c.run_id == run_id, LEDGER.c.kind == kind
