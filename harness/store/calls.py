"""SQL of the calls to models: a cache that outlives the process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

import sqlalchemy as sa

from harness.store.tables import CallRow, table_of
from harness.store.upsert import upsert

if TYPE_CHECKING:
    from harness.store.repository import Repository

_CALL = table_of(CallRow)
_values = attrgetter(*_CALL.columns.keys())
_FOUND = sa.select(_CALL).where(_CALL.c.key.in_(sa.bindparam("keys", expanding=True)), _CALL.c.error == "")
_AT_ONCE = 500
"""Keys of one query: databases bound the number of parameters."""


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


def read_calls(store: Repository, keys: Sequence[str]) -> dict[str, StoredCall]:
    """Return the calls with these keys that succeeded."""
    found = {}
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        with store.transaction() as connection:
            for row in connection.execute(_FOUND, {"keys": some}).mappings():
                found[row["key"]] = StoredCall(**row)
    return found


def write_calls(store: Repository, calls: Iterable[StoredCall]) -> None:
    """Store a batch in one transaction; a later call with the same key replaces an earlier one."""
    rows = [_values(call) for call in calls]
    if rows:
        with store.transaction() as connection:
            upsert(connection, _CALL, rows)
