"""SQL of the calls to models: a cache that outlives the process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter

import sqlalchemy as sa

from harness.store.database import Database, select_values, upsert
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
_AT_ONCE = 500
"""Keys of one query: databases bound the number of parameters."""


class CallRepository:
    """The calls made so far.

    Parameters
    ----------
    database
        The study's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def read_calls(self, keys: Sequence[str]) -> dict[str, StoredCall]:
        """Return the calls with these keys that succeeded."""
        found = {}
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            with self._database.transaction() as connection:
                for row in connection.execute(_FOUND, {"keys": some}).mappings():
                    found[row["key"]] = StoredCall(**row)
        return found

    def write_calls(self, calls: Iterable[StoredCall]) -> None:
        """Store a batch in one transaction; a later call with the same key replaces an earlier one."""
        rows = [_values(call) for call in calls]
        if rows:
            with self._database.transaction() as connection:
                upsert(connection, _CALL, _NAMES, rows)
