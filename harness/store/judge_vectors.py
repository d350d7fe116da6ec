"""SQL of the probabilities that judges give to every option."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from oversight.harness.store.database import Repository
from oversight.harness.store.stored_values import write_json
from oversight.harness.store.tables import JudgeProbabilityRow, upsert_tuples

_VECTOR = JudgeProbabilityRow.__table__


class JudgeVectorRepository(Repository):
    """Judges' probabilities of all options of an item, by run."""

    def store_vectors(self, run_id: str, vectors: Mapping[str, Sequence[float]]) -> None:
        """Store a run's probabilities by item, replacing stored ones of the same items."""
        rows = [(run_id, item, write_json(list(vector))) for item, vector in vectors.items()]
        if not rows:
            return
        with self._database.transaction() as connection:
            upsert_tuples(connection, _VECTOR, ("run_id", "item_id", "probabilities"), rows)

    def read_vectors(self, run_id: str) -> dict[str, tuple[float, ...]]:
        """Return a run's probabilities by item; empty if the run gave none."""
        query = sa.select(_VECTOR.c.item_id, _VECTOR.c.probabilities).where(_VECTOR.c.run_id == run_id)
        return {row.item_id: row.probabilities for row in self._database.read_rows(query)}
