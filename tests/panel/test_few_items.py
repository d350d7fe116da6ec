"""Intervals of agreement and parity on few items: they cover, and say what is undefined."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from oversight.harness import IntArray
from oversight.harness.panel import Panel, Parity, krippendorff_alpha, measure_agreement, measure_parity
from oversight.harness.panel.ratings import make_panel_from_grid
from oversight.harness.report import agreement_to_json, parity_to_json

RUNS = 120
ROOM = 0.04
MANY = 60_000
SCORES = ("precision", "recall", "f1")


def draw(
    rng: np.random.Generator, n: int, rare: float, right: float, people: int, K: int = 2
) -> tuple[Panel, IntArray]:
    """People and a model who are right independently; the first class has a share of `rare`."""
    share = np.cumsum([rare, *[(1 - rare) / (K - 1)] * (K - 1)])
    truth = np.minimum(np.searchsorted(share, rng.random((n, 1))), K - 1)
    other = (truth + 1 + rng.integers(0, K - 1, (n, people + 1))) % K
    said = np.where(rng.random((n, people + 1)) < right, truth, other)
    return make_panel_from_grid(said[:, :people], "abcd"[:K]), said[:, people]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("n", "rare", "right", "people", "K"),
    [
        (5, 0.3, 0.9, 3, 2),
        (10, 0.1, 0.9, 3, 2),
        (20, 0.1, 0.9, 3, 2),
        (20, 0.1, 0.98, 3, 2),
        (30, 0.33, 0.8, 3, 3),
        (50, 0.05, 0.98, 2, 2),
    ],
)
def test_alpha_is_covered_on_few_items(n: int, rare: float, right: float, people: int, K: int) -> None:
    rng = np.random.default_rng(n)
    many = measure_agreement(draw(rng, MANY, rare, right, people, K)[0], bootstrap=0).alpha
    assert many is not None
    held, given = 0, 0
    for seed in range(RUNS):
        alpha = measure_agreement(draw(rng, n, rare, right, people, K)[0], bootstrap=200, seed=seed).alpha
        if alpha is not None:
            assert alpha.holds
            assert alpha.low is not None
            assert alpha.high is not None
            held, given = held + (alpha.low <= many.value <= alpha.high), given + 1
    assert held / given >= 0.95 - ROOM


@pytest.mark.parametrize(("n", "holds"), [(2, False), (3, False), (4, True)])
def test_alpha_has_no_interval_on_fewer_than_four_items(n: int, *, holds: bool) -> None:
    votes = np.array([[2, 0], [1, 1], [0, 2], [2, 0]])[:n]
    for cluster in (None, np.arange(n)):
        found = krippendorff_alpha(votes, bootstrap=100, cluster=cluster)
        assert found.holds == holds
        assert (found.low is not None) == holds
        assert holds or f"the number of these items is {n}" in found.why


def shares(found: Parity) -> dict[str, tuple[float, float, float]]:
    """Every interval of every bin by name: its value and ends."""
    named: dict[str, tuple[float, float, float]] = {}
    for b in (*found.bins, found.overall):
        assert b.detection is not None
        every = {"human": b.human, "model": b.model, "delta": b.delta, "F1 difference": b.detection.delta_f1}
        for who in ("human", "model"):
            every |= {f"{who} {s}": getattr(getattr(b.detection, who), s) for s in SCORES}
        named |= {f"{b.name}: {name}": (s.value, s.low, s.high) for name, s in every.items() if s}
    return named


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("n", "rare", "right", "people"), [(15, 0.3, 0.8, 3), (60, 0.1, 0.9, 5), (20, 0.5, 0.5, 5)]
)
def test_every_interval_of_parity_covers_on_few_items(n: int, rare: float, right: float, people: int) -> None:
    rng = np.random.default_rng(n)
    truth = shares(measure_parity(*draw(rng, MANY, rare, right, people), positive="a", bootstrap=2))
    held: Counter[str] = Counter()
    given: Counter[str] = Counter()
    for seed in range(RUNS):
        panel, model = draw(rng, n, rare, right, people)
        found = measure_parity(panel, model, positive="a", bootstrap=200, seed=seed)
        for name, (_, low, high) in shares(found).items():
            given[name] += 1
            held[name] += low - 1e-9 <= truth[name][0] <= high + 1e-9
    often = [name for name in given if given[name] > RUNS / 2]
    assert len(often) >= 20
    missed = {name: held[name] / given[name] for name in often if held[name] / given[name] < 0.95 - ROOM}
    assert not missed


def test_json_says_which_intervals_hold_and_why_scores_are_missing() -> None:
    grid = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]])
    panel = make_panel_from_grid(grid, ["a", "b"])
    told = parity_to_json(measure_parity(panel, np.zeros(5, dtype=np.int64), positive="b"), None)
    overall = told["overall"]
    for share in (overall["human"], overall["model"], overall["delta"], overall["detection"]["human"]["f1"]):
        assert (share["holds"], share["why"]) == (True, "")
    model = overall["detection"]["model"]
    assert (model["precision"], model["undefined"]) == (
        None,
        {"precision": "the class was given to no item"},
    )
    assert "no model's precision: the class was given to no item" in overall["notes"]
    alpha = agreement_to_json(measure_agreement(panel))["alpha"]
    assert (alpha["holds"], alpha["why"], alpha["notes"]) == (True, "", [])
    none = agreement_to_json(measure_agreement(panel, bootstrap=0))["alpha"]
    assert (none["holds"], none["low"]) == (False, None)
    assert none["why"] == "bootstrap is 0, so no interval was computed"


def test_intervals_allow_for_few_items_with_most_labels() -> None:
    """Two of 62 items have most of the labels, so intervals are as wide as those of about five items."""
    truth = np.arange(62) % 2
    grid = np.where(np.arange(100) < 2, truth[:, None], -1)
    grid[:2] = truth[:2, None]
    panel = make_panel_from_grid(grid, "ab")
    compared = measure_parity(panel, truth, bootstrap=1).overall
    alpha = measure_agreement(panel, bootstrap=400).alpha
    assert alpha is not None
    assert alpha.low is not None
    assert compared.human.low < 0.8
    assert compared.delta.low < -0.1
    assert alpha.low < 0.8
