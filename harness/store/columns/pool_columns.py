"""SQL of the item pool: strata, and draws of items from the pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from oversight.harness.arrays import IntArray
from oversight.harness.columns import ItemIndex, ItemPool, weigh_draws
from oversight.harness.store.database import Repository
from oversight.harness.store.tables.insertion import row_of
from oversight.harness.store.tables.study_tables import ITEM, ITEM_DRAW, POOL_ITEM, ItemDraw

_ITEM = ITEM.c
_EQUAL = 1e-9
"""Weights that differ by at most this much count as equal."""
_TAKE = (
    sa.update(POOL_ITEM)
    .where(POOL_ITEM.c.item_id == sa.bindparam("taken"))
    .values(batch=sa.bindparam("by"), chance=sa.bindparam("with"))
)


class PoolRepository(Repository):
    """The item pool of a study; empty unless the study asks about only some of its items."""

    def read_draws(self) -> list[ItemDraw]:
        """Return all draws of items from the pool, in order; empty if the study asks about every item."""
        return self._database.read_table(ItemDraw, ITEM_DRAW, ITEM_DRAW.c.batch)

    def read_pool(self, index: ItemIndex) -> ItemPool | None:
        """Return the pool as arrays aligned with the item index; None if the study asks about every item."""
        counted = self.count_pool()
        if counted is None:
            return None
        columns = (_ITEM.position, POOL_ITEM.c.stratum, POOL_ITEM.c.batch, POOL_ITEM.c.chance)
        query = sa.select(*columns).join_from(POOL_ITEM, ITEM).where(POOL_ITEM.c.batch > 0)
        rows = np.array(self._database.read_tuples(query), np.float64).reshape(-1, 4)
        place, size = rows[:, 0].astype(np.int64), counted[1]
        stratum = np.full(index.size, -1, np.int64)
        stratum[place] = rows[:, 1].astype(np.int64)
        if np.isnan(rows[:, 3]).all():
            return ItemPool(stratum=stratum, size=size)
        chance, batch = np.full(index.size, np.nan), np.zeros(index.size, np.int64)
        chance[place], batch[place] = rows[:, 3], rows[:, 2].astype(np.int64)
        each, weight = weigh_draws(chance[place], batch[place], size), np.zeros(index.size)
        weight[place] = each
        if np.ptp(each) <= _EQUAL:
            return ItemPool(stratum=stratum, size=size)
        return ItemPool(stratum=stratum, size=size, weight=weight, chance=chance, batch=batch)

    def count_pool(self) -> tuple[int, int] | None:
        """Return the number of drawn items and the number of all items in the pool.

        Returns None if the study asks about every item. Items that were removed from the study do not count.
        """
        if not self.read_draws():
            return None
        numbers = (sa.func.count().filter(POOL_ITEM.c.batch > 0), sa.func.count())
        query: Any = sa.select(*numbers).select_from(POOL_ITEM)
        ((drawn, size),) = self._database.read_tuples(query)
        return drawn, size

    def read_drawn(self) -> set[str] | None:
        """Return the ids of the drawn items; None if the study asks about every item."""
        if not self.read_draws():
            return None
        query = sa.select(POOL_ITEM.c.item_id).where(POOL_ITEM.c.batch > 0)
        return {name for (name,) in self._database.read_tuples(query)}

    def read_members(self) -> set[str]:
        """Return the ids of all items of the pool."""
        return {name for (name,) in self._database.read_tuples(sa.select(POOL_ITEM.c.item_id))}

    def read_remaining(self) -> tuple[list[str], IntArray]:
        """Return ids and strata of the undrawn items, in source order."""
        query = sa.select(POOL_ITEM.c.item_id, POOL_ITEM.c.stratum).join_from(POOL_ITEM, ITEM)
        rows = self._database.read_tuples(query.where(POOL_ITEM.c.batch == 0).order_by(_ITEM.position))
        return [name for name, _ in rows], np.array([stratum for _, stratum in rows], np.int64)

    def add_pool(self, ids: Sequence[str], stratum: IntArray) -> None:
        """Store all items of the pool as undrawn, each with the index of its stratum."""
        rows = zip(ids, stratum.tolist(), [0] * len(ids), strict=True)
        self._database.add_rows(POOL_ITEM, ("item_id", "stratum", "batch"), rows)

    def add_draw(
        self, draw: ItemDraw, ids: Sequence[str], chances: Sequence[float | None] | None = None
    ) -> None:
        """Store a draw with its items and their inclusion probabilities (None if all are equal)."""
        self._database.write_rows(ITEM_DRAW.insert(), [row_of(draw)])
        each = zip(ids, chances or [None] * len(ids), strict=True)
        taken = [{"taken": name, "by": draw.batch, "with": chance} for name, chance in each]
        self._database.write_rows(_TAKE, taken)
