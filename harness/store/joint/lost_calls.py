"""Calls of programs that were out when their worker was lost: charged in full, and made again or never."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from oversight.harness.errors import Fault
from oversight.harness.store.calls import StoredCall, Uncertain, add_charge
from oversight.harness.store.joint.amounts import Amounts
from oversight.harness.store.tables import CallClaimRow, CallRow, ChargeRow, RunRow, row_of, upsert

_CLAIM, _CALL, _RUN = CallClaimRow.__table__, CallRow.__table__, RunRow.__table__
_CHARGE = ChargeRow.__table__
LOST = f"{Fault.LOST}: under way when its process ended; it may have been answered"
"""The error of such a call."""


def settle_calls(connection: sa.Connection, worker: str, uncertain: Uncertain) -> tuple[int, Amounts]:
    """End the claims of a worker that is gone: what was out counts as paid for in full.

    Each is stored as a call that failed; with ``"hold"`` under its own key, so that it is never made again.

    Returns
    -------
    int, Amounts
        How many calls were out, and what they may have used.
    """
    gone = connection.execute(sa.delete(_CLAIM).where(_CLAIM.c.worker == worker).returning(_CLAIM)).all()
    out = sorted((row for row in gone if row.requests), key=lambda row: str(row.key))
    holds = uncertain == "hold"
    created = datetime.now(UTC).isoformat(timespec="seconds")
    lost = (_lose(row, row.key if holds else f"{row.key}/{worker}", created) for row in out)
    upsert(connection, _CALL, [row_of(call) for call in lost])
    for run, rows in group_by_run(connection, out).items():
        add_charge(connection, _CHARGE, run, {"answers": len(rows), **sum_used(rows)})
    tokens = sum(row.input_tokens + row.output_tokens for row in out)
    return len(out), Amounts(sum(row.usd for row in out), tokens, sum(row.requests for row in out))


def _lose(claim: sa.Row[Any], key: str, created: str) -> StoredCall:
    return StoredCall(
        key=key,
        request="",
        reply="",
        finish="",
        input_tokens=claim.input_tokens,
        output_tokens=claim.output_tokens,
        usd=claim.usd,
        ms=0.0,
        error=LOST,
        created=created,
    )


def group_by_run(connection: sa.Connection, claims: Sequence[sa.Row[Any]]) -> dict[str, list[sa.Row[Any]]]:
    """Claims by the run that they are of, in order; a search is none."""
    works = {row.work_id for row in claims}
    runs = connection.execute(sa.select(_RUN.c.id).where(_RUN.c.id.in_(works))).scalars().all()
    return {run: [row for row in claims if row.work_id == run] for run in sorted(runs)}


def sum_used(claims: Sequence[sa.Row[Any]]) -> dict[str, int]:
    """What claims count, together."""
    names = ("requests", "input_tokens", "output_tokens")
    return {name: sum(getattr(row, name) for row in claims) for name in names}
