"""Whether a calibration holds on other questions, and what several judges are worth together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import RoutedSample
from oversight.harness.estimate.side_information import estimate_working
from oversight.harness.judges import (
    PREDICTIONS,
    Calibration,
    JudgedQuestions,
    JudgeProbabilities,
    calibrate,
    check_transport,
    judges_working,
    weigh_judges,
)

RNG = np.random.default_rng(8)
P = RNG.beta(2, 2, 4000)
JUDGE = JudgeProbabilities(p=np.column_stack([P, 1 - P]), n_options=np.full(4000, 2))
AS_STATED = Calibration(intercept=0.0, slope=1.0, n=1000)


def questions(items: IntArray, answer: FloatArray) -> JudgedQuestions:
    """Questions about the first option of these items."""
    n = len(items)
    return JudgedQuestions(
        item=items,
        option=np.zeros(n, np.int64),
        answer=answer,
        weight=np.ones(n),
        cluster=np.arange(n),
        scope=PREDICTIONS,
    )


def answered(n: int, shift: float = 0.0) -> JudgedQuestions:
    """Answers that are yes with the stated probability, less the shift where it is above ½."""
    p = P[:n] - shift * (P[:n] > 0.5)
    return questions(np.arange(n), (np.random.default_rng(9).random(n) < p).astype(np.float64))


def test_calibration_finds_the_line_on_the_logits() -> None:
    found = calibrate(JUDGE, answered(4000))
    assert found.slope == pytest.approx(1, abs=0.15)
    assert found.intercept == pytest.approx(0, abs=0.1)


def test_calibration_from_few_answers_is_refused() -> None:
    with pytest.raises(EstimateError, match=r"at least \d+ answers, there are 20"):
        calibrate(JUDGE, answered(20))


@pytest.mark.parametrize(
    ("n", "shift", "verdict"), [(3000, 0.0, "pass"), (3000, 0.3, "fail"), (200, 0.08, "undecided")]
)
def test_verdict_follows_the_gap_and_the_answers(n: int, shift: float, verdict: str) -> None:
    found = check_transport("j", JUDGE, AS_STATED, answered(n, shift))
    assert found.verdict == verdict
    assert (found.further == 0) == (verdict != "undecided")


def test_errors_that_cancel_do_not_pass() -> None:
    n = 3000
    p = np.clip(P[:n] + np.where(P[:n] > 0.5, -0.25, 0.25), 0, 1)
    yes = (np.random.default_rng(10).random(n) < p).astype(np.float64)
    assert abs(yes.mean() - P[:n].mean()) < 0.03
    assert check_transport("j", JUDGE, AS_STATED, questions(np.arange(n), yes)).verdict == "fail"


@pytest.mark.parametrize("high", [0, 1, 29])
def test_too_few_answers_about_high_probabilities_are_undecided(high: int) -> None:
    p = np.repeat([0.12, 0.19], [210, high])
    judge = JudgeProbabilities(p=np.column_stack([p, 1 - p]), n_options=np.full(p.size, 2))
    yes = (np.random.default_rng(4).random(p.size) < p).astype(np.float64)
    found = check_transport("j", judge, AS_STATED, questions(np.arange(p.size), yes))
    assert (found.verdict, list(found.parts)) == ("undecided", [])
    assert f"210 answers on the target about low probabilities and {high} about high ones" in found.why
    assert found.further == {0: None, 1: 6119, 29: 9}[high]


@pytest.mark.parametrize(
    ("n", "stated", "margin"), [(30, 0.02, 0.1), (50, 0.01, 0.1), (100, 0.01, 0.05), (200, 0.02, 0.1)]
)
@pytest.mark.parametrize("near", [0, 1])
def test_false_pass_is_rare_near_0_and_1(n: int, stated: float, margin: float, near: int) -> None:
    p = np.repeat([stated, 1 - stated], n)
    judge = JudgeProbabilities(p=np.column_stack([p, 1 - p]), n_options=np.full(p.size, 2))
    passed = 0.0
    for wrong in range(n + 1):
        yes = np.repeat([0.0, 1.0], n)
        start = near * n
        yes[start : start + wrong] = 1 - near
        verdict = check_transport(
            "j", judge, AS_STATED, questions(np.arange(p.size), yes), margin=margin
        ).verdict
        passed += binom.pmf(wrong, n, stated + margin) * (verdict == "pass")
    assert passed <= 0.025


def test_announced_questions_settle_it_in_most_studies() -> None:
    first = check_transport("j", JUDGE, AS_STATED, answered(300))
    assert first.further is not None
    assert check_transport("j", JUDGE, AS_STATED, answered(300 + 2 * first.further)).verdict == "pass"


def sample(n: int, K: int) -> tuple[RoutedSample, IntArray, IntArray]:
    """One random option of n items asked about, with truth and a model that is right on two thirds."""
    rng = np.random.default_rng(11)
    truth, asked = rng.integers(0, K, n), rng.integers(0, K, n)
    model = np.where(rng.random(n) < 2 / 3, truth, (truth + 1) % K)
    data = RoutedSample(np.arange(n), asked, (asked == truth).astype(float), np.full((n, K), 1 / K))
    return data, truth, model


def judge_of(truth: IntArray, K: int, seed: int, strength: float) -> JudgeProbabilities:
    rng = np.random.default_rng(seed)
    p = np.exp(rng.normal(size=(len(truth), K)) + strength * (np.arange(K) == truth[:, None]))
    return JudgeProbabilities(p=p / p.sum(axis=1, keepdims=True), n_options=np.full(len(truth), K))


def test_useless_judges_leave_the_distribution_without_judges() -> None:
    data, truth, model = sample(300, 4)
    noise = [judge_of(truth, 4, seed, 0.0) for seed in range(5)]
    with_noise, without = judges_working(model, data, noise), judges_working(model, data, [])
    assert np.abs(with_noise - without).max() < 0.25
    widths = [estimate_working(model, data, weigh_judges(judges)) for judges in (noise, [])]
    assert widths[0].high - widths[0].low < 1.03 * (widths[1].high - widths[1].low)


def test_two_good_judges_narrow_more_than_one_and_a_reversed_one_helps() -> None:
    data, truth, model = sample(400, 4)
    good = [judge_of(truth, 4, seed, 2.5) for seed in (1, 2)]
    turned = JudgeProbabilities(p=(1 - good[0].p) / 3, n_options=good[0].n_options)
    width = {}
    for name, judges in (("none", []), ("one", good[:1]), ("two", good), ("reversed", [turned])):
        made = estimate_working(model, data, weigh_judges(judges))
        width[name] = made.high - made.low
    assert width["two"] < width["one"] < 0.9 * width["none"]
    assert width["reversed"] < 0.9 * width["none"]
