"""Settle answers that were unfinished when their process died: charge them, and maybe ask again."""

from __future__ import annotations

from typing import Literal, TypeAlias

import sqlalchemy as sa

from oversight.harness.errors import Fault
from oversight.harness.store.tables import LedgerRow, PredictionRow, insert_into, upsert
from oversight.harness.types import PredictionStatus, Source, Usage

_LEDGER, _PREDICTION = LedgerRow.__table__, PredictionRow.__table__
_USED = ("requests", "input_tokens", "output_tokens")
_KEY = ("run_id", "item_id", "sample")

Booked: TypeAlias = Literal["charged", "paid", "under way"]
"""Kinds of sums in the ledger, one row per run; see `oversight.harness.store.tables.LedgerRow`."""
Uncertain: TypeAlias = Literal["retry", "hold"]
"""Treatment of answers left unfinished by a dead process: ask again, or record them as failed."""


def settle_lost(connection: sa.Connection, run_id: str, uncertain: Uncertain) -> Usage:
    """End the reservations of a dead process. Returns the usage that is charged to the run.

    With ``"hold"``, each answer is stored as failed with the most it may have used, and is not asked for
    again automatically. With ``"retry"``, the run is charged, and its items count as not asked about yet.
    """
    of_run = (_LEDGER.c.run_id == run_id, _LEDGER.c.kind == "reserved")
    rows = list(connection.execute(sa.delete(_LEDGER).where(*of_run).returning(_LEDGER)).all())
    requests, sent, received = (sum(getattr(row, name) for row in rows) for name in _USED)
    charge = Usage(requests, sent, received, answers=len(rows))
    if rows and uncertain == "hold":
        _hold(connection, rows)
    elif rows:
        book(connection, run_id, "charged", charge)
    return charge


def book(connection: sa.Connection, run_id: str, kind: Booked, used: Usage) -> None:
    """Add usage to a run's row of this kind in the ledger, creating the row if needed."""
    amounts = {name: getattr(used, name) for name in (*_USED, "answers")}
    key = {"run_id": run_id, "kind": kind, "item_id": "", "sample": 0}
    insert = insert_into(_LEDGER, connection.dialect).values(**key, **amounts)
    more = {name: _LEDGER.c[name] + value for name, value in amounts.items()}
    connection.execute(insert.on_conflict_do_update(index_elements=list(key), set_=more))


def _hold(connection: sa.Connection, rows: list[sa.Row[tuple[object, ...]]]) -> None:
    """Store failed answers, adding the usage of the earlier failed answers that they replace."""
    t = _PREDICTION.c
    held = []
    for row in rows:
        key = {name: getattr(row, name) for name in _KEY}
        same = (t[name] == value for name, value in key.items())
        used = sa.select(t.attempts, t.input_tokens, t.output_tokens).where(*same)
        before = connection.execute(used).one_or_none() or (0, 0, 0)
        requests, sent, received = (getattr(row, name) + old for name, old in zip(_USED, before, strict=True))
        held.append(
            key
            | {
                "option": None,
                "status": PredictionStatus.FAILED.value,
                "reason": f"{Fault.LOST}: under way when its process ended; it may have been answered",
                "raw": "",
                "input_tokens": sent,
                "output_tokens": received,
                "seconds": 0.0,
                "attempts": requests,
                "confidence": None,
                "source": Source.CALL.value,
                "guessed": 1,
            }
        )
    upsert(connection, _PREDICTION, held)
