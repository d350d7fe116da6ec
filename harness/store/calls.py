"""SQL of the calls to models: a cache that outlives the process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter

import sqlalchemy as sa

from harness.store.database import PORTION, Repository, select_values, split_into_batches, upsert
from harness.store.tables import CallRow


@dataclass(frozen=True, slots=True)
class StoredCall:
    """One call; the columns of `harness.store.tables.CallRow`."""

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


_CALL = CallRow.__table__
_NAMES = tuple(field.name for field in fields(StoredCall))
_values = attrgetter(*_NAMES)
_FOUND = select_values(StoredCall, _CALL).where(
    _CALL.c.key.in_(sa.bindparam("keys", expanding=True)), _CALL.c.error == ""
)


class CallRepository(Repository):
    """The calls made so far."""

    def read_calls(self, keys: Sequence[str]) -> dict[str, StoredCall]:
        """Return the calls with these keys that succeeded."""
        portions = split_into_batches(keys, PORTION)
        found = (call for p in portions for call in self._database.read_values(StoredCall, _FOUND, keys=p))
        return {call.key: call for call in found}

    def write_calls(self, calls: Iterable[StoredCall]) -> None:
        """Store a batch in one transaction; a later call with the same key replaces an earlier one."""
        with self._database.transaction() as connection:
            upsert(connection, _CALL, _NAMES, [_values(call) for call in calls])
