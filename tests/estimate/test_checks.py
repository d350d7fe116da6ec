"""Every check passes on data as supposed and fails on the fault it is for."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from oversight.harness.estimate import Check, accuracy, run_checks
from oversight.harness.types import Label, LabelKind, Prediction, PredictionStatus

YES, NO, MUTE = LabelKind.ORDINARY, LabelKind.COMPLEMENTARY, LabelKind.ABSTAINED
Data = tuple[list[Prediction], list[Label]]


def study(
    n: int = 1200,
    K: int = 4,
    A: float = 0.7,
    *,
    seed: int = 5,
    missed_yes: float = 0.0,
    false_yes: float = 0.0,
    follow: float = 0.0,
) -> Data:
    """One question per item; `follow` is how often the model's prediction is asked about on purpose."""
    rng = np.random.default_rng(seed)
    predictions, labels = [], []
    for i in range(n):
        truth = int(rng.integers(K))
        y_hat = truth if rng.random() < A else int((truth + rng.integers(1, K)) % K)
        option = y_hat if rng.random() < follow else int(rng.integers(K))
        yes = rng.random() >= missed_yes if option == truth else rng.random() < false_yes
        predictions.append(Prediction(f"i{i}", y_hat))
        labels.append(Label(f"i{i}", option, YES if yes else NO, K, 1 / K, f"expert {option}"))
    return predictions, labels


def named(data: Data, name: str) -> Check:
    return next(c for c in run_checks(*data) if c.name == name)


def test_good_data_pass_everything() -> None:
    found = run_checks(*study())
    assert [c.name for c in found if c.state == "failed"] == []
    assert [c.name for c in found if c.state == "not made"] == ["propensities", "seen_answers", "readability"]
    assert len({c.name for c in found}) == 11
    assert {c.name for c in found if c.p_value is not None} == {
        "asked_predicted",
        "yes_rate",
        "hausman",
        "asked_options",
        "yes_rate_by_expert",
        "agreement",
    }


@pytest.mark.parametrize(
    ("fault", "caught_by"),
    [
        ({"follow": 0.15}, "asked_predicted"),
        ({"missed_yes": 0.25}, "yes_rate"),
        ({"false_yes": 0.1}, "yes_rate"),
        ({"missed_yes": 0.5}, "hausman"),
        ({"false_yes": 0.15}, "hausman"),
    ],
)
def test_faults_are_caught(fault: dict[str, float], caught_by: str) -> None:
    check = named(study(**fault), caught_by)  # type: ignore[arg-type]  # all faults are floats
    assert not check.passed
    assert check.p_value is not None
    assert check.p_value < 0.01


def test_options_that_are_drawn_unevenly_fail_their_check() -> None:
    predictions, labels = study()
    lopsided = [x for n, x in enumerate(labels) if x.option != 0 or n % 2]
    assert not named((predictions, lopsided), "asked_options").passed


def test_expert_who_always_says_no_fails_the_yes_rate() -> None:
    predictions, labels = study()
    mute = [replace(x, kind=NO) if x.option == 2 else x for x in labels]
    check = named((predictions, mute), "yes_rate_by_expert")
    assert not check.passed
    assert "expert 2, 0 yes" in check.message


def test_abstentions_are_bounded_by_both_extremes() -> None:
    predictions, labels = study(300)
    hidden = [replace(x, kind=MUTE) if n < 60 else x for n, x in enumerate(labels)]
    check = named((predictions, hidden), "abstention")
    low, high = (float(x) / 100 for x in re.findall(r"([\d.]+) %", check.message))
    assert not check.passed
    assert check.statistic == pytest.approx(0.2)
    assert low < accuracy(predictions, labels).value < high
    best = [
        replace(x, kind=YES if x.option == p.option else NO) if n < 60 else x
        for n, (x, p) in enumerate(zip(labels, predictions, strict=True))
    ]
    assert accuracy(predictions, best).value == pytest.approx(high, abs=6e-4)
    worst = [
        replace(x, kind=NO if x.option == p.option else YES) if n < 60 else x
        for n, (x, p) in enumerate(zip(labels, predictions, strict=True))
    ]
    assert accuracy(predictions, worst).value == pytest.approx(low, abs=6e-4)


def test_few_abstentions_pass() -> None:
    predictions, labels = study(300)
    assert named((predictions, [replace(labels[0], kind=MUTE), *labels[1:]]), "abstention").passed


def test_an_abstention_that_can_only_be_yes_is_left_open() -> None:
    """Three of four options refused: the fourth is true, whatever its expert failed to say."""
    labels = [Label("i0", k, NO if k < 3 else MUTE, 4, 1.0) for k in range(4)]
    labels += [Label("i1", k, NO if k < 3 else YES, 4, 1.0) for k in range(4)]
    check = named(([Prediction("i0", 3), Prediction("i1", 3)], labels), "abstention")
    assert "from 100.0 % to 100.0 %" in check.message


def test_labels_that_avoid_unreadable_predictions_fail_the_check() -> None:
    predictions, labels = study(200)
    more = [Prediction(f"u{n}", None, PredictionStatus.UNREADABLE) for n in range(30)]
    assert not named(([*predictions, *more], labels), "readability").passed
    asked = [Label(f"u{n}", 0, NO, 4, 0.25) for n in range(30)]
    rest = [Prediction(f"r{n}", 1) for n in range(20)]
    assert named(([*predictions, *more, *rest], labels + asked), "readability").p_value is not None


@pytest.mark.parametrize("scale", [1.0, 0.6])
def test_wrongly_recorded_propensities_fail_their_check(scale: float) -> None:
    rng = np.random.default_rng(1)
    pi = np.array([0.55, 0.25, 0.15, 0.05])
    predictions = [Prediction(f"i{n}", 0) for n in range(2000)]
    labels = [
        Label(f"i{n}", k, YES if rng.random() < 0.25 else NO, 4, scale * float(pi[k]))
        for n, k in enumerate(rng.choice(4, 2000, p=pi).tolist())
    ]
    assert named((predictions, labels), "propensities").passed is (scale == 1)


def test_small_strata_are_named() -> None:
    predictions, labels = study(100)
    strata = {p.item_id: "rare" if n < 12 else "common" for n, p in enumerate(predictions)}
    check = next(c for c in run_checks(predictions, labels, strata=strata) if c.name == "small_strata")
    assert not check.passed
    assert "'rare', K = 4 (12)" in check.message


def test_checks_that_do_not_apply_say_so() -> None:
    """Targeted questions: routing by prediction is the plan, not a fault."""
    predictions = [Prediction(f"i{n}", 1) for n in range(60)]
    labels = [Label(f"i{n}", 1, YES if n % 2 else NO, 4, 1.0) for n in range(60)]
    found = {c.name: c for c in run_checks(predictions, labels)}
    for name in ("asked_predicted", "yes_rate", "hausman", "asked_options", "propensities"):
        assert found[name].passed is None
        assert found[name].state == "not made"
        assert found[name].message
