"""The paired test: its tangents, and what it does with every kind of input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oversight.harness import EstimateError
from oversight.harness.panel import assess_superhuman
from oversight.harness.panel.betting_test import betting_confidence, itself, pool_tangent, root
from oversight.harness.panel.ceiling import pool_ceiling
from oversight.harness.panel.ratings import make_panel_from_grid


@given(st.floats(0.02, 1), st.floats(0, 1))
def test_tangent_lies_above_its_ceiling(x0: float, x: float) -> None:
    at = np.array([x0])
    for tangent, ceiling in ((root, np.sqrt), (itself, lambda v: v)):
        c, slope = tangent(at)
        assert c[0] + slope[0] * (x - x0) >= ceiling(x) - 1e-12
    for C in (2, 5):
        inside = max(x, 1 / C)  # lower limit of the agreement of annotators from a pool
        c, slope = pool_tangent(C)(at)
        assert c[0] + slope[0] * (inside - x0) >= pool_ceiling(inside, C) - 1e-9


def test_confidence_is_high_in_a_clear_case_and_low_otherwise() -> None:
    x = np.tile([1.0, 1 / 3, 1.0], 100)
    assert betting_confidence(np.ones(300), x, root) > 0.9999
    assert betting_confidence(np.zeros(300), x, root) == 0.0
    assert betting_confidence(np.ones(300), np.ones(300), root) == pytest.approx(0.0, abs=0.05)
    assert betting_confidence(np.ones(1), np.zeros(1), itself) < 0.95


def test_the_order_is_drawn_by_the_seed() -> None:
    rng = np.random.default_rng(5)
    hits, x = (rng.random(400) < 0.95).astype(float), rng.choice([1 / 3, 1.0], size=400, p=[0.3, 0.7])
    found = [betting_confidence(hits, x, root, seed=s) for s in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    back = betting_confidence(np.sort(hits), x[np.argsort(hits)], root, seed=1)
    assert back > 0.9


def test_every_ceiling_has_its_paired_test() -> None:
    rng = np.random.default_rng(6)
    truth = rng.integers(3, size=900)
    grid = np.where(rng.random((900, 5)) < 0.8, truth[:, None], rng.integers(3, size=(900, 5)))
    grid[rng.random(grid.shape) < 0.2] = -1
    grid[:3, 1:] = -1  # items with only one label say nothing about agreement
    grid[:3, 0] = 0
    panel = make_panel_from_grid(grid, ["a", "b", "c"])
    found = assess_superhuman(panel, truth, test="paired", seed=4, pool=True)
    assert found.certified == ("U_star", "U_e", "U_panel", "U_t")
    assert all(c.tails == ("betting", "betting") for c in found.against.values())
    assert found.confidence == found.against["U_e"].confidence > 0.999
    assert assess_superhuman(panel, truth, test="paired", seed=4, pool=True) == found


@pytest.mark.parametrize(
    ("hits", "x", "message"),
    [
        ([1.0, 0.0], [1.0], r"the same shape \(n >= 1,\), have \(2,\) and \(1,\)"),
        ([], [], "the same shape"),
        ([1.0, 1.5], [1.0, 1.0], r"hits\[1\] must lie in \[0, 1\], is 1.5"),
        ([1.0, 1.0], [float("nan"), 1.0], r"x\[0\] must lie in \[0, 1\], is nan"),
    ],
)
def test_bad_input_is_refused(hits: list[float], x: list[float], message: str) -> None:
    with pytest.raises(EstimateError, match=message):
        betting_confidence(np.array(hits), np.array(x), root)
    panel = make_panel_from_grid(np.array([[0, 0], [1, 0]]), ["0", "1"])
    with pytest.raises(EstimateError, match="test must be one of split, paired, is 'both'"):
        assess_superhuman(panel, np.array([0, 1]), test="both")
