"""Predictions and labels become the right counts, and bad ones a message with row and value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from oversight.harness import EstimateError, NotIdentified
from oversight.harness.columns import PredictionColumns
from oversight.harness.estimate import BinomialSample
from oversight.harness.estimate.tallies import tally
from oversight.harness.types import Label, LabelKind, Prediction, PredictionStatus
from tests.label_columns import label_columns

Ints = NDArray[np.int64]

YES, NO, MUTE = LabelKind.ORDINARY, LabelKind.COMPLEMENTARY, LabelKind.ABSTAINED


def predicted(*options: int | None) -> list[Prediction]:
    """Predictions of items i0, i1, …; None is unreadable."""
    return [
        Prediction(f"i{n}", o, PredictionStatus.OK if o is not None else PredictionStatus.UNREADABLE)
        for n, o in enumerate(options)
    ]


def label(item: int, option: int, kind: LabelKind, K: int = 4, propensity: float | None = None) -> Label:
    return Label(f"i{item}", option, kind, K, 1 / K if propensity is None else propensity)


def test_yes_and_no_answers_are_counted_by_right_and_wrong_predictions() -> None:
    labels = [label(0, 1, YES), label(1, 2, YES), label(2, 0, NO), label(3, 3, NO), label(4, 3, NO)]
    (t,) = tally(predicted(1, 0, 0, 0, 3), labels).strata
    assert (t.K, t.S_o, t.n_o, t.S_c, t.n_c) == (4, 1, 2, 1, 3)
    assert (t.n_yes, t.n_no, t.split) == (2, 3, "answers")
    assert t.misses == (BinomialSample(4, 3, 1),)


def test_unreadable_failed_abstained_and_unlabelled_are_counted() -> None:
    predictions = [
        *predicted(1, None, 2, 0),
        Prediction("i4", None, PredictionStatus.FAILED),
        Prediction("i5", 3),
    ]
    labels = [label(0, 1, YES), label(1, 1, NO), label(2, 1, MUTE), label(3, 2, NO), label(4, 0, YES)]
    tallies = tally(predictions, labels)
    (t,) = tallies.strata
    assert (t.n_readable, t.n_unreadable, t.n_failed, t.n_abstained) == (2, 1, 1, 1)
    assert tallies.n_unlabelled == 1
    assert (t.n_yes, t.n_no) == (1, 2)
    assert (t.S_o, t.n_o, t.S_c, t.n_c) == (1, 1, 1, 1)


def test_several_refusals_of_one_item_are_one_trial() -> None:
    labels = [
        *(label(0, k, NO, propensity=0.5) for k in (1, 2)),  # prediction 0 avoided
        *(label(1, k, NO, propensity=0.5) for k in (0, 2)),  # prediction 0 refused
        *(label(2, k, kind, propensity=0.5) for k, kind in ((0, YES), (3, NO))),
        *(label(3, k, kind, propensity=0.5) for k, kind in ((0, NO), (3, YES))),
    ]
    (t,) = tally(predicted(0, 0, 0, 0), labels).strata
    assert t.misses == (BinomialSample(2.5, 2, 1),)  # K' = 1 + 3/2
    assert t.hits == BinomialSample(2, 2, 1)
    assert (t.n_yes, t.n_no) == (2, 6)


def test_all_wrong_options_refused_settles_the_prediction() -> None:
    labels = [label(n, k, NO, propensity=1 / 3) for n in (0, 1) for k in (1, 2, 3)]
    (t,) = tally(predicted(0, 1), labels).strata
    assert t.misses == (BinomialSample(2, 2, 1),)


def test_targeted_labels_are_taken_by_question() -> None:
    """By answers every yes would be right and every no wrong: no information at all."""
    labels = [label(n, 1, YES if n < 3 else NO, propensity=1.0) for n in range(5)]
    (t,) = tally(predicted(1, 1, 1, 1, 1), labels).strata
    assert t.split == "questions"
    assert (t.S_o, t.n_o, t.n_c) == (3, 5, 0)
    (by_answers,) = tally(predicted(1, 1, 1, 1, 1), labels, split="answers").strata
    assert (by_answers.S_o, by_answers.n_o, by_answers.S_c, by_answers.n_c) == (3, 3, 0, 2)


def test_questions_drawn_with_unequal_propensities_are_taken_by_question() -> None:
    labels = [
        label(0, 0, YES, propensity=0.7),
        label(1, 0, NO, propensity=0.7),
        label(2, 1, YES, propensity=0.1),
        label(3, 1, NO, propensity=0.1),
    ]
    (t,) = tally(predicted(0, 0, 0, 0), labels).strata
    assert t.hits == BinomialSample(2, 2, 1)
    assert t.misses == (BinomialSample(4, 2, 1),)


def test_a_yes_to_a_certain_question_settles_any_prediction() -> None:
    labels = [
        label(0, 0, NO, propensity=1.0),
        label(0, 2, YES, propensity=1.0),
        label(1, 1, YES, propensity=1.0),
    ]
    (t,) = tally(predicted(1, 1), labels).strata
    assert t.hits == BinomialSample(2, 2, 1)


def test_a_refusal_that_was_certain_says_nothing_about_another_prediction() -> None:
    labels = [label(0, 1, NO, propensity=1.0), label(1, 0, NO, propensity=1.0)]
    with pytest.raises(NotIdentified, match="'i1'"):
        tally(predicted(1, 1), labels)


def test_an_unanswered_certain_question_leaves_the_item_out() -> None:
    labels = [
        label(0, 0, NO, propensity=1.0),
        label(0, 1, MUTE, propensity=1.0),
        label(1, 1, YES, propensity=1.0),
    ]
    (t,) = tally(predicted(1, 1), labels).strata
    assert (t.hits, t.misses, t.n_abstained) == (BinomialSample(2, 1, 1), (), 1)
    (t,) = tally(predicted(0, 1), labels).strata
    assert t.hits == BinomialSample(2, 2, 1)


def test_disjoint_sets_from_known_truth_are_taken_by_answer() -> None:
    """The truth given (propensity 1) and wrong options drawn from the K − 1 others."""
    labels = [
        label(0, 0, YES, propensity=1.0),
        label(1, 2, NO, propensity=1 / 3),
        label(2, 1, NO, propensity=1 / 3),
    ]
    (t,) = tally(predicted(1, 2, 0), labels).strata
    assert t.split == "answers"
    assert (t.S_o, t.n_o, t.S_c, t.n_c) == (0, 1, 1, 2)


def test_items_are_counted_by_number_of_options_and_stratum() -> None:
    labels = [label(0, 0, YES), label(1, 1, NO), label(2, 0, YES, 3), label(3, 1, NO, 3)]
    assert [t.K for t in tally(predicted(0, 0, 0, 0), labels).strata] == [3, 4]
    strata = {"i0": "b", "i1": "a", "i2": "a", "i3": "a"}
    found = [
        (t.stratum, t.K, t.n_o, t.n_c) for t in tally(predicted(0, 0, 0, 0), labels, strata=strata).strata
    ]
    assert found == [("a", 3, 1, 1), ("a", 4, 0, 1), ("b", 4, 1, 0)]


def test_counts_equal_those_of_one_item_at_a_time() -> None:
    rng = np.random.default_rng(3)
    n, models = 400, 5
    K = rng.choice([3, 5], n)
    item = rng.permutation(np.repeat(np.arange(n), 2))[:500]
    option = rng.integers(0, K[item])
    _, first = np.unique(item * 10 + option, return_index=True)
    item, option = item[first], option[first]
    truth = rng.integers(0, K)
    kind = np.where(truth[item] == option, 1, np.where(rng.random(item.size) < 0.1, -1, 0))
    y_hat = np.where(
        rng.random((models, n)) < 0.1, rng.integers(-2, 0, (models, n)), rng.integers(0, K, (models, n))
    )
    labels = label_columns(option, kind, K, item)
    for y in y_hat:
        for t in tally(PredictionColumns(index=labels.index, option=y), labels).strata:
            expected = count_slowly(y, option, kind, K, item, t.K)
            assert (t.S_o, t.n_o, t.S_c, t.n_c, t.n_unreadable, t.n_failed) == expected


def count_slowly(y: Ints, option: Ints, kind: Ints, K: Ints, item: Ints, k: int) -> tuple[int, ...]:
    """S_o, n_o, S_c, n_c, unreadable, failed of the items with k options, one item at a time."""
    S_o = n_o = S_c = n_c = unreadable = failed = 0
    for i in np.flatnonzero(k == K).tolist():
        rows = [r for r in np.flatnonzero(item == i).tolist() if kind[r] >= 0]
        if not rows:
            continue
        if y[i] == -1:
            unreadable += 1
        elif y[i] == -2:
            failed += 1
        elif any(kind[r] == 1 for r in rows):
            n_o += 1
            S_o += any(kind[r] == 1 and option[r] == y[i] for r in rows)
        else:
            n_c += 1
            S_c += all(option[r] != y[i] for r in rows)
    return S_o, n_o, S_c, n_c, unreadable, failed


GOOD = [label(0, 1, YES), label(1, 2, NO), label(2, 0, NO)]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "labels must not be empty"),
        ([*GOOD, label(0, 4, NO)], r"labels\[3\]: option must lie in 0\.\.3 for item 'i0', is 4"),
        ([*GOOD, label(1, -1, NO)], r"labels\[3\]: option must lie in 0\.\.3 for item 'i1', is -1"),
        ([*GOOD, label(9, 1, NO)], r"labels\[3\]: item 'i9' has no prediction"),
        (
            [*GOOD, label(1, 2, NO)],
            r"labels\[1\] and labels\[3\]: item 'i1', option 2 must have one answer, has two",
        ),
        ([*GOOD, label(1, 2, YES)], r"labels\[1\] and labels\[3\]: item 'i1', option 2 .* both yes and no"),
        ([*GOOD, label(0, 3, YES)], r"item 'i0' must have one true option, has yes for \[1, 3\]"),
        ([*GOOD, *(label(1, k, NO) for k in (0, 1, 3))], "item 'i1' has a no for all its 4 options"),
        (
            [*GOOD, label(1, 0, NO, 5)],
            r"labels\[3\]: n_options of item 'i1' must be 4 as in its first label, is 5",
        ),
        ([label(0, 0, YES, 1, 1.0)], r"labels\[0\]: n_options must be at least 2, is 1"),
        (
            [*GOOD, replace(label(1, 0, NO), propensity=0.0)],
            r"labels\[3\]: propensity must lie in \(0, 1\], is 0\.0",
        ),
        ([*GOOD, replace(label(1, 0, NO), propensity=1.5)], r"propensity must lie in \(0, 1\], is 1\.5"),
        ([*GOOD, replace(label(1, 0, NO), propensity=float("nan"))], r"labels\[3\]: propensity .* is nan"),
    ],
)
def test_bad_labels_are_refused(labels: list[Label], message: str) -> None:
    with pytest.raises(EstimateError, match=message):
        tally(predicted(1, 2, 3), labels)


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([], "predictions must not be empty"),
        (
            [*predicted(1, 2, 3), Prediction("i0", 1, sample=1)],
            r"predictions\[3\]: item 'i0' must have one prediction",
        ),
        (predicted(4, 2, 3), r"option must lie in 0\.\.3 .* for item 'i0', is 4"),
        (
            [Prediction("i0", None), *predicted(0, 2, 3)[1:]],
            r"predictions\[0\]: option must be ≥ 0 .* is None",
        ),
    ],
)
def test_bad_predictions_are_refused(predictions: list[Prediction], message: str) -> None:
    with pytest.raises(EstimateError, match=message):
        tally(predictions, GOOD)


def test_a_missing_stratum_is_named() -> None:
    with pytest.raises(EstimateError, match="item 'i2' has no stratum"):
        tally(predicted(1, 2, 3), GOOD, strata={"i0": "a", "i1": "a"})
