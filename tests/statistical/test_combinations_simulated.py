"""Intervals hold: unequal chances with gold, classes or clusters, and second questions with classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import (
    ItemPool,
    ItemValues,
    LabelColumns,
    OfferedOptions,
    PredictionColumns,
    mark,
)
from oversight.harness.estimate import (
    Comparison,
    CostTable,
    ErrorRanges,
    GoldCounts,
    RoutedSample,
    accuracy,
    chances_by_deviation,
    classification_report,
    compare,
    draw_with_chances,
)
from oversight.harness.estimate.expert_errors import corrected_accuracy
from oversight.harness.estimate.paired import corrected_difference
from oversight.harness.types import Estimate
from tests.label_columns import label_columns

pytestmark = [pytest.mark.statistical, pytest.mark.slow]
STUDIES, K = 40, 4
CLASSES = ("a", "b", "c", "d")
LEAST = 0.88


def draw_pool(rng: np.random.Generator, size: int) -> tuple[IntArray, list[IntArray], FloatArray]:
    """Truth of a pool, what two models predict, and how likely each item is to be right."""
    truth = rng.choice(K, size=size, p=(0.4, 0.3, 0.2, 0.1))
    hard = rng.random(size)
    options = [
        np.where(rng.random(size) < accuracy - 0.3 * hard, truth, rng.integers(K, size=size))
        for accuracy in (0.95, 0.8)
    ]
    return truth, options, np.clip(1 - 0.6 * hard, 0.02, 0.98)


def draw_items(right: FloatArray, number: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Places of items drawn from the pool with unequal chances, and how many each stands for."""
    chances = chances_by_deviation(np.sqrt(right * (1 - right)), number)
    places = draw_with_chances(chances, right, rng)
    return places, 1 / chances[places]


@pytest.mark.parametrize("errors", [(0.95, 0.97), (0.85, 0.9)])
def test_gold_corrects_items_of_unequal_chances(errors: tuple[float, float]) -> None:
    s, t = errors
    covered = []
    for seed in range(STUDIES):
        rng = np.random.default_rng([seed, 1])
        truth, (first, second), right = draw_pool(rng, 4000)
        places, weight = draw_items(right, 300, rng)
        asked = rng.integers(K, size=places.size)
        is_true = asked == truth[places]
        data = RoutedSample(
            item=np.arange(places.size),
            asked=asked,
            answer=np.where(rng.random(places.size) < np.where(is_true, s, 1 - t), 1.0, 0.0),
            propensities=np.full((places.size, K), 1 / K),
            error_free=False,
            weight=weight,
        )
        yes, no = int(rng.binomial(80, s)), int(rng.binomial(80, t))
        gold = GoldCounts(yes, 80, no, 80)
        one = corrected_accuracy(first[places], data, gold)
        known = ErrorRanges(gold_true=(yes, 80 - yes), gold_false=(80 - no, no))
        two = corrected_difference(first[places], second[places], data, known)
        A, B = (float((options == truth).mean()) for options in (first, second))
        covered.append((one.low <= A <= one.high, two.low <= A - B <= two.high))
    accuracy, difference = np.mean(covered, axis=0)
    assert accuracy >= LEAST, accuracy
    assert difference >= LEAST, difference


COSTS = CostTable(costs=np.array([[0, 1, 2, 5], [1, 0, 1, 2], [3, 1, 0, 1], [9, 4, 2, 0]], np.float64))
METRICS = ("precision", "recall", "f1", "macro_recall")


def true_results(truth: IntArray, option: IntArray) -> dict[str, float]:
    """Precision, recall and F1 of every class in a pool, and the mean recall."""
    found, recalls = dict[str, float](), list[float]()
    for k, name in enumerate(CLASSES):
        both = float(((truth == k) & (option == k)).mean())
        said, true = float((option == k).mean()), float((truth == k).mean())
        found |= {f"precision[{name}]": both / said, f"recall[{name}]": both / true}
        found[f"f1[{name}]"] = 2 * both / (said + true)
        recalls.append(both / true)
    return found | {"macro_recall": float(np.mean(recalls))}


def ask_first(
    truth: IntArray, option: IntArray, rng: np.random.Generator
) -> tuple[PredictionColumns, LabelColumns]:
    """Predictions, and answers to one question about every item, its option drawn uniformly."""
    n = truth.size
    asked = rng.integers(K, size=n)
    kind = (asked == truth).astype(np.int64)
    labels = label_columns(asked, kind, np.full(n, K), np.arange(n))
    labels = replace(labels, asked=np.ones(n, np.bool_))
    return PredictionColumns(index=labels.index, option=option), labels


def ask_again(labels: LabelColumns, truth: IntArray, share: float, rng: np.random.Generator) -> LabelColumns:
    """A second question about a share of the items whose first answer was no, among the options left."""
    put = np.flatnonzero((labels.kind == 0) & (rng.random(truth.size) < share))
    items = labels.item[put]
    left = np.ones((put.size, K))
    left[np.arange(put.size), labels.option[put]] = 0
    chosen = (rng.random((put.size, K)) * left).argmax(axis=1)
    offered = OfferedOptions.of((share * left / (K - 1)).tolist())
    questions = replace(
        labels.questions.take(put),
        option=chosen.astype(np.int64),
        propensity=np.full(put.size, share / (K - 1)),
        offered=offered,
    )
    kind = (chosen == truth[items]).astype(np.int64)
    asked = mark(items, labels.index.size)
    return replace(labels, questions=questions, kind=kind, drawn=questions, asked=asked)


def test_results_by_class_hold_with_unequal_chances() -> None:
    covered = dict[str, list[bool]]()
    for seed in range(STUDIES):
        rng = np.random.default_rng([seed, 2])
        truth, (option, _), right = draw_pool(rng, 4000)
        places, weight = draw_items(right, 500, rng)
        predictions, labels = ask_first(truth[places], option[places], rng)
        pool = ItemPool(stratum=np.zeros(places.size, np.int64), size=truth.size, weight=weight)
        found = classification_report(
            predictions, replace(labels, pool=pool), CLASSES, metrics=METRICS, costs=COSTS
        )
        wanted = true_results(truth, option) | {"cost": float(COSTS.costs[truth, option].mean())}
        for name, estimate in found.items():
            covered.setdefault(name, []).append(estimate.low <= wanted[name] <= estimate.high)
    shares = {name: float(np.mean(hits)) for name, hits in covered.items() if len(hits) > STUDIES / 2}
    assert len(shares) >= 10
    assert min(shares.values()) >= LEAST, shares


def draw_clustered_pool(
    rng: np.random.Generator, size: int, clusters: int
) -> tuple[IntArray, list[IntArray], IntArray]:
    """Truth of a pool, what two models predict, and clusters within which they tend to be right together."""
    truth, cluster = rng.choice(K, size=size, p=(0.4, 0.3, 0.2, 0.1)), rng.integers(clusters, size=size)
    options = []
    for mean in (0.9, 0.7):
        share = rng.beta(3 * mean, 3 * (1 - mean), clusters)[cluster]
        wrong = (truth + rng.integers(1, K, size=size)) % K
        options.append(np.where(rng.random(size) < share, truth, wrong))
    return truth, options, cluster


def test_unequal_chances_hold_in_clusters() -> None:
    covered = dict[str, list[bool]]()
    for seed in range(2 * STUDIES):
        rng = np.random.default_rng([seed, 4])
        truth, options, cluster = draw_clustered_pool(rng, 3000, 60)
        places, weight = draw_items(np.clip(rng.beta(3, 1, truth.size), 0.02, 0.98), 300, rng)
        first, labels = ask_first(truth[places], options[0][places], rng)
        named = {item: f"c{cluster[place]}" for item, place in zip(labels.index.ids, places, strict=True)}
        pool = ItemPool(stratum=np.zeros(places.size, np.int64), size=truth.size, weight=weight)
        labels = replace(labels, pool=pool, cluster=ItemValues.of(named, labels.index))
        second = replace(first, option=options[1][places])
        both = {"first": first, "second": second}
        gold = GoldCounts(80, 80, 80, 80)
        known = ErrorRanges(gold_true=(80, 0), gold_false=(0, 80))
        found: dict[str, Estimate | Comparison] = {
            "first": accuracy(first, labels),
            "difference": compare(both, labels).pairs[0],
            "gold": accuracy(first, labels, gold=gold),
            "gold difference": compare(both, labels, errors=known).pairs[0],
            **classification_report(first, labels, CLASSES, metrics=METRICS),
        }
        A, B = (float((option == truth).mean()) for option in options)
        wanted = {"first": A, "gold": A, "difference": A - B, "gold difference": A - B}
        wanted |= true_results(truth, options[0])
        for name, one in found.items():
            covered.setdefault(name, []).append(one.low <= wanted[name] <= one.high)
    shares = {name: float(np.mean(hits)) for name, hits in covered.items() if len(hits) > STUDIES}
    assert len(shares) >= 14
    assert min(shares.values()) >= 0.9, shares


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_second_questions_narrow_results_by_class(share: float) -> None:
    covered, widths = dict[str, list[bool]](), list[float]()
    for seed in range(STUDIES // 2):  # each takes seconds
        rng = np.random.default_rng([seed, 3])
        truth, (option, _), _ = draw_pool(rng, 600)
        predictions, labels = ask_first(truth, option, rng)
        second = ask_again(labels, truth, share, rng)
        found, plain = (
            classification_report(predictions, labels, CLASSES, metrics=METRICS, second=told)
            for told in (second, None)
        )
        # The 600 items are a sample; the expected results are those of a large pool.
        for name, estimate in found.items():
            hit = estimate.low <= EXPECTED[name] <= estimate.high
            covered.setdefault(name, []).append(hit)
            if name in plain:
                widths.append((estimate.high - estimate.low) / (plain[name].high - plain[name].low))
    shares = {name: float(np.mean(hits)) for name, hits in covered.items() if len(hits) > STUDIES / 4}
    assert len(shares) >= 10
    assert min(shares.values()) >= 0.85, shares
    assert np.mean(widths) < 1, np.mean(widths)


def _expect() -> dict[str, float]:
    truth, (option, _), _ = draw_pool(np.random.default_rng(0), 2_000_000)
    return true_results(truth, option)


EXPECTED = _expect()
