"""SQL of what was asked of models' endpoints: calls, batches, and probes of what they can do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from oversight.harness.store.database import Repository, repeated, split_into_batches
from oversight.harness.store.tables import (
    BatchRow,
    CallRow,
    ProbeRow,
    insert_into,
    row_of,
    select_values,
    upsert,
)

UNDER_WAY = ("sending", "sent")
"""States of a batch that may still bring answers; afterwards it is "collected", "failed" or "cancelled"."""


@dataclass(frozen=True, slots=True)
class StoredCall:
    """One call; the columns of `oversight.harness.store.tables.CallRow`."""

    key: str
    request: str
    reply: str
    finish: str
    input_tokens: int
    output_tokens: int
    usd: float | None
    ms: float
    error: str
    created: str


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of requests at an endpoint; `remote_id` is None until the endpoint has told it."""

    marker: str
    run_id: str
    remote_id: str | None
    state: str
    requests: tuple[tuple[str, int], ...]


_BATCH, _PROBE = BatchRow.__table__, ProbeRow.__table__
_CALL = CallRow.__table__
_MADE = select_values(StoredCall, _CALL).where(_CALL.c.key.in_(sa.bindparam("keys", expanding=True)))
_FOUND = _MADE.where(_CALL.c.error == "")


class CallRepository(Repository):
    """The calls made so far: a cache that outlives the process."""

    def read_calls(self, keys: Sequence[str], *, failed: bool = False) -> dict[str, StoredCall]:
        """Return the calls with these keys that succeeded, and if asked for those that failed."""
        portions, query = split_into_batches(keys), _MADE if failed else _FOUND
        found = (call for p in portions for call in self._database.read_values(StoredCall, query, keys=p))
        return {call.key: call for call in found}

    def find_latest(self, *, has_schema: bool) -> StoredCall | None:
        """Return the latest call that succeeded, of those with a schema or of those without."""
        # a quotation mark within a text is written with a backslash in front: this is the field itself
        free = _CALL.c.request.contains('"schema":null', autoescape=True)
        query = select_values(StoredCall, _CALL).where(
            _CALL.c.error == "", sa.not_(free) if has_schema else free
        )
        latest = query.order_by(_CALL.c.created.desc()).limit(1)
        return next(iter(self._database.read_values(StoredCall, latest)), None)

    @repeated(twice=True)
    def write_calls(self, calls: Sequence[StoredCall]) -> None:
        """Store a batch in one transaction; a later call with the same key replaces an earlier one."""
        with self._database.transaction() as connection:
            upsert(connection, _CALL, [row_of(call) for call in calls])


class EndpointRepository(Repository):
    """Probes and batches."""

    def read_probe(self, endpoint: str, model: str, feature: str) -> bool | None:
        """Whether a model offers something; None if that was not tried yet."""
        same = (_PROBE.c.endpoint == endpoint, _PROBE.c.model == model, _PROBE.c.feature == feature)
        rows = self._database.read_rows(sa.select(_PROBE.c.offered).where(*same))
        return bool(rows[0].offered) if rows else None

    @repeated(twice=True)
    def add_probe(self, endpoint: str, model: str, feature: str, *, offered: bool, detail: str) -> None:
        """Note what a model offers; the first finding stays."""
        finding = {"endpoint": endpoint, "model": model, "feature": feature}
        with self._database.transaction() as connection:
            insert = insert_into(_PROBE, connection.dialect).values(**finding, offered=offered, detail=detail)
            connection.execute(insert.on_conflict_do_nothing())

    def add_batch(self, batch: Batch) -> None:
        """Note a batch that is about to be handed over."""
        self._database.write_rows(sa.insert(_BATCH), [row_of(batch)])

    def update_batch(self, marker: str, *, remote_id: str | None, state: str) -> None:
        """Note what became of a batch."""
        statement = sa.update(_BATCH).where(_BATCH.c.marker == marker)
        self._database.write_rows(statement, [{"remote_id": remote_id, "state": state}])

    def read_batches(self, run_id: str, states: Collection[str]) -> list[Batch]:
        """Batches of a run that are in one of these states."""
        query = sa.select(_BATCH).where(_BATCH.c.run_id == run_id, _BATCH.c.state.in_(states))
        batches = self._database.read_values(Batch, query.order_by(_BATCH.c.marker))
        return [replace(batch, requests=tuple((i, s) for i, s in batch.requests)) for batch in batches]

    def read_remote_ids(self) -> set[str]:
        """Ids of all batches that endpoints are known to have."""
        query = sa.select(_BATCH.c.remote_id).where(_BATCH.c.remote_id.is_not(None))
        return {row.remote_id for row in self._database.read_rows(query)}
