"""Certainty strata: who gets the labels, what noise costs, and the estimate that takes both together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oversight import harness
from oversight.harness import EstimateError
from oversight.harness.panel import (
    describe_strata,
    make_panel_from_grid,
    neyman_allocation,
    stratify_by_certainty,
)
from oversight.harness.panel.ratings.certainty_strata import noise_factor
from oversight.harness.types import Label, LabelKind, Prediction


def test_noise_costs_what_the_notes_say() -> None:
    for p, factor in ((0.95, 1.4), (0.9, 1.9), (0.8, 3.8), (0.7, 9.2)):
        assert round(noise_factor(p), 1) == factor
    assert int(noise_factor(0.6)) == 38
    assert noise_factor(1.0) == pytest.approx(1)
    with pytest.raises(EstimateError, match=r"at 1/2 an answer says nothing"):
        noise_factor(0.5)
    with pytest.raises(EstimateError, match="accuracy must lie"):
        noise_factor(0.9, 1.0)


def test_neyman_is_the_best_split_by_search() -> None:
    sizes, variances, n = {"a": 500, "b": 300, "c": 200}, {"a": 0.02, "b": 0.2, "c": 0.25}, 60

    def variance(counts: dict[str, int]) -> float:
        return sum((size / 1000) ** 2 * variances[h] / counts[h] for h, size in sizes.items())

    given = neyman_allocation(sizes, variances, n)
    assert sum(given.values()) == n
    best = min(
        variance({"a": a, "b": b, "c": n - a - b}) for a in range(2, n - 4) for b in range(2, n - a - 1)
    )
    assert variance(given) == pytest.approx(best, rel=2e-3)
    even = {"a": 30, "b": 18, "c": 12}
    assert variance(even) > 1.2 * best


def test_neyman_keeps_to_what_there_is() -> None:
    given = neyman_allocation({"a": 5, "b": 1000}, {"a": 0.25, "b": 0.0}, 100)
    assert given == {"a": 5, "b": 95}
    assert neyman_allocation({"a": 1, "b": 50}, {"a": 0.1, "b": 0.1}, 4) == {"a": 1, "b": 3}
    with pytest.raises(EstimateError, match=r"n must lie in 4..1005, is 3"):
        neyman_allocation({"a": 5, "b": 1000}, {"a": 0.25, "b": 0.0}, 3)
    with pytest.raises(EstimateError, match="stratum 'b' needs a number of at least 0, has None"):
        neyman_allocation({"a": 5, "b": 10}, {"a": 0.25}, 5)


def test_strata_are_described() -> None:
    grid = np.array([[0, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 1, 1], [0, 1, 0, 1, 0]])
    panel = make_panel_from_grid(grid, ["a", "b"])
    assert list(stratify_by_certainty(panel).values()) == ["p > 0.9", "0.7 < p ≤ 0.9", "p ≤ 0.7", "p ≤ 0.7"]
    low, middle, high = describe_strata(panel)
    assert (low.items, low.resolvable, low.p_d) == (2, False, 0.6)
    assert middle.resolvable
    assert high.noise == pytest.approx(1)
    halves = make_panel_from_grid(np.array([[0, 1]]), ["a", "b"])
    assert describe_strata(halves)[0].noise == math.inf


@pytest.mark.statistical
def test_strata_with_neyman_narrow_the_estimate_and_cover() -> None:
    """A panel of five and exact experts of the predicted class: same questions, three ways to spend."""
    rng = np.random.default_rng(0)
    N, n, runs = 4000, 300, 150
    easy = rng.random(N) < 0.6
    votes = rng.random((N, 5)) < np.where(easy, 0.99, 0.65)[:, None]
    panel = make_panel_from_grid(np.where(votes, 0, 1), ["a", "b"])
    names = stratify_by_certainty(panel)
    strata = np.array([names[i] for i in panel.items])
    right = rng.random(N) < np.where(easy, 0.98, 0.55)
    A = right.mean()
    sizes = {str(h): int((strata == h).sum()) for h in np.unique(strata)}
    rate = {h: float(right[strata == h].mean()) for h in sizes}
    given = neyman_allocation(sizes, {h: r * (1 - r) for h, r in rate.items()}, n)
    values: dict[str, list[float]] = {"plain": [], "neyman": []}
    held = 0
    predictions = [Prediction(i, 0) for i in panel.items]
    for _ in range(runs):
        values["plain"].append(float(right[rng.choice(N, n, replace=False)].mean()))
        drawn = np.concatenate(
            [rng.choice(np.flatnonzero(strata == h), k, replace=False) for h, k in given.items()]
        )
        labels = [Label(panel.items[j], 0 if right[j] else 1, LabelKind.ORDINARY, 2, 1.0) for j in drawn]
        found = harness.accuracy(predictions, labels, strata=names, estimator="ord")
        values["neyman"].append(found.value)
        held += found.low <= A <= found.high
    assert np.std(values["neyman"]) < 0.93 * np.std(values["plain"])
    assert np.mean(values["neyman"]) == pytest.approx(A, abs=0.006)
    assert held / runs >= 0.91
