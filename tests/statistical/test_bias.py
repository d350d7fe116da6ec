"""Bias and coverage of whole procedures: by enumeration where it can be had, else simulated."""

from __future__ import annotations

import itertools
import math
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from oversight.harness.columns import PredictionColumns
from oversight.harness.estimate import BinomialSample, run_checks
from oversight.harness.estimate.core import success_probability
from oversight.harness.estimate.estimators import closed_form, information, plugin_weight
from oversight.harness.estimate.tallies import Tallies, estimate_tallies, tally
from oversight.harness.types import Estimate, Label, LabelKind, Prediction
from tests.label_columns import label_columns

pytestmark = [pytest.mark.statistical, pytest.mark.slow]

Ints = NDArray[np.int64]


def draw(rng: np.random.Generator, K: Ints, A: NDArray[np.float64]) -> tuple[Ints, Ints]:
    """Truth and prediction of every item, right with probability A."""
    truth = rng.integers(0, K)
    wrong = (truth + rng.integers(1, K)) % K
    return truth, np.where(rng.random(K.size) < A, truth, wrong)


def mean_of(estimator: str, K: int, n_o: int, n_c: int, A: float) -> float:
    """E Â over all outcomes."""
    p_o = binom.pmf(np.arange(n_o + 1), n_o, A)
    p_c = binom.pmf(np.arange(n_c + 1), n_c, success_probability(K, A))
    terms = []
    for S_o, S_c in itertools.product(range(n_o + 1), range(n_c + 1)):
        if estimator == "ml":
            value = closed_form(K, S_o, n_o, S_c, n_c)
        elif S_o in (0, n_o) and S_c in (0, n_c):
            value = S_o / n_o  # neither varies: the weight would be 0/0, but both estimates are 1
        else:
            w = plugin_weight(K, S_o, n_o, S_c, n_c)
            value = w * S_o / n_o + (1 - w) * ((K - 1) * S_c / n_c - (K - 2))
        terms.append(float(p_o[S_o] * p_c[S_c]) * value)
    return math.fsum(terms)


@pytest.mark.parametrize(
    ("K", "n_o", "n_c", "A", "plug_in"), [(4, 30, 90, 0.9, 0.015), (10, 12, 108, 0.8, 0.035)]
)
def test_plug_in_weights_bias_upwards_and_ml_does_not(
    K: int, n_o: int, n_c: int, A: float, plug_in: float
) -> None:
    assert mean_of("ivw", K, n_o, n_c, A) - A == pytest.approx(plug_in, abs=0.001)
    assert abs(mean_of("ml", K, n_o, n_c, A) - A) < 0.001


@pytest.mark.parametrize("K", [3, 4, 5, 10, 16])
@pytest.mark.parametrize("n", [30, 88, 120, 300])
def test_ml_has_little_bias(K: int, n: int) -> None:
    """Small beside its error everywhere; with two or three ordinary labels it can be 1 to 3 points."""
    n_o = max(1, round(n / K))
    parts = (BinomialSample(2, n_o, 0), BinomialSample(K, n - n_o, 0))
    for A in (0.5, 0.8, 0.95):
        bias = abs(mean_of("ml", K, n_o, n - n_o, A) - A)
        assert bias < 0.15 / sum(information(p, A) for p in parts) ** 0.5
        if n >= 88:
            assert bias < 0.25 / n


def simulate(
    runs: int, n: int, K: Ints, A: NDArray[np.float64], ask: float | None, m: int, seed: int
) -> list[Estimate]:
    """Whole studies of n items: m options drawn uniformly, or the prediction with probability `ask`."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        truth, y_hat = draw(rng, K, A)
        if ask is None:
            order = np.argsort(np.where(np.arange(K.max()) < K[:, None], rng.random((n, K.max())), 2), axis=1)
            option: Ints = order[:, :m].ravel()
        else:
            other = (y_hat + rng.integers(1, K)) % K
            option = np.where(rng.random(n) < ask, y_hat, other)
        item = np.repeat(np.arange(n), m)
        kind = (option == truth[item]).astype(np.int64)
        labels = label_columns(option, kind, K, item)
        model = PredictionColumns(index=labels.index, option=y_hat)
        found.append(estimate_tallies(tally(model, labels, split="answers" if ask is None else "questions")))
    return found


def one_each(
    y_hat: Ints, option: Ints, yes: NDArray[np.bool_], K: Ints, split: Literal["auto", "answers"] = "auto"
) -> Tallies:
    """One question about every item."""
    labels = label_columns(option, yes.astype(np.int64), K, np.arange(K.size))
    return tally(PredictionColumns(index=labels.index, option=y_hat), labels, split=split)


def assert_calibrated(found: list[Estimate], A: float, least: float = 0.945) -> None:
    """No bias beyond four standard errors; coverage, with three errors of its own, at least `least`."""
    values = np.array([e.value for e in found])
    assert abs(values.mean() - A) < 4 * values.std() / math.sqrt(values.size)
    covered = np.mean([e.low <= A <= e.high for e in found])
    assert covered > least - 3 * math.sqrt(0.05 * 0.95 / values.size)


@pytest.mark.parametrize(("K", "m", "A"), [(4, 1, 0.8), (4, 2, 0.8), (10, 4, 0.6), (16, 15, 0.3)])
def test_several_options_per_item_are_unbiased(K: int, m: int, A: float) -> None:
    sizes = np.full(120, K)
    assert_calibrated(simulate(300, 120, sizes, np.full(120, A), None, m, seed=K * m), A)


@pytest.mark.parametrize("ask", [0.1, 0.5, 0.8, 1.0])
def test_routing_by_the_prediction_is_unbiased(ask: float) -> None:
    """P(hit) from .1 to 1, conditioned on what was asked: unbiased, with the right interval."""
    sizes = np.full(150, 10)
    assert_calibrated(simulate(300, 150, sizes, np.full(150, 0.7), ask, 1, seed=int(100 * ask)), 0.7)


@pytest.mark.parametrize("accuracies", [(0.8, 0.6), (0.7, 0.7)])
def test_mixed_k_is_stratified(accuracies: tuple[float, float]) -> None:
    """Half the items with 4 options, half with 10; pooled, yes over-represents K = 4."""
    sizes = np.repeat([4, 10], 150)
    A = np.repeat(accuracies, 150).astype(np.float64)
    found = simulate(300, 300, sizes, A, None, 1, seed=9)
    assert_calibrated(found, sum(accuracies) / 2)


def test_pooling_mixed_k_is_biased() -> None:
    """The estimates that ignore K: naively pooled, .8/.6 come out several points off."""
    rng = np.random.default_rng(2)
    sizes = np.repeat([4, 10], 150_000)
    truth, y_hat = draw(rng, sizes, np.repeat([0.8, 0.6], 150_000))
    option = rng.integers(0, sizes)
    yes, hit = option == truth, option == y_hat
    pooled_ord = np.count_nonzero(yes & hit) / np.count_nonzero(yes)
    assert pooled_ord - 0.7 == pytest.approx(0.043, abs=0.01)
    t = one_each(y_hat, option, yes, sizes)
    stratified = estimate_tallies(t, estimator="ord", interval="wald")
    assert stratified.value == pytest.approx(0.7, abs=0.01)


def test_unreadable_predictions_scored_as_known_wrong_bias_downwards() -> None:
    """Only wrong items get resolved that way: −14 points at K = 4, A = .6, a fifth unreadable."""
    rng = np.random.default_rng(8)
    n = 400_000
    K = np.full(n, 4)
    truth, y_hat = draw(rng, K, np.full(n, 0.75))
    y_hat = np.where(rng.random(n) < 0.2, -1, y_hat)
    option = rng.integers(0, K)
    t = one_each(y_hat, option, option == truth, K)
    (s,) = t.strata
    naive = closed_form(4, s.S_o, s.n_o + s.n_unreadable, s.S_c, s.n_c)
    assert naive == pytest.approx(0.457, abs=0.005)
    for estimator in ("ml", "ord", "comp"):
        found = estimate_tallies(t, estimator=estimator, interval="wald").value
        assert found == pytest.approx(0.6, abs=0.006), estimator


def test_conditioning_on_answers_fails_under_targeted_routing() -> None:
    """By answers every yes is a hit: A_ord would be 1 whatever the accuracy."""
    found = simulate(3, 500, np.full(500, 4), np.full(500, 0.7), 1.0, 1, seed=4)
    assert max(e.value for e in found) < 0.8
    rng = np.random.default_rng(4)
    truth, y_hat = draw(rng, np.full(500, 4), np.full(500, 0.7))
    t = one_each(y_hat, y_hat, y_hat == truth, np.full(500, 4), "answers")
    assert estimate_tallies(t, estimator="ord").value == 1.0


def test_checks_rarely_fail_on_sound_data() -> None:
    """Each of the family below 1 %, the whole family below 5 %, on data as supposed."""
    rng = np.random.default_rng(11)
    failures = {"asked_predicted": 0, "yes_rate": 0, "hausman": 0}
    any_failed = 0
    runs = 300
    for _ in range(runs):
        truth, y_hat = draw(rng, np.full(200, 4), np.full(200, 0.8))
        option = rng.integers(0, 4, 200)
        predictions = [Prediction(str(i), int(y)) for i, y in enumerate(y_hat)]
        labels = [
            Label(str(i), int(o), LabelKind.ORDINARY if o == t else LabelKind.COMPLEMENTARY, 4, 0.25)
            for i, (o, t) in enumerate(zip(option, truth, strict=True))
        ]
        failed = {c.name for c in run_checks(predictions, labels) if c.state == "failed"}
        for name in failures:
            failures[name] += name in failed
        any_failed += bool(failed)
    assert max(failures.values()) / runs < 0.03
    assert any_failed / runs < 0.05
