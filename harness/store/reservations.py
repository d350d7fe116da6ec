"""SQL of what answers under way may cost, so that a killed command has paid for them all the same.

A row stands here from before an answer's first call goes out until its prediction is stored
(`RunRepository.store_predictions`). One that is found when a run starts belongs to a command that is dead:
whatever it reserved may have been paid, so it is charged to the run for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from harness.store.database import Repository, row_of, select_values
from harness.store.tables import ChargeRow, ReservationRow, insert_into, upsert

_CHARGE, _RESERVATION = ChargeRow.__table__, ReservationRow.__table__
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


class ReservationRepository(Repository):
    """Reservations of answers under way, and charges for those that never came to an end."""

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
                _add_charge(connection, run_id, charge)
        return charge

    def charge(self, run_id: str, charge: Charge) -> None:
        """Charge a run with calls that were for no item."""
        with self._database.transaction() as connection:
            _add_charge(connection, run_id, charge)

    def read_charge(self, run_id: str) -> Charge:
        """What a run was charged for answers that never came to an end."""
        found = self._database.read_values(
            Charge, select_values(Charge, _CHARGE).where(_CHARGE.c.run_id == run_id)
        )
        return found[0] if found else Charge(0, 0, 0, 0)


def _add_charge(connection: sa.Connection, run_id: str, charge: Charge) -> None:
    insert = insert_into(_CHARGE, connection.dialect).values(run_id=run_id, **row_of(charge))
    more = {name: _CHARGE.c[name] + value for name, value in row_of(charge).items()}
    connection.execute(insert.on_conflict_do_update(index_elements=["run_id"], set_=more))
