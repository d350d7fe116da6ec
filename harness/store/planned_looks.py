"""SQL of planned looks: which were taken, and with how many answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from oversight.harness.store.database import Repository
from oversight.harness.store.tables import LookRow, row_of

_LOOK = LookRow.__table__


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLook:
    """A look at the estimates, of so many planned ones, when so many of the drawn questions were answered."""

    look: int
    looks: int
    answered: int
    drawn: int


class LookRepository(Repository):
    """Looks taken at a study."""

    def read_looks(self) -> list[PlannedLook]:
        """All looks taken, in their order."""
        return self._database.read_table(PlannedLook, _LOOK, _LOOK.c.look)

    def add_look(self, look: PlannedLook) -> None:
        """Note a look; one that was noted before stays as it is."""
        if look.look not in {taken.look for taken in self.read_looks()}:
            row = {**row_of(look), "created": datetime.now(UTC).isoformat()}
            self._database.write_rows(_LOOK.insert(), [row])
