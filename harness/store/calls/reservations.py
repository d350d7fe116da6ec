"""SQL of what answers under way may cost, so that a killed command has paid for them all the same.

A row stands in the ledger from before an answer's first call goes out until its prediction is stored
(`RunRepository.store_predictions`). One that is found when a run starts belongs to a command that is dead:
whatever it reserved may have been paid, so it is charged to the run for good.

The calls of a workflow are many to an answer, and outlive it: what those that are over used is added up in
one row a run, and in another what those under way may use. What is found there when a run starts is charged
in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import sqlalchemy as sa

from oversight.harness.store.calls.lost_answers import Booked, Uncertain, book, settle_lost
from oversight.harness.store.database import Repository, repeated
from oversight.harness.store.tables import LedgerRow, row_of, upsert
from oversight.harness.types import Usage

_LEDGER = LedgerRow.__table__
_SUMS = [_LEDGER.c[name] for name in ("requests", "input_tokens", "output_tokens", "answers")]
_RESERVED = {"kind": "reserved", "answers": 1}


@dataclass(frozen=True, slots=True)
class ReservedAnswer:
    """What an answer to an item has used so far, and the call that goes out now may use at most."""

    run_id: str
    item_id: str
    sample: int
    requests: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Spending:
    """How calls change what a run has paid, and what its calls under way may use at most."""

    paid: Usage = field(default_factory=Usage)
    under_way: Usage = field(default_factory=Usage)


class ReservationRepository(Repository):
    """Reservations of answers under way, charges for those that never came to an end, workflows' spending."""

    @repeated(twice=True)
    def reserve(self, answers: Sequence[ReservedAnswer]) -> None:
        """Store reservations in one transaction; a later one replaces that of the same answer."""
        with self._database.transaction() as connection:
            upsert(connection, _LEDGER, [row_of(answer) | _RESERVED for answer in answers])

    def charge_left(self, run_id: str, uncertain: Uncertain = "retry") -> Usage:
        """Settle what a dead command reserved for a run, see `settle_lost`; zeros if there is nothing.

        To be called before a run makes its first call, and while no other command makes any for it.
        """
        with self._database.transaction() as connection:
            return settle_lost(connection, run_id, uncertain)

    def charge(self, run_id: str, charge: Usage) -> None:
        """Charge a run with calls that were for no item."""
        with self._database.transaction() as connection:
            book(connection, run_id, "charged", charge)

    def read_charge(self, run_id: str) -> Usage:
        """What a run was charged for answers that never came to an end."""
        return self._read(run_id, "charged") or Usage()

    @repeated(twice=False)
    def spend(self, run_id: str, changes: Sequence[Spending]) -> None:
        """Add changes to what a workflow's run paid and has under way, in one transaction."""
        with self._database.transaction() as connection:
            book(connection, run_id, "paid", Usage.sum(change.paid for change in changes))
            book(connection, run_id, "under way", Usage.sum(change.under_way for change in changes))

    def charge_calls_left(self, run_id: str) -> Usage:
        """Charge a workflow's run with what a dead command had under way, as `charge_left` does.

        An answer is one to a call here.
        """
        with self._database.transaction() as connection:
            charge = self._read(run_id, "under way") or Usage()
            charge.answers = charge.requests
            connection.execute(sa.delete(_LEDGER).where(*_of_run(run_id, "under way")))
            if charge != Usage():
                book(connection, run_id, "charged", charge)
        return charge

    def read_spent(self, run_id: str) -> Usage | None:
        """What a workflow's run paid for calls that are over; None if nothing was booked yet."""
        spent = self._read(run_id, "paid")
        return None if spent is None else replace(spent, answers=0)

    def _read(self, run_id: str, kind: Booked) -> Usage | None:
        rows = self._database.read_rows(sa.select(*_SUMS).where(*_of_run(run_id, kind)))
        return Usage(*rows[0]) if rows else None


def _of_run(run_id: str, kind: Booked) -> tuple[sa.ColumnElement[bool], ...]:
    return _LEDGER.c.run_id == run_id, _LEDGER.c.kind == kind
