"""Certainty strata: a panel's votes make them, and they narrow the estimate."""

from __future__ import annotations

import numpy as np
import pytest

import oversight as ov
from oversight.harness.panel import stratify_by_certainty
from oversight.harness.panel.ratings import make_panel_from_grid
from oversight.harness.types import Label, LabelKind, Prediction


def test_strata_are_bins_of_certainty() -> None:
    grid = np.array([[0, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 1, 1], [0, 1, 0, 1, 0]])
    panel = make_panel_from_grid(grid, ["a", "b"])
    assert list(stratify_by_certainty(panel).values()) == ["p > 0.9", "0.7 < p ≤ 0.9", "p ≤ 0.7", "p ≤ 0.7"]


@pytest.mark.statistical
def test_strata_narrow_the_estimate_and_cover() -> None:
    """A panel of five and exact experts of the predicted class: more questions where the vote is unsure."""
    rng = np.random.default_rng(0)
    N, n, runs = 4000, 300, 150
    easy = rng.random(N) < 0.6
    votes = rng.random((N, 5)) < np.where(easy, 0.99, 0.65)[:, None]
    panel = make_panel_from_grid(np.where(votes, 0, 1), ["a", "b"])
    names = stratify_by_certainty(panel)
    strata = np.array([names[i] for i in panel.items])
    right = rng.random(N) < np.where(easy, 0.98, 0.55)
    A = right.mean()
    rows = {str(h): np.flatnonzero(strata == h) for h in np.unique(strata)}
    spread = {h: len(at) * right[at].std() for h, at in rows.items()}
    given = {h: max(2, round(n * spread[h] / sum(spread.values()))) for h in rows}
    values: dict[str, list[float]] = {"plain": [], "strata": []}
    held = 0
    predictions = [Prediction(i, 0) for i in panel.items]
    for _ in range(runs):
        values["plain"].append(float(right[rng.choice(N, n, replace=False)].mean()))
        drawn = np.concatenate([rng.choice(rows[h], k, replace=False) for h, k in given.items()])
        labels = [Label(panel.items[j], 0 if right[j] else 1, LabelKind.ORDINARY, 2, 1.0) for j in drawn]
        found = ov.accuracy(predictions, labels, strata=names, estimator="ord")
        values["strata"].append(found.value)
        held += found.low <= A <= found.high
    assert np.std(values["strata"]) < 0.93 * np.std(values["plain"])
    assert np.mean(values["strata"]) == pytest.approx(A, abs=0.006)
    assert held / runs >= 0.91
