"""A pool of items in the database, and reading in one transaction with what reads portion by portion."""

from __future__ import annotations

import numpy as np

from oversight.harness.store import ItemDraw, Store
from oversight.harness.types import Item, Prediction

ITEMS = [Item(f"i{j}", "?", ("a", "b"), (0, 1)) for j in range(5)]


def draw(batch: int, items: int, remaining: int) -> ItemDraw:
    return ItemDraw(
        batch=batch, wanted=items, items=items, remaining=remaining, pool=4, seed=0, strata="s", created="now"
    )


def test_a_pool_keeps_strata_and_draws(url: str) -> None:
    with Store(url) as store:
        store.content.add_items(ITEMS)
        index = store.columns.read_index()
        assert [store.pool.read_pool(index), store.pool.read_drawn(), store.pool.count_pool()] == [None] * 3
        store.pool.add_pool(["i3", "i0", "i1", "i4"], np.array([2, 0, 0, 1]))
        store.pool.add_draw(draw(1, 1, 4), ["i3"])
        store.pool.add_draw(draw(2, 1, 3), ["i0"])
    with Store(url) as store:
        index = store.columns.read_index()
        pool = store.pool.read_pool(index)
        assert pool is not None
        assert (pool.stratum.tolist(), pool.size, pool.number) == ([0, -1, -1, 2, -1], 4, 2)
        assert store.pool.read_drawn() == {"i0", "i3"}
        ids, stratum = store.pool.read_remaining()
        assert (ids, stratum.tolist()) == (["i1", "i4"], [0, 1])
        assert store.pool.count_pool() == (2, 4)
        assert store.pool.read_draws() == [draw(1, 1, 4), draw(2, 1, 3)]


def test_a_read_in_portions_takes_no_row_of_the_next(url: str) -> None:
    with Store(url) as store:
        store.content.add_items(ITEMS)
        store.pool.add_pool([item.id for item in ITEMS], np.zeros(5, np.int64))
        with store.together(exclusive=True):
            assert store.runs.read_predictions("r") == list[Prediction]()
            assert store.pool.read_members() == {item.id for item in ITEMS}
