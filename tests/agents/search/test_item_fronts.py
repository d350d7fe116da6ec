"""Parents by items: whoever is best on some, as often as it is."""

from __future__ import annotations

import asyncio
from collections import Counter

import numpy as np
import pytest

from benchmarks._simulated_search import World
from oversight.agents.search import search
from oversight.agents.search.checked_settings import check_settings
from oversight.agents.search.fitness import count_fronts
from oversight.agents.search.policies import Recombine, Wordings
from oversight.agents.search.policies.proposal import draw_any, draw_leader
from oversight.harness import ConfigError
from oversight.harness.config import SearchSection


def test_only_the_best_on_an_item_count_there() -> None:
    nan = np.nan
    scores = np.array([[[1, -3, nan, nan], [1, 1, nan, nan], [-3, -3, 1, nan]]], dtype=float)
    assert count_fronts(["a", "b", "c"], scores) == {"a": 1, "b": 2, "c": 1}
    twice = np.array([[[1.0, 1.0], [1.0, -3.0]], [[-3.0, 1.0], [1.0, np.nan]]])
    assert count_fronts(["a", "b"], twice) == {"a": 1, "b": 1}


def test_parents_are_drawn_as_often_as_they_are_best() -> None:
    world = World(kind="ordinary", section=SearchSection(candidates=0, parents="pareto"))
    asyncio.run(search(world.state, Recombine(Wordings.bundled())))
    board = world.state.board()
    fronts = world.state.view(board, 0).fronts
    assert fronts is not None
    right = np.array([world.task.answers(p)[:120] == world.task.truth[:120] for p in world.library])
    some = right.any(axis=0)
    expected = {p.id: int((right[j] & some).sum() + (~some).sum()) for j, p in enumerate(world.library)}
    assert fronts == expected
    for draw in (draw_leader, draw_any):
        drawn = Counter(draw(world.state.view(board, slot)).program.id for slot in range(600))
        for name, number in fronts.items():
            share = number / sum(fronts.values())
            assert abs(drawn[name] / 600 - share) < 4 * np.sqrt(share * (1 - share) / 600)


def test_leaders_stay_the_default() -> None:
    world = World(section=SearchSection(candidates=0))
    asyncio.run(search(world.state, Recombine(Wordings.bundled())))
    assert world.state.view(world.state.board(), 0).fronts is None


def test_a_policy_without_parents_refuses_the_option() -> None:
    world = World(section=SearchSection(policy="adas", parents="pareto"))
    with pytest.raises(ConfigError, match="parents = 'pareto' says nothing"):
        check_settings(world.state.section)
