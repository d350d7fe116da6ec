"""How good a judge is, against numbers computed by hand and by simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import ItemIndex, PredictionColumns
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import clopper_pearson
from oversight.harness.judges import (
    PREDICTIONS,
    JudgedQuestions,
    JudgeProbabilities,
    Measure,
    area_under_curve,
    calibration,
    error_dependence,
    judge_quality,
    share_of_samples,
    weighted_share,
)
from oversight.harness.judges.study_judges import judge_verdict

LEVEL = 0.95


def ask_about(option: IntArray, answer: IntArray, weight: FloatArray | None = None) -> JudgedQuestions:
    """One question per item."""
    n = len(option)
    return JudgedQuestions(
        item=np.arange(n),
        option=option,
        answer=answer.astype(np.float64),
        weight=np.ones(n) if weight is None else weight,
        cluster=np.arange(n),
        scope=PREDICTIONS,
    )


def width(found: Measure) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


def test_share_of_equal_weights_is_the_exact_binomial() -> None:
    found = weighted_share(np.repeat([1.0, 0.0], [3, 9]), np.full(12, 7.0), np.arange(12))
    assert found.value == pytest.approx(0.25)
    assert (found.low, found.high) == clopper_pearson(3, 12, LEVEL)


def test_share_of_few_answers_is_withheld_with_the_number() -> None:
    found = weighted_share(np.ones(4), np.ones(4), np.arange(4))
    assert found.value is None
    assert found.why == "4 answers, at least 5 are needed"


def test_questions_of_one_cluster_widen_the_share() -> None:
    yes, weight = np.tile([1.0, 0.0, 0.0, 1.0], 20), np.ones(80)
    alone = weighted_share(yes, weight, np.arange(80))
    together = weighted_share(np.sort(yes), weight, np.repeat(np.arange(8), 10))
    assert width(together) > 2 * width(alone)


def test_area_is_the_weighted_share_of_ordered_pairs() -> None:
    rng = np.random.default_rng(1)
    n = 40
    p, answer, weight = rng.integers(0, 6, n) / 6, rng.integers(0, 2, n), rng.uniform(1, 5, n)
    found = area_under_curve(p, ask_about(np.zeros(n, np.int64), answer, weight))
    pairs = list(product(np.flatnonzero(answer == 1), np.flatnonzero(answer == 0)))
    wins = sum(weight[i] * weight[j] * ((p[i] > p[j]) + (p[i] == p[j]) / 2) for i, j in pairs)
    assert found.value == pytest.approx(wins / sum(weight[i] * weight[j] for i, j in pairs))
    assert found.low is not None
    assert found.high is not None
    assert found.value is not None
    assert 0 < found.low < found.value < found.high < 1


def test_perfect_area_is_not_certain() -> None:
    answer = np.repeat([1, 0], [10, 20])
    found = area_under_curve(answer * 0.5 + 0.2, ask_about(np.zeros(30, np.int64), answer))
    assert found.value == 1
    assert found.low is not None
    assert 0.5 < found.low < 0.97


def test_calibration_error_is_zero_of_shares_that_are_met() -> None:
    p = np.repeat([0.25, 0.75], 40)
    answer = np.concatenate([np.tile([1, 0, 0, 0], 10), np.tile([1, 1, 1, 0], 10)])
    curve, error = calibration(p, ask_about(np.zeros(80, np.int64), answer))
    assert error.value == pytest.approx(0, abs=1e-12)
    assert [one.stated for one in curve] == [0.25, 0.75]
    assert [one.yes.value for one in curve] == [0.25, 0.75]


def test_overconfident_judge_has_a_positive_bias() -> None:
    n = 200
    p, answer = np.full((n, 2), [0.9, 0.1]), np.tile([1, 0], n // 2)
    judge = JudgeProbabilities(p=p, n_options=np.full(n, 2))
    found = judge_quality("j", judge, ask_about(np.zeros(n, np.int64), answer), classes=("a", "b"))
    assert found.bias.value == pytest.approx(0.4)
    assert found.error.low is not None
    assert found.error.low > 0.25
    assert found.classes[0].sensitivity.value == 1
    assert found.classes[0].specificity.value == 0
    assert found.classes[1].sensitivity.value is None


def test_votes_have_no_calibration_but_an_agreement() -> None:
    n = 40
    index = ItemIndex.of([str(j) for j in range(n)])
    vote = PredictionColumns(index=index, option=np.zeros(n, np.int64))
    judge = JudgeProbabilities.of_predictions(vote, np.full(n, 3))
    found = judge_quality("j", judge, ask_about(np.zeros(n, np.int64), np.tile([1, 0], n // 2)))
    assert found.error.why == "the judge states no probabilities"
    assert found.agreement.value == 0.5


def test_judge_that_copies_a_model_errs_with_it() -> None:
    rng = np.random.default_rng(2)
    n, K = 300, np.full(300, 4)
    option, truth = rng.integers(0, 4, n), rng.integers(0, 4, n)
    p = np.full((n, 4), 0.1)
    p[np.arange(n), option] = 0.7
    copy = JudgeProbabilities(p=p, n_options=K)
    other = JudgeProbabilities(p=rng.dirichlet(np.ones(4), n), n_options=K)
    asked = rng.integers(0, 4, n)
    questions = ask_about(asked, truth == asked)
    found = error_dependence({"copy": copy, "other": other}, {"model": copy}, questions)
    with_model = found.with_models[0].correlation
    assert with_model.value == pytest.approx(1)
    assert with_model.high == 1
    assert with_model.low is not None
    assert 0.8 < with_model.low < 1
    assert found.worth is not None
    assert found.worth.value is not None
    assert 1 < found.worth.value <= 2


def test_samples_become_shares() -> None:
    made = share_of_samples([[0, 1, 1, -1], [-1]], np.array([2, 2]))
    assert made.p[0].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert made.speaks.tolist() == [True, False]


def test_probability_beyond_one_is_refused() -> None:
    with pytest.raises(EstimateError, match=r"p\[0, 1\] must lie in \[0, 1\], is 1.2"):
        JudgeProbabilities(p=np.array([[0.1, 1.2]]), n_options=np.array([2]))


@pytest.mark.parametrize(("right", "verdict"), [(0.72, "miscalibrated"), (0.97, "calibrated")])
def test_verdict_compares_the_judge_s_confidence_with_its_accuracy(right: float, verdict: str) -> None:
    """With 20 options, most stated probabilities are near 0, and do not hide a first choice's gap."""
    rng, n, K = np.random.default_rng(4), 4000, 20
    truth, asked = rng.integers(0, K, n), rng.integers(0, K, n)
    first = np.where(rng.random(n) < right, truth, (truth + 1) % K)
    p = np.full((n, K), 0.03 / (K - 1))
    p[np.arange(n), first] = 0.97
    judge = JudgeProbabilities(p=p, n_options=np.full(n, K))
    found = judge_quality("j", judge, ask_about(asked, asked == truth))
    assert found.bias.value == pytest.approx(0.97 - right, abs=0.08)
    assert judge_verdict(found)[1] == verdict
    few = judge_quality("j", judge, ask_about(asked, asked == truth).take(np.arange(200)))
    assert few.error.why == f"{few.error.n} answers about its first choices, at least 20 are needed"


def test_gaps_of_opposite_sign_cancel_only_within_a_joined_bin() -> None:
    p, answer = np.repeat([0.35, 0.95], 20), np.repeat([1, 0], 20)
    curve, error = calibration(p, ask_about(np.zeros(40, np.int64), answer))
    assert [(one.start, one.share) for one in curve] == [(0.0, 0.5), (0.4, 0.5)]
    assert error.value == pytest.approx((0.65 + 0.95) / 2)
    joined, error = calibration(p[::2], ask_about(np.zeros(20, np.int64), answer[::2]))
    assert len(joined) == 1
    assert error.value == pytest.approx((0.95 - 0.65) / 2)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 0.4])
def test_intervals_hold_under_unequal_propensities(epsilon: float) -> None:
    """Options are asked about uniformly, or mostly about the one that a model predicts."""
    rng, size, K, n = np.random.default_rng(5), 20_000, 4, 200
    truth = rng.integers(0, K, size)
    signs = rng.normal(size=(size, K)) + 1.2 * (np.arange(K) == truth[:, None])
    p = np.exp(2 * signs)
    p /= p.sum(axis=1, keepdims=True)
    model = np.where(rng.random(size) < 0.6, truth, rng.integers(0, K, size))
    judge, flat = JudgeProbabilities(p=p, n_options=np.full(size, K)), p.ravel()
    right = (np.arange(K) == truth[:, None]).ravel()
    ranks = np.argsort(np.argsort(flat))
    area = (ranks[right].sum() - size * (size - 1) / 2) / (size * (size * (K - 1)))
    agreement = 1 - 2 * np.mean(p.argmax(axis=1) != truth) / K
    top = p.argmax(axis=1)
    gap = p.max(axis=1) - (top == truth)
    held = np.zeros(4)
    draws = 300
    for _ in range(draws):
        items = rng.choice(size, n, replace=False)
        chance = np.full((n, K), epsilon / K)
        chance[np.arange(n), model[items]] += 1 - epsilon
        option = (chance.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
        questions = JudgedQuestions(
            item=items,
            option=option,
            answer=(truth[items] == option).astype(np.float64),
            weight=1 / chance[np.arange(n), option],
            cluster=np.arange(n),
            scope=PREDICTIONS,
        )
        found = judge_quality("j", judge, questions)
        bins = np.searchsorted([one.end for one in found.curve[:-1]], p.max(axis=1), side="right")
        error = float(np.abs(np.bincount(bins, gap)).sum() / size)
        for j, (measure, exact) in enumerate(
            ((found.area, area), (found.agreement, agreement), (found.bias, gap.mean()), (found.error, error))
        ):
            assert measure.low is not None
            assert measure.high is not None
            held[j] += measure.low <= exact <= measure.high
    assert (held / draws > 0.92).all(), held / draws
