"""Selection items whose answers tell most come first, and are as hard as the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oversight.agents.search import simulated_labels
from oversight.agents.search.item_splits import order_by_worth
from oversight.harness.types import Item
from tests.agents.simulated_search import Task

OPTIONS = ("a", "b", "c", "d")
ITEMS = [Item(str(i), "", OPTIONS, (0, 1, 2, 3)) for i in range(6)]
REFUSED = np.array([[1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1]])
NOBODY = np.zeros((0, 6), np.int64)
LABELLED = replace(
    simulated_labels(np.zeros(6, np.int64), NOBODY, 4, "ordinary", np.random.default_rng(0)),
    truth=np.array([-1, 2, -1, 0, -1, 1]),
    refused=REFUSED.astype(np.bool_),
)


def test_items_come_by_the_share_of_wrong_options_that_is_ruled_out() -> None:
    np.testing.assert_allclose(LABELLED.ruled_out, [1 / 3, 1, 2 / 3, 1, 1 / 3, 1])
    assert [item.id for item in order_by_worth(ITEMS, LABELLED)] == ["1", "3", "5", "2", "0", "4"]


def test_the_order_stays_where_options_were_drawn_with_unequal_chances() -> None:
    routed = replace(LABELLED, routed=np.arange(6) == 4)
    assert order_by_worth(ITEMS, routed) == tuple(ITEMS)


def test_the_first_items_are_as_hard_as_all() -> None:
    task = Task(4, 20_000, 3)
    labelled = task.labelled(slice(0, task.n), "natural")
    right = task.answers(task.program("some", 0.6)) == task.truth
    first = [int(item.id) for item in order_by_worth(task.items, labelled)][:4000]
    assert (labelled.truth[first] >= 0).all()
    assert abs(right[first].mean() - 0.6) < 4 * np.sqrt(0.24 / 4000)
