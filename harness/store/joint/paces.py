"""SQL of rates that several processes keep together: when an endpoint takes their next calls."""

from __future__ import annotations

import sqlalchemy as sa

from oversight.harness.store.database import Repository, repeated
from oversight.harness.store.tables import PaceRow, insert_into

_PACE = PaceRow.__table__
_BURST = 0.1
"""Seconds' worth of calls that may go out at once, after a while without any."""


class PaceRepository(Repository):
    """Places in the line before an endpoint, in a database on a server."""

    @repeated(twice=True)
    def book(self, endpoint: str, model: str, *, requests: float | None, tokens: float | None) -> float:
        """Book places in the line; return after how many seconds they may be used.

        Parameters
        ----------
        requests, tokens
            Seconds that the calls and their tokens take of the endpoint's rates; None has no limit.
        """
        now = sa.extract("epoch", sa.func.clock_timestamp())  # others are waited for within the transaction
        taken = {"requests_at": requests or 0.0, "tokens_at": tokens or 0.0}
        first = {name: now - _BURST + seconds for name, seconds in taken.items()}
        with self._database.transaction() as connection:
            insert = insert_into(_PACE, connection.dialect)
            insert = insert.values(endpoint=endpoint, model=model, **first)
            later = {
                name: sa.func.greatest(_PACE.c[name], now - _BURST) + seconds
                for name, seconds in taken.items()
            }
            upsert = insert.on_conflict_do_update(index_elements=["endpoint", "model"], set_=later)
            waits = [_PACE.c[name] - seconds - now for name, seconds in taken.items()]
            return max(0.0, *map(float, connection.execute(upsert.returning(*waits)).one()))
