"""The one call: what it reports, how strata and unreadable predictions enter, what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oversight.harness import EstimateError
from oversight.harness.estimate import Estimates, accuracies, accuracy, clopper_pearson, estimate_counts
from oversight.harness.estimate.core import blaker
from oversight.harness.estimate.estimators import POINTS
from oversight.harness.estimate.intervals import scale_by_share
from oversight.harness.estimate.tallies import estimate_tallies, tally
from oversight.harness.types import Label, LabelKind, Prediction, PredictionStatus

YES, NO, MUTE = LabelKind.ORDINARY, LabelKind.COMPLEMENTARY, LabelKind.ABSTAINED
Data = tuple[list[Prediction], list[Label]]


def study(K: int, S_o: int, n_o: int, S_c: int, n_c: int, prefix: str = "i") -> Data:
    """Predictions and labels with just these counts, under uniform routing."""
    predictions, labels = [], []
    for n in range(n_o + n_c):
        name = f"{prefix}{n}"
        yes = n < n_o
        hit = n < S_o or n >= n_o + S_c
        predictions.append(Prediction(name, 0 if hit else 1))
        labels.append(Label(name, 0, YES if yes else NO, K, 1 / K))
    return predictions, labels


def test_equals_the_estimate_from_counts() -> None:
    found = accuracies(*study(4, 77, 120, 321, 360))
    expected = estimate_counts(4, 77, 120, 321, 360)
    assert dict(found) == dict(expected)
    assert tuple(found) == tuple(POINTS)


def test_printed_estimate_counts_all_kinds_of_answers() -> None:
    predictions, labels = study(4, 20, 30, 80, 90)
    predictions += [Prediction("u", None, PredictionStatus.UNREADABLE), Prediction("x", 1)]
    predictions += [Prediction("f", None, PredictionStatus.FAILED)]
    labels += [Label("u", 0, NO, 4, 0.25), Label("f", 0, NO, 4, 0.25), Label("x", 2, MUTE, 4, 0.25)]
    e = accuracy(predictions, labels)
    assert str(e).endswith("30 ordinary + 91 complementary · 1 abstained · 1 unreadable · 1 failed")
    assert (e.estimator, e.interval, e.level, e.n.unlabelled) == ("ml", "exact+share+worst-case", 0.95, 0)
    assert any("uniformly" in a for a in e.assumptions)


@pytest.mark.parametrize("estimator", list(POINTS))
def test_single_estimator_equals_that_of_all_estimators(estimator: str) -> None:
    data = study(4, 20, 30, 80, 90)
    assert accuracy(*data, estimator=estimator) == accuracies(*data)[estimator]


def test_unreadable_predictions_scale_the_accuracy_of_the_readable() -> None:
    predictions, labels = study(4, 20, 30, 80, 90)
    readable = accuracy(predictions, labels)
    for n in range(30):
        predictions.append(Prediction(f"u{n}", None, PredictionStatus.UNREADABLE))
        labels.append(Label(f"u{n}", 0, YES if n < 8 else NO, 4, 0.25))
    all_ = accuracy(predictions, labels)
    value, low, high = scale_by_share(0.8, 150, readable.value, readable.low, readable.high, 0.95)
    assert all_.value == pytest.approx(value) == pytest.approx(0.8 * readable.value)
    assert (all_.low, all_.high) == pytest.approx((low, high))
    least, most = clopper_pearson(120, 150)
    assert least * readable.low < low < 0.8 * readable.low
    assert 0.8 * readable.high < high < most * readable.high
    assert all_.se is not None
    assert readable.se is not None
    expected = math.sqrt((0.8 * readable.se) ** 2 + readable.value**2 * 0.8 * 0.2 / 150)
    assert all_.se == pytest.approx(expected)


def test_ordinary_with_unreadable_predictions_only_among_yes() -> None:
    """An unreadable prediction is never scored as avoiding the refused option."""
    predictions = [Prediction(f"u{n}", None, PredictionStatus.UNREADABLE) for n in range(9)]
    labels = [Label(f"u{n}", 0, NO, 4, 0.25) for n in range(9)]
    e = accuracy(predictions, labels)
    assert (e.value, e.low, e.flags) == (0.0, 0.0, ("all_unreadable",))
    assert e.interval == "blaker"
    assert e.high == blaker(0, 9)[1] <= 1 - 0.025 ** (1 / 9)


def test_mixed_k_is_weighted_by_labelled_items() -> None:
    p4, l4 = study(4, 20, 30, 80, 90)
    p9, l9 = study(9, 3, 5, 34, 35, prefix="j")
    e = accuracy(p4 + p9, l4 + l9)
    a, b = accuracy(p4, l4), accuracy(p9, l9)
    assert e.value == pytest.approx(0.75 * a.value + 0.25 * b.value, abs=1e-3)
    assert e.interval == "tilted-score"
    assert e.holds
    assert "stratified" in e.flags
    assert a.se is not None
    assert b.se is not None
    assert e.se is not None
    assert e.se >= math.hypot(0.75 * a.se, 0.25 * b.se)


def test_other_intervals_of_mixed_k_add_those_of_the_parts_and_say_so() -> None:
    p4, l4 = study(4, 20, 30, 80, 90)
    p9, l9 = study(9, 3, 5, 34, 35, prefix="j")
    e = accuracy(p4 + p9, l4 + l9, interval="score")
    a, b = accuracy(p4, l4, interval="score"), accuracy(p9, l9, interval="score")
    assert e.value == pytest.approx(0.75 * a.value + 0.25 * b.value)
    between = (0.75 * (a.value - e.value) ** 2 + 0.25 * (b.value - e.value) ** 2) / 160
    assert a.se is not None
    assert b.se is not None
    assert e.se == pytest.approx(math.sqrt((0.75 * a.se) ** 2 + (0.25 * b.se) ** 2 + between))
    assert e.low == pytest.approx(
        e.value
        - math.sqrt(
            (0.75 * (a.value - a.low)) ** 2 + (0.25 * (b.value - b.low)) ** 2 + 1.959964**2 * between
        ),
        abs=1e-6,
    )
    assert "stratified" in e.flags
    assert e.interval == "score+mover"
    assert not e.holds


def test_strata_of_one_k_and_equal_weight_are_pooled() -> None:
    """However their accuracies differ, the pooled counts follow the law of one stratum."""
    data = study(4, 20, 30, 80, 90)
    strata = {p.item_id: f"s{n % 14}" for n, p in enumerate(data[0])}
    # If every item has the same weight, the exact interval equals the interval without strata.
    plain, split = accuracy(*data), accuracy(*data, strata=strata)
    assert (split.value, split.low, split.high, split.interval) == (
        plain.value,
        plain.low,
        plain.high,
        "exact",
    )
    assert "stratified" in split.flags


def test_strata_are_weighted_by_predictions_not_by_labels() -> None:
    """One stratum is labelled six times as densely; it must not count six times."""
    pa, la = study(4, 20, 30, 80, 90, prefix="a")
    pb, lb = study(4, 1, 5, 10, 15, prefix="b")
    pb += [Prediction(f"more{n}", 0) for n in range(100)]
    strata = {p.item_id: "easy" for p in pa} | {p.item_id: "hard" for p in pb}
    e = accuracy(pa + pb, la + lb, strata=strata)
    a, b = accuracy(pa, la), accuracy(pb, lb)
    assert e.value == pytest.approx((a.value + b.value) / 2, abs=0.02)
    assert abs(e.value - accuracy(pa + pb, la + lb).value) > 0.1
    assert e.low < e.value < e.high
    assert e.n.unlabelled == 100


def test_a_stratum_without_labels_is_refused() -> None:
    pa, la = study(4, 20, 30, 80, 90, prefix="a")
    with pytest.raises(EstimateError, match="'hard' has predictions but no usable label"):
        accuracy([*pa, Prediction("b", 0)], la, strata={p.item_id: "easy" for p in pa} | {"b": "hard"})
    with pytest.raises(EstimateError, match=r"predictions\[120\], item 'b', has no stratum"):
        accuracy([*pa, Prediction("b", 0)], la, strata={p.item_id: "easy" for p in pa})


def test_targeted_labels_get_the_binomial_interval() -> None:
    predictions = [Prediction(f"i{n}", 2) for n in range(50)]
    labels = [Label(f"i{n}", 2, YES if n < 40 else NO, 4, 1.0) for n in range(50)]
    e = accuracy(predictions, labels)
    assert e.value == 0.8
    assert (e.low, e.high) == blaker(40, 50)
    assert e.interval == "blaker"
    assert "conditioned_on_questions" in e.flags
    assert (e.n.ordinary, e.n.complementary) == (40, 10)


def test_ml_is_the_same_however_conditioned() -> None:
    data = study(4, 18, 30, 80, 90)
    by_answers, by_questions = (estimate_tallies(tally(*data, split=s)) for s in ("answers", "questions"))
    assert by_answers.value == pytest.approx(by_questions.value, abs=1e-12)
    assert by_answers.high != by_questions.high


@pytest.mark.parametrize("K", [2, 3, 5])
def test_asking_all_other_options_equals_ordinary(K: int) -> None:
    """m = K − 1 on every item settles every prediction: the binomial estimate and interval."""
    rng = np.random.default_rng(K)
    predictions, labels, right = [], [], 0
    for n in range(60):
        truth, y_hat = rng.integers(0, K, 2).tolist()
        right += truth == y_hat
        predictions.append(Prediction(f"i{n}", y_hat))
        labels += [
            Label(f"i{n}", option, YES if option == truth else NO, K, (K - 1) / K)
            for option in rng.permutation(K)[: K - 1].tolist()
        ]
    e = accuracy(predictions, labels)
    assert e.value == pytest.approx(right / 60)
    assert (e.low, e.high) == pytest.approx(blaker(right, 60))


def test_undefined_estimators_are_left_out_with_the_reason() -> None:
    found = accuracies(*study(4, 0, 0, 80, 90))
    assert isinstance(found, Estimates)
    assert list(found) == ["comp", "ml"]
    assert "n_o must be at least 1" in found.undefined["ord"]
    with pytest.raises(EstimateError, match=r"K = 4: n_o must be at least 1 .* is 0"):
        accuracy(*study(4, 0, 0, 80, 90), estimator="ord")


def test_comp_is_not_clipped_but_flagged() -> None:
    e = estimate_counts(4, 0, 0, 56, 88)["comp"]
    assert e.value == pytest.approx(3 * 56 / 88 - 2)
    assert e.value < 0
    assert "out_of_range" in e.flags
    assert (e.clipped, e.low) == (0.0, 0.0)
    assert e.high > 0


def test_labels_that_contradict_every_accuracy_are_refused() -> None:
    """Two thirds of the refusals miss even a model that is always wrong; 10 of 88 is no chance."""
    with pytest.raises(
        EstimateError, match=r"K = 4: the labels contradict every accuracy, so .*; see the checks"
    ):
        estimate_counts(4, 0, 0, 10, 88)
    wald = estimate_counts(4, 0, 0, 40, 88, interval="wald").undefined["comp"]
    assert "contradict every accuracy, so the wald interval contains only -64%" in wald
    doubtful = estimate_counts(4, 0, 0, 40, 88)["comp"]
    assert (doubtful.low, doubtful.clipped) == (0, 0)
    assert doubtful.high > 0
    assert "contradicts_model" in doubtful.flags
    p4, l4 = study(4, 0, 0, 10, 88)
    p9, l9 = study(9, 0, 0, 10, 88, prefix="j")
    with pytest.raises(EstimateError, match="the labels contradict every accuracy"):
        accuracy(p4 + p9, l4 + l9, estimator="comp")


@pytest.mark.parametrize(("S_o", "S_c"), [(30, 90), (30, 60), (0, 90), (0, 60), (20, 90)])
def test_samples_without_variation_keep_an_uncertainty(S_o: int, S_c: int) -> None:
    for name, e in estimate_counts(4, S_o, 30, S_c, 90).items():
        assert e.se is not None, name
        assert e.se > 0.001, name
        assert e.high > e.low, name


def test_ivw_does_not_trust_a_sample_without_variation() -> None:
    """S_o = n_o = 3 has plug-in variance 0 and would take all the weight from 300 other labels."""
    published = estimate_counts(4, 3, 3, 240, 300, published=True)
    assert "standard error is 0, so the wald interval contains only 100%" in published.undefined["ivw"]
    wide = estimate_counts(4, 3, 3, 240, 300, published=True, interval="exact")
    assert wide["ivw"].value == 1.0
    assert "value_outside_interval" in wide["ivw"].flags
    assert estimate_counts(4, 3, 3, 240, 300)["ivw"].value < 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": "mle"}, "estimator must be one of ord, comp, ivw_half, ivw, ml, is 'mle'"),
        ({"interval": "waldo"}, "interval must be one of exact, .* is 'waldo'"),
        ({"level": 95}, r"level must lie in \(0, 1\), is 95"),
        ({"interval": "wilson"}, "wilson is for one binomial sample, but there are 2"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(EstimateError, match=message):
        accuracy(*study(4, 20, 30, 80, 90), **options)  # type: ignore[arg-type]  # bad on purpose


def test_labels_with_only_abstentions_are_refused() -> None:
    with pytest.raises(EstimateError, match="must contain a yes or no"):
        accuracy([Prediction("a", 0)], [Label("a", 0, MUTE, 4, 0.25)])


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((1, 1, 2, 1, 2), "K, the number of options, must be at least 2, is 1"),
        ((4, 3, 2, 1, 2), "S_o must be at most n_o = 2, is 3"),
        ((4, 1, 2, 3, 2), "S_c must be at most n_c = 2, is 3"),
        ((4, 0, 0, 0, 0), r"n_o \+ n_c must be at least 1, is 0"),
        ((4, 0, -1, 0, 3), "n_o must be a whole number ≥ 0, is -1"),
    ],
)
def test_bad_counts_are_refused(counts: tuple[int, int, int, int, int], message: str) -> None:
    with pytest.raises(EstimateError, match=message):
        estimate_counts(*counts)


def test_strata_labelled_as_a_blind_draw_would_cost_no_width() -> None:
    """100 of 400 predictions labelled, the strata by chance 26 and 24 to 25 and 25: one binomial of all."""
    predictions = [Prediction(f"i{j}", 0) for j in range(400)]
    labels = [
        Label(f"i{j}", 0, LabelKind.ORDINARY if j % 5 else LabelKind.COMPLEMENTARY, 2, 0.5)
        for j in range(100)
    ]
    strata = {f"i{j}": "a" if j in range(52) or (j >= 100 and j % 2) else "b" for j in range(400)}
    plain, stratified = (accuracy(predictions, labels, strata=s) for s in (None, strata))
    assert (stratified.low, stratified.high) == (plain.low, plain.high)
    often = {f"i{j}": "a" if j < 90 or (j >= 100 and j % 2) else "b" for j in range(400)}
    assert accuracy(predictions, labels, strata=often).interval != plain.interval
