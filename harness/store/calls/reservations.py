"""SQL of what answers under way may cost, so that a killed command has paid for them all the same.

A row stands here from before an answer's first call goes out until its prediction is stored
(`RunRepository.store_predictions`). One that is found when a run starts belongs to a command that is dead:
whatever it reserved may have been paid, so it is charged to the run for good.

The calls of a workflow are many to an answer, and outlive it: what those that are over used is added up in
one row a run, and in another what those under way may use. What is found there when a run starts is charged
in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from oversight.harness.store.calls.lost_answers import Charge, Uncertain, add_charge, settle_lost
from oversight.harness.store.database import Repository, repeated
from oversight.harness.store.tables import (
    CallsUnderWayRow,
    ChargeRow,
    ReservationRow,
    SpentRow,
    row_of,
    select_values,
    upsert,
)

if TYPE_CHECKING:
    from oversight.harness.store.runs import Usage

_CHARGE, _RESERVATION = ChargeRow.__table__, ReservationRow.__table__
_SPENT, _UNDER_WAY = SpentRow.__table__, CallsUnderWayRow.__table__
_USED = ("requests", "input_tokens", "output_tokens")


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
class Spent:
    """What calls used, or use at most; what is less than before is negative."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __sub__(self, other: Spent) -> Spent:
        """What has come since `other`."""
        return Spent(*(getattr(self, name) - getattr(other, name) for name in _USED))

    @classmethod
    def sum(cls, parts: Iterable[Spent | Usage]) -> Spent:
        """All together."""
        known = list(parts)
        return cls(*(sum(getattr(part, name) for part in known) for name in _USED))


@dataclass(frozen=True, slots=True)
class Spending:
    """How calls change what a run has paid, and what its calls under way may use at most."""

    paid: Spent = Spent()
    under_way: Spent = Spent()


class ReservationRepository(Repository):
    """Reservations of answers under way, charges for those that never came to an end, workflows' spending."""

    @repeated(twice=True)
    def reserve(self, answers: Sequence[ReservedAnswer]) -> None:
        """Store reservations in one transaction; a later one replaces that of the same answer."""
        with self._database.transaction() as connection:
            upsert(connection, _RESERVATION, [row_of(answer) for answer in answers])

    def charge_left(self, run_id: str, uncertain: Uncertain = "retry") -> Charge:
        """Settle what a dead command reserved for a run, see `settle_lost`; zeros if there is nothing.

        To be called before a run makes its first call, and while no other command makes any for it.
        """
        with self._database.transaction() as connection:
            return settle_lost(connection, run_id, uncertain)

    def charge(self, run_id: str, charge: Charge) -> None:
        """Charge a run with calls that were for no item."""
        with self._database.transaction() as connection:
            add_charge(connection, _CHARGE, run_id, row_of(charge))

    def read_charge(self, run_id: str) -> Charge:
        """What a run was charged for answers that never came to an end."""
        found = self._database.read_values(
            Charge, select_values(Charge, _CHARGE).where(_CHARGE.c.run_id == run_id)
        )
        return found[0] if found else Charge(0, 0, 0, 0)

    @repeated(twice=False)
    def spend(self, run_id: str, changes: Sequence[Spending]) -> None:
        """Add changes to what a workflow's run paid and has under way, in one transaction."""
        with self._database.transaction() as connection:
            for table, parts in (
                (_SPENT, (change.paid for change in changes)),
                (_UNDER_WAY, (change.under_way for change in changes)),
            ):
                add_charge(connection, table, run_id, row_of(Spent.sum(parts)))

    def charge_calls_left(self, run_id: str) -> Charge:
        """Charge a workflow's run with what a dead command had under way, as `charge_left` does.

        An answer is one to a call here.
        """
        columns = (_UNDER_WAY.c[name] for name in _USED)
        gone = sa.delete(_UNDER_WAY).where(_UNDER_WAY.c.run_id == run_id).returning(*columns)
        with self._database.transaction() as connection:
            left = Spent.sum(Spent(*row) for row in connection.execute(gone))
            charge = Charge(left.requests, left.requests, left.input_tokens, left.output_tokens)
            if left != Spent():
                add_charge(connection, _CHARGE, run_id, row_of(charge))
        return charge

    def read_spent(self, run_id: str) -> Spent | None:
        """What a workflow's run paid for calls that are over; None if it has no such row."""
        found = self._database.read_values(
            Spent, select_values(Spent, _SPENT).where(_SPENT.c.run_id == run_id)
        )
        return found[0] if found else None
