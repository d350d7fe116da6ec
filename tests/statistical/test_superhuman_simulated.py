"""Superhuman certification by simulation: error and power of the tests, bounds that hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from oversight.harness import FloatArray
from oversight.harness.panel import assess_superhuman, assess_superhuman_from_counts
from oversight.harness.panel.betting_test import betting_confidence, root
from oversight.harness.panel.ceiling import empirical, pool_ceiling
from oversight.harness.panel.certificate import Evidence, certify, lower_bound, optimal_score
from oversight.harness.panel.ratings import make_panel_from_grid

pytestmark = [pytest.mark.statistical, pytest.mark.slow]


@pytest.mark.parametrize("C", [2, 4])
def test_no_annotator_pool_exceeds_the_ceiling(C: int) -> None:
    rng = np.random.default_rng(C)
    for concentration in (0.1, 0.5, 2.0):
        p = rng.dirichlet(np.full(C, concentration), size=4000)
        x = float((p**2).sum(axis=1).mean())
        assert p.max(axis=1).mean() <= pool_ceiling(x, C) <= empirical(x) + 1e-12


def test_certificate_keeps_its_type_one_error() -> None:
    """On the boundary L = U(e) itself, the least favourable place, with the binary three-vote X."""
    rng = np.random.default_rng(7)
    N, U, runs = 1821, 0.939, 800
    false_alarms = 0
    split = 1.5 * (1 - U * U)
    for _ in range(runs):
        hits, splits = rng.binomial(N, U), rng.binomial(N, split)
        found = certify(Evidence(L=hits / N, x=1 - splits / N * 2 / 3, N=N, m=3, C=2), ["U_e"])
        false_alarms += found["U_e"].confidence >= 0.95
    assert false_alarms / runs <= 0.05


def test_certificate_has_more_power_than_the_published_score() -> None:
    rng = np.random.default_rng(8)
    N, U, L, runs = 1821, 0.939, 0.965, 150
    split, rigorous, published = 1.5 * (1 - U * U), 0, 0
    for _ in range(runs):
        l_hat, x = rng.binomial(N, L) / N, 1 - rng.binomial(N, split) / N * 2 / 3
        rigorous += certify(Evidence(L=l_hat, x=x, N=N, m=3, C=2), ["U_e"])["U_e"].confidence >= 0.95
        published += (optimal_score(l_hat, math.sqrt(x), N) or 0) >= 0.95
    assert rigorous / runs > 0.9
    assert published / runs < 0.1


@pytest.mark.parametrize("m", [2, 3, 5])
def test_the_panels_own_ceiling_needs_no_assumption(m: int) -> None:
    """The bound holds for annotators who copy each other and err together with different skills."""
    rng = np.random.default_rng(m)
    truth = rng.integers(3, size=5000)
    trap = (truth + rng.integers(1, 3, size=5000)) % 3
    fooled = rng.random((5000, m)) < np.linspace(0.05, 0.6, m)
    grid = np.where(fooled & (rng.random(5000) < 0.5)[:, None], trap[:, None], truth[:, None])
    found = assess_superhuman(make_panel_from_grid(grid, ["a", "b", "c"]), truth, oracle=truth)
    assert found.check is not None
    assert found.check.human_accuracy <= found.U_panel <= found.U_t
    squared = ((grid == truth[:, None]).mean(axis=1) ** 2).mean()
    assert found.check.human_accuracy**2 <= squared <= found.U_t**2
    counted = assess_superhuman_from_counts(found.L, found.U_e, 5000, m, 3)
    assert counted.U_panel >= found.U_panel - 1e-9


def test_type_one_error_against_the_panels_own_ceiling() -> None:
    """Five votes, a model exactly as good as the ceiling says annotators might be."""
    rng = np.random.default_rng(11)
    runs, N, alarms = 400, 300, 0
    for _ in range(runs):
        share = rng.choice([0.6, 0.8, 1.0], p=[0.2, 0.2, 0.6], size=N)
        hits = rng.random(N) < 0.88
        e = Evidence(L=float(hits.mean()), x=0.7, N=N, m=5, C=2, largest=float(share.mean()))
        alarms += certify(e, ["U_panel"])["U_panel"].confidence >= 0.95
    assert alarms / runs <= 0.05


def on_the_boundary(rng: np.random.Generator, n: int, U: float) -> tuple[FloatArray, FloatArray]:
    """A model whose agreement is U(e) itself, and three binary votes an item."""
    x = np.where(rng.random(n) < 1.5 * (1 - U * U), 1 / 3, 1.0)
    return (rng.random(n) < U).astype(np.float64), x


def z_after_a_pilot(hits: FloatArray, x: FloatArray) -> float:
    """p of the paired mean by a normal approximation, U0 from the first fifth of the items."""
    pilot = len(x) // 5
    U0 = math.sqrt(float(x[:pilot].mean()))
    z = (hits - x / (2 * U0) - U0 / 2)[pilot:]
    return float(stats.norm.sf(z.mean() / (z.std(ddof=1) / math.sqrt(len(z)))))


def test_type_one_error_of_the_paired_test() -> None:
    """Betting keeps its level where the normal approximation, from a pilot, does not quite."""
    rng = np.random.default_rng(21)
    runs, betting, normal = 1500, 0, 0
    for _ in range(runs):
        hits, x = on_the_boundary(rng, 600, 0.939)
        betting += betting_confidence(hits, x, root) >= 0.95
        normal += z_after_a_pilot(hits, x) <= 0.05
    assert betting / runs <= 0.05
    assert 0.04 <= normal / runs <= 0.085


def test_paired_test_has_more_power_than_two_tails() -> None:
    """On the same items, two tails lose what the mean of differences keeps."""
    rng = np.random.default_rng(22)
    runs, N, paired, split = 120, 1821, 0, 0
    for _ in range(runs):
        right = rng.random((N, 3)) < 0.94
        model = rng.random(N) < 0.965
        votes = right.sum(axis=1)
        hits = ((votes >= 2) == model).astype(np.float64)
        x = np.where(votes % 3 == 0, 1.0, 1 / 3)
        paired += betting_confidence(hits, x, root) >= 0.95
        e = Evidence(L=float(hits.mean()), x=float(x.mean()), N=N, m=3, C=2)
        split += certify(e, ["U_e"])["U_e"].confidence >= 0.95
    assert paired / runs > 0.5
    assert split / runs < 0.4


@pytest.mark.parametrize("test", ["split", "paired"])
def test_certifying_by_any_ceiling_keeps_the_level(test: str) -> None:
    """All four ceilings are looked at; a model as good as the average annotator is not called better.

    Annotators from a pool never err together here, so that the aggregate is the truth and L the model's
    accuracy: the least favourable case.
    """
    rng = np.random.default_rng(23)
    runs, N, alarms = 250, 300, 0
    for _ in range(runs):
        skill = np.where(rng.random(N) < 0.9, 1.0, 0.7)  # the accuracy of any annotator on this item
        grid = np.where(rng.random((N, 15)) < skill[:, None], 0, 1)
        model = np.where(rng.random(N) < 0.97, 0, 1)
        alarms += bool(
            assess_superhuman(make_panel_from_grid(grid, ["0", "1"]), model, pool=True, test=test).certified
        )
    assert alarms / runs <= 0.05


@pytest.mark.parametrize(("m", "C"), [(3, 2), (5, 3)])
def test_both_bounds_have_their_coverage(m: int, C: int) -> None:
    """One-sided, at 95 %: exact tails near it, Chernoff's above it."""
    rng = np.random.default_rng(24)
    runs, N, skill, held = 300, 400, 0.85, np.zeros(3)
    agree = skill**2 + (1 - skill) ** 2 / (C - 1)
    for _ in range(runs):
        grid = np.where(rng.random((N, m)) < skill, 0, rng.integers(1, C, size=(N, m)))
        votes = np.stack([(grid == c).sum(axis=1) for c in range(C)], axis=1)
        x = float((votes * (votes - 1)).sum(axis=1).mean() / (m * (m - 1)))
        e = Evidence(L=rng.binomial(N, 0.9) / N, x=x, N=N, m=m, C=C)
        found = certify(e, ["U_e", "U_star"])
        held += (
            lower_bound(e) <= 0.9,
            found["U_e"].high >= empirical(agree),
            found["U_star"].high >= pool_ceiling(agree, C),
        )
    assert (held / runs >= 0.93).all()
