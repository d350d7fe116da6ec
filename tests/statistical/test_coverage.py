"""Coverage by exact enumeration: all outcomes, their probabilities, their intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from benchmarks.papers.partitioned_maths import (
    complementary_radius,
    plugin_weight_radius,
    safe_plugin_weight,
)
from oversight.harness import EstimateError
from oversight.harness.estimate import BinomialSample
from oversight.harness.estimate.core import success_probability
from oversight.harness.estimate.estimators import make_point
from oversight.harness.estimate.intervals import make_interval, scale_by_share

pytestmark = [pytest.mark.statistical, pytest.mark.slow]

ACCURACIES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99)
SLACK = 1e-9
REFUSED = (math.inf, -math.inf)
Ends = tuple[float, float]
Method = Callable[[BinomialSample, BinomialSample], Ends]


def mass(K: float, n_o: int, n_c: int, A: float) -> NDArray[np.float64]:
    """Probability of every outcome, shape (n_o + 1, n_c + 1)."""
    p_o = binom.pmf(np.arange(n_o + 1), n_o, A)
    p_c = binom.pmf(np.arange(n_c + 1), n_c, success_probability(K, A))
    outer: NDArray[np.float64] = np.outer(p_o, p_c)
    return outer


def coverages(
    K: float, n_o: int, n_c: int, method: Method, accuracies: Sequence[float] = ACCURACIES
) -> NDArray[np.float64]:
    """Coverage at every accuracy; outcomes that are refused or all but impossible count as missed."""
    masses = [mass(K, n_o, n_c, A) for A in accuracies]
    seen = np.zeros(len(accuracies))
    for S_o, S_c in itertools.product(range(n_o + 1), range(n_c + 1)):
        chance = np.array([m[S_o, S_c] for m in masses])
        if chance.max() > 1e-7:
            low, high = method(BinomialSample(2, n_o, S_o), BinomialSample(K, n_c, S_c))
            seen += chance * [low - SLACK <= A <= high + SLACK for A in accuracies]
    return seen


def named(method: str, estimator: str = "ml", *, published: bool = False) -> Method:
    def ends(hits: BinomialSample, misses: BinomialSample) -> Ends:
        p = make_point(estimator, hits, (misses,) if misses.n else (), published=published)
        try:
            made = make_interval(p, method)
        except EstimateError:
            return REFUSED
        assert made.low < made.high
        return made.low, made.high

    return ends


@pytest.mark.parametrize("K", [3, 4, 5, 10, 16])
@pytest.mark.parametrize("n", [30, 88])
def test_exact_interval_covers_under_uniform_routing(K: int, n: int) -> None:
    n_o = round(n / K)
    found = coverages(K, n_o, n - n_o, named("exact"))
    assert found.min() >= 0.95 - 1e-4
    assert found.mean() < 0.975


def test_exact_interval_covers_just_outside_every_end() -> None:
    """Coverage is least there: the infimum over all A, not only over a grid."""
    K, n_o, n_c = 4, 8, 22
    outcomes = itertools.product(range(n_o + 1), range(n_c + 1))
    ends = [named("exact")(BinomialSample(2, n_o, S_o), BinomialSample(K, n_c, S_c)) for S_o, S_c in outcomes]
    lows, highs = (np.array(e).reshape(n_o + 1, n_c + 1) for e in zip(*ends, strict=True))
    for A in {*(low - 1e-9 for low, _ in ends), *(high + 1e-9 for _, high in ends)}:
        if 0 < A < 1:
            assert mass(K, n_o, n_c, A)[(lows <= A) & (highs >= A)].sum() >= 0.95 - 1e-9


@pytest.mark.parametrize(("K", "n", "A"), [(4, 120, 0.7), (10, 300, 0.9), (16, 300, 0.99), (3, 300, 0.95)])
def test_exact_interval_covers_with_more_labels(K: int, n: int, A: float) -> None:
    n_o = round(n / K)
    assert coverages(K, n_o, n - n_o, named("exact"), (A,)).min() >= 0.95 - 2e-4


@pytest.mark.parametrize("K", [3, 4, 5, 10, 16])
@pytest.mark.parametrize("n", [30, 88, 120, 300])
def test_exact_interval_covers_with_refusals_alone(K: int, n: int) -> None:
    found = coverages(K, 0, n, named("exact", "comp"))
    assert found.min() >= 0.95 - 1e-5
    assert found.mean() < 0.985


@pytest.mark.parametrize("n", [30, 88, 300])
def test_blakers_interval_covers_and_is_narrower_for_targeted_labels(n: int) -> None:
    assert coverages(2, n, 0, named("exact")).min() >= 0.95 - 1e-6
    wider = coverages(2, n, 0, named("clopper_pearson", "ord"))
    assert coverages(2, n, 0, named("exact")).mean() < wider.mean()


@pytest.mark.parametrize(
    ("method", "least", "mean"),
    [
        ("score", 0.86, (0.943, 0.960)),
        ("likelihood_ratio", 0.82, (0.935, 0.965)),
        ("wald", 0.03, (0.80, 0.95)),
    ],
)
def test_approximate_methods_miss_near_the_edge(method: str, least: float, mean: Ends) -> None:
    """Right on average, not everywhere: why they are not the default."""
    found = np.concatenate([coverages(K, 22, 66, named(method)) for K in (4, 10)])
    assert least <= found.min() < 0.945
    assert mean[0] <= found.mean() <= mean[1]


@pytest.mark.parametrize(
    ("method", "least", "mean"),
    [
        ("wilson", 0.84, (0.94, 0.96)),
        ("jeffreys", 0.85, (0.945, 0.975)),
        ("clopper_pearson", 0.95, (0.955, 0.99)),
        ("wald", 0.75, (0.92, 0.955)),  # with an error that is never zero
    ],
)
def test_intervals_from_refusals_alone_have_the_stated_coverage(
    method: str, least: float, mean: Ends
) -> None:
    found = np.concatenate(
        [coverages(K, 0, n, named(method, "comp")) for K in (4, 10, 16) for n in (30, 120)]
    )
    assert least <= found.min()
    assert mean[0] <= found.mean() <= mean[1]


@pytest.mark.parametrize("estimator", ["comp", "ml"])
def test_published_wald_breaks_down(estimator: str) -> None:
    """An error of 0 where no refusal hit the prediction: the interval would be a point and is refused."""
    n_o = 22 if estimator == "ml" else 0
    found = coverages(4, n_o, 66, named("wald", estimator, published=True))
    assert found.min() < 0.65
    assert found.mean() < 0.93


@pytest.mark.parametrize("K", [4, 16])
def test_hoeffding_and_bernstein_hold_everywhere(K: int) -> None:
    for method in ("hoeffding", "bernstein"):
        for estimator in ("ivw", "ml"):
            assert coverages(K, 12, 40, named(method, estimator)).min() > 0.995


def test_theorem_2_holds_with_the_halved_error() -> None:
    def corrected(_: BinomialSample, c: BinomialSample) -> Ends:
        half = complementary_radius(c.K, c.S, c.n, 0.05)
        A = (c.K - 1) * c.S / c.n - (c.K - 2)
        return A - half, A + half

    assert coverages(4, 0, 88, corrected).min() > 0.995


def test_plug_in_bernstein_of_eq_16_is_safe_and_wide() -> None:
    """No theorem behind it; by enumeration its error is far below the .05 asked for."""
    widths: list[float] = []

    def heuristic(hits: BinomialSample, misses: BinomialSample) -> Ends:
        w = safe_plugin_weight(misses.K, hits.S, hits.n, misses.S, misses.n)
        A = w * hits.S / hits.n + (1 - w) * ((misses.K - 1) * misses.S / misses.n - (misses.K - 2))
        half = plugin_weight_radius(hits, misses, 0.05)
        score = make_interval(make_point("ml", hits, (misses,)), "score")
        widths.append(2 * half / (score.high - score.low))
        return A - half, A + half

    assert coverages(4, 12, 36, heuristic).min() > 0.98
    assert math.fsum(widths) / len(widths) > 1.4


@pytest.mark.parametrize("K", [4, 10])
def test_exact_interval_covers_with_unreadable_predictions(K: int) -> None:
    """All numbers of readable items, and all outcomes given that number, at 24 labelled items."""
    N = 24
    shares = (0.999, 0.97, 0.9, 0.8)
    accuracies = (0.3, 0.6, 0.85, 0.95, 0.99)
    seen = np.zeros((len(shares), len(accuracies)))
    for n_r in range(8, N + 1):
        n_o = round(n_r / K)
        n_c = n_r - n_o
        masses = [mass(K, n_o, n_c, A) for A in accuracies]
        weights = binom.pmf(n_r, N, shares)
        for S_o, S_c in itertools.product(range(n_o + 1), range(n_c + 1)):
            chance = np.array([m[S_o, S_c] for m in masses])
            if chance.max() * weights.max() < 1e-7:
                continue
            p = make_point("ml", BinomialSample(2, n_o, S_o), (BinomialSample(K, n_c, S_c),))
            made = make_interval(p)
            low, high = made.low, made.high
            if n_r < N:
                inner = min(high, max(low, p.value))
                _, low, high = scale_by_share(n_r / N, N, inner, low, high, 0.95)
            truth = np.outer(shares, accuracies)
            seen += np.outer(weights, chance) * ((low - SLACK <= truth) & (truth <= high + SLACK))
    assert seen.min() >= 0.95 - 1e-4


@pytest.mark.parametrize("K", [4, 16])
def test_labels_of_the_same_items_are_no_independent_sets(K: int) -> None:
    """An ordinary label and all K − 1 refusals of every item: A_comp is A_ord, no second sample.

    Counted as two samples, the interval is too short by up to √2; as trials by item (see `tally`)
    the refusals add nothing, as they should.
    """
    n, A = 60, 0.9
    covered = np.zeros(2)
    for S, chance in enumerate(binom.pmf(np.arange(n + 1), n, A).tolist()):
        doubled = BinomialSample(K, n * (K - 1), n * (K - 1) - (n - S))
        two, one = (
            make_interval(make_point("ml", BinomialSample(2, n, S), m), "score") for m in ((doubled,), ())
        )
        covered += chance * np.array([two.low <= A <= two.high, one.low <= A <= one.high])
    assert covered[0] < 0.9
    assert covered[1] > 0.94
