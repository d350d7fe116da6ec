"""SQL of what answers under way may cost, so that a killed command has paid for them all the same.

A row stands here from before an answer's first call goes out until its prediction is stored
(`RunRepository.store_predictions`). One that is found when a run starts belongs to a command that is dead:
whatever it reserved may have been paid, so it is charged to the run for good.

The calls of a workflow are many to an answer, and outlive it: they are added up in one row a run, which
holds the most a call may use from before it goes out, and what it used once that is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from harness.store.database import Repository
from harness.store.tables import (
    ChargeRow,
    ReservationRow,
    SpentRow,
    insert_into,
    row_of,
    select_values,
    upsert,
)

_CHARGE, _RESERVATION, _SPENT = ChargeRow.__table__, ReservationRow.__table__, SpentRow.__table__
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
class Charge:
    """What answers were charged that no row is stored of."""

    answers: int
    requests: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls used, or at most use; what they used less than that is negative."""

    requests: int
    input_tokens: int
    output_tokens: int


class ReservationRepository(Repository):
    """Reservations of answers under way, charges for those that never came to an end, workflows' spending."""

    def reserve(self, answers: Sequence[ReservedAnswer]) -> None:
        """Store reservations in one transaction; a later one replaces that of the same answer."""
        with self._database.transaction() as connection:
            upsert(connection, _RESERVATION, [row_of(answer) for answer in answers])

    def charge_left(self, run_id: str) -> Charge:
        """Charge a run with what a dead command reserved for it; return that, zeros if there is nothing.

        To be called before a run makes its first call, and while no other command makes any for it.
        """
        gone = sa.delete(_RESERVATION).where(_RESERVATION.c.run_id == run_id).returning(_RESERVATION)
        with self._database.transaction() as connection:
            left = connection.execute(gone).all()
            charge = Charge(len(left), *(sum(getattr(row, name) for row in left) for name in _USED))
            if left:
                _add(connection, _CHARGE, run_id, row_of(charge))
        return charge

    def charge(self, run_id: str, charge: Charge) -> None:
        """Charge a run with calls that were for no item."""
        with self._database.transaction() as connection:
            _add(connection, _CHARGE, run_id, row_of(charge))

    def read_charge(self, run_id: str) -> Charge:
        """What a run was charged for answers that never came to an end."""
        found = self._database.read_values(
            Charge, select_values(Charge, _CHARGE).where(_CHARGE.c.run_id == run_id)
        )
        return found[0] if found else Charge(0, 0, 0, 0)

    def spend(self, run_id: str, calls: Sequence[Spent]) -> None:
        """Add calls to what a run spent, in one transaction."""
        total = Spent(*(sum(getattr(call, name) for call in calls) for name in _USED))
        with self._database.transaction() as connection:
            _add(connection, _SPENT, run_id, row_of(total))

    def read_spent(self, run_id: str) -> Spent | None:
        """What a run spent; None if it has no such row."""
        found = self._database.read_values(
            Spent, select_values(Spent, _SPENT).where(_SPENT.c.run_id == run_id)
        )
        return found[0] if found else None


def _add(connection: sa.Connection, table: sa.Table, run_id: str, amounts: dict[str, int]) -> None:
    """Add to a run's row, which is made if there is none."""
    insert = insert_into(table, connection.dialect).values(run_id=run_id, **amounts)
    more = {name: table.c[name] + value for name, value in amounts.items()}
    connection.execute(insert.on_conflict_do_update(index_elements=["run_id"], set_=more))
