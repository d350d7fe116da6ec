"""Items drawn from a pool in proportion within strata: fair draws, intervals that hold, and no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oversight.harness import BadInput, IntArray
from oversight.harness.estimate import (
    accuracies,
    compare,
    draw_in_proportion,
    guess_right,
    split_by_agreement,
)
from oversight.harness.estimate.intervals import DrawnStrata, design_effect, drawn_interval
from oversight.harness.estimate.routed_means import routed_accuracy
from oversight.harness.estimate.routed_sample import RoutedSample, accuracy_target
from oversight.harness.types import Label, LabelDesign, LabelKind, Labels, Prediction, PredictionStatus
from oversight.protocols.routing import Partitioned, Targeted

N, K = 2_000, 4


def population(seed: int) -> tuple[IntArray, IntArray]:
    """Truth is option 0; five models that err more on the later items, and partly together."""
    rng = np.random.default_rng(seed)
    hard = np.linspace(0.02, 0.9, N)
    shared = rng.random(N) < hard / 2
    wrong = shared[:, None] | (rng.random((N, 5)) < hard[:, None] / 2)
    return np.where(wrong, rng.integers(1, K, (N, 5)), 0), np.full(N, K)


def test_every_item_is_drawn_as_often_and_every_stratum_in_proportion() -> None:
    stratum = np.repeat([0, 1, 2], [10, 25, 5])
    times, counts = np.zeros(40), []
    for seed in range(4_000):
        places = draw_in_proportion(stratum, 12, np.random.default_rng(seed))
        assert len(set(places.tolist())) == 12
        times[places] += 1
        counts.append(np.bincount(stratum[places], minlength=3))
    assert np.abs(times / 4_000 - 0.3).max() < 4 * np.sqrt(0.21 / 4_000)
    assert np.abs(np.array(counts) - [3, 7.5, 1.5]).max() < 1.01
    assert draw_in_proportion(stratum, 40, np.random.default_rng(0)).tolist() == list(range(40))


def test_strata_of_agreement_tell_right_from_wrong_without_a_label() -> None:
    predicted, options = population(0)
    right = guess_right(predicted, options)
    assert np.corrcoef(right[:, 0], predicted[:, 0] == 0)[0, 1] > 0.5
    stratum = split_by_agreement(right[:, :1], 80)
    assert stratum.max() == 19
    assert np.bincount(stratum).min() >= N // 60
    z = predicted[:, 0] == 0
    within = sum(z[stratum == s].var() * (stratum == s).mean() for s in range(20))
    assert z.var() / within > 1.6


@pytest.mark.parametrize("votes", ["none readable", "all alike", "one model"])
def test_uninformative_models_give_one_stratum(votes: str) -> None:
    predicted = np.full((50, 1 if votes == "one model" else 3), -1 if votes == "none readable" else 2)
    right = guess_right(predicted, np.full(50, K))
    assert split_by_agreement(right, 40).max() == 0


def test_strata_narrow_an_interval_only_if_they_differ() -> None:
    strata = DrawnStrata(number=np.repeat(np.arange(10), 10), share=1.0)
    assert design_effect(np.ones(100), strata) == 1.0
    alone = DrawnStrata(number=np.arange(100), share=1.0)
    assert design_effect((np.arange(100) < 60).astype(float), alone) > 0.97
    telling = (np.arange(100) < 60).astype(float)
    assert design_effect(telling, strata) < 0.2
    assert drawn_interval(telling, strata, 0.95)[2] == "clopper-pearson+strata"
    half = DrawnStrata(number=strata.number, share=0.5)
    assert design_effect(telling, half) == pytest.approx((1 + design_effect(telling, strata)) / 2)


@pytest.mark.parametrize("kind", ["votes", "constant", "reversed", "noise", "perfect"])
@pytest.mark.parametrize("n", [24, 300])
def test_the_interval_of_drawn_items_covers_whatever_the_strata_are_worth(kind: str, n: int) -> None:
    predicted, options = population(1)
    right = predicted[:, 0] == 0
    rng = np.random.default_rng(n)
    score = {
        "votes": guess_right(predicted, options)[:, 0],
        "constant": np.zeros(N),
        "reversed": -guess_right(predicted, options)[:, 0],
        "noise": rng.random(N),
        "perfect": right + rng.random(N),
    }[kind]
    stratum, held, errors = split_by_agreement(score[:, None], n), 0, []
    for _ in range(400):
        places = draw_in_proportion(stratum, n, rng)
        z = right[places].astype(float)
        low, high, _ = drawn_interval(z, DrawnStrata(number=stratum[places], share=1.0), 0.95)
        held += low <= right.mean() <= high
        errors.append(z.mean() - right.mean())
    assert held / 400 > 0.95 - 3 * np.sqrt(0.0475 / 400)
    assert abs(np.mean(errors)) < 4 * np.std(errors) / 20 + 1e-9


def shared_sample(places: IntArray, predicted: IntArray, seed: int) -> RoutedSample:
    """One question an item, uniform over its options; option 0 is true."""
    asked = np.random.default_rng(seed).integers(0, K, len(places))
    answer = (asked == 0).astype(float)
    flat = np.full((len(places), K), 1 / K)
    return RoutedSample(item=np.arange(len(places)), asked=asked, answer=answer, propensities=flat)


def test_the_tilted_interval_within_strata_covers_and_is_no_wider() -> None:
    predicted, options = population(2)
    stratum = split_by_agreement(guess_right(predicted, options)[:, :1], 160)
    right, held, widths = (predicted[:, 0] == 0).mean(), 0, []
    rng = np.random.default_rng(3)
    for seed in range(150):
        places = draw_in_proportion(stratum, 160, rng)
        data, own = shared_sample(places, predicted, seed), predicted[places, 0]
        strata = DrawnStrata(number=stratum[places], share=1.0)
        working = np.full((160, K), 0.05)
        votes = np.stack([(predicted[places] == k).mean(axis=1) for k in range(K)], axis=1)
        working = 0.8 * votes + working
        plain = routed_accuracy(own, data, working=working)
        found = routed_accuracy(own, replace(data, strata=strata), working=working)
        held += found.low <= right <= found.high
        widths.append((found.high - found.low, plain.high - plain.low))
    assert held / 150 > 0.95 - 3 * np.sqrt(0.0475 / 150)
    assert np.mean(widths, axis=0)[0] < np.mean(widths, axis=0)[1]


def test_an_unreadable_prediction_is_wrong_in_its_stratum() -> None:
    option = np.array([0] * 30 + [-1] * 10)
    data = RoutedSample(
        item=np.arange(30),
        asked=np.zeros(30, np.int64),
        answer=np.ones(30),
        propensities=accuracy_target(option, K),
    )
    strata = DrawnStrata(number=np.repeat([0, 0, 0, 1], 10), share=1.0)
    found, plain = routed_accuracy(option, replace(data, strata=strata)), routed_accuracy(option, data)
    assert found.value == plain.value == 0.75
    assert found.high - found.low < plain.high - plain.low


def labels_of(drawn: list[str], n: int) -> tuple[list[Prediction], Labels]:
    """`n` predictions, every second one an unreadable; questions about the drawn items, all answered."""
    predictions = [
        Prediction(
            f"i{j}", None if j % 2 else 0, PredictionStatus.UNREADABLE if j % 2 else PredictionStatus.OK
        )
        for j in range(n)
    ]
    design = LabelDesign(
        statements=(Targeted.statement,), asked=frozenset(x for x in drawn if int(x[1:]) % 2 == 0)
    )
    labels = [
        Label(name, 0, LabelKind.ORDINARY, K, 1.0, propensities=(1.0, 0.0, 0.0, 0.0))
        for name in sorted(design.asked)
    ]
    return predictions, Labels(labels, design)


def test_items_that_were_not_drawn_are_neither_wrong_nor_unanswered() -> None:
    drawn = [f"i{j}" for j in range(20)]
    predictions, labels = labels_of(drawn, 200)
    found = accuracies(predictions, labels.drawn_from(dict.fromkeys(drawn, "one"), pool_size=200))["routed"]
    assert found.value == 0.5
    assert (found.n.ordinary, found.n.unasked, found.n.unlabelled) == (10, 10, 0)


def test_models_are_compared_on_the_drawn_items() -> None:
    drawn = [f"i{j}" for j in range(0, 40, 2)]
    predictions, labels = labels_of(drawn, 200)
    other = [Prediction(f"i{j}", 0, PredictionStatus.OK) for j in range(200)]
    (pair,) = compare(
        {"a": predictions, "b": other}, labels.drawn_from(dict.fromkeys(drawn, "one"), pool_size=200)
    ).pairs
    assert pair.items == 20


def test_pool_smaller_than_the_sample_is_refused() -> None:
    labels = Labels([], LabelDesign(statements=(Partitioned.statement,), asked=frozenset()))
    with pytest.raises(BadInput, match="pool_size must be at least 2"):
        labels.drawn_from({"a": "x", "b": "x"}, pool_size=1)
