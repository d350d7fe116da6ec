"""Items that are not independent: accuracies and comparisons by cluster, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import oversight as ov
from oversight.harness import BadInput, EstimateError
from oversight.harness.estimate import ErrorRanges, GoldCounts
from oversight.harness.estimate.model_comparison import rank_models
from oversight.harness.estimate.paired import mcnemar
from oversight.harness.estimate.routed_means import resolved_accuracy
from oversight.harness.types import Answer, Item, Prediction, PredictionStatus
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Disagreement, Partitioned, Sequential, Targeted, one_expert_per_class

CLASSES = ("red", "green", "blue", "black")
ROSTER = one_expert_per_class(CLASSES)
SIZE, GROUPS = 6, 50
ITEMS = [Item(f"i{j}", "t", CLASSES, (0, 1, 2, 3)) for j in range(SIZE * GROUPS)]
CLUSTERS = {item.id: f"patient {j // SIZE}" for j, item in enumerate(ITEMS)}
ALONE = {item.id: item.id for item in ITEMS}
RNG = np.random.default_rng(8)
TRUTH = {item.id: int(RNG.integers(4)) for item in ITEMS}


def a_model(rate: float) -> dict[str, int]:
    """Right on all items of a patient or wrong on all."""
    right = RNG.random(GROUPS) < rate
    return {
        i: t if right[j // SIZE] else (t + 1 + int(RNG.integers(3))) % 4
        for j, (i, t) in enumerate(TRUTH.items())
    }


MODELS = {"good": a_model(0.8), "poor": a_model(0.55)}
PREDICTIONS = {name: [Prediction(i, k) for i, k in rows.items()] for name, rows in MODELS.items()}


def collect(name: str) -> ov.Labels:
    """All questions of a protocol answered."""
    plans: dict[str, Any] = {
        "partitioned": Partitioned(ROSTER, seed=2),
        "several": Partitioned(ROSTER, seed=2, options_per_item=2),
        "targeted": Targeted(ROSTER, MODELS, seed=2),
        "alone": Targeted(ROSTER, {"good": MODELS["good"]}, seed=2),
        "sequential": Sequential(ROSTER, MODELS, seed=2),
        "disagreement": Disagreement(ROSTER, MODELS, seed=2),
    }
    plan = plans[name]
    answers: list[Answer] = []
    questions = plan.route(ITEMS)
    while questions:
        answers += SimulatedExperts(TRUTH).answer(questions)
        asked = {a.question.id for a in answers}
        more = plan.next_questions(ITEMS, answers) if plan.statement.asks_on else []
        questions = [q for q in more if q.id not in asked]
    labels: ov.Labels = plan.decode(answers)
    return labels


@pytest.mark.parametrize("name", ["partitioned", "several", "targeted", "alone", "sequential"])
def test_accuracy_is_less_certain_on_clusters(name: str) -> None:
    labels = collect(name)
    plain = ov.accuracy(PREDICTIONS["good"], labels)
    apart, together = (ov.accuracy(PREDICTIONS["good"], labels.clustered(c)) for c in (ALONE, CLUSTERS))
    assert together.value == pytest.approx(apart.value)
    assert together.low < apart.low < apart.value < apart.high < together.high
    assert together.high - together.low > 1.3 * (plain.high - plain.low)
    assert together.low <= np.mean([MODELS["good"][i] == t for i, t in TRUTH.items()]) <= together.high
    assert ov.accuracies(PREDICTIONS["good"], labels.clustered(CLUSTERS)).popitem()[1] == together


@pytest.mark.parametrize("name", ["partitioned", "several", "targeted", "sequential", "disagreement"])
def test_a_difference_is_less_certain_on_clusters(name: str) -> None:
    labels = collect(name)
    (plain,) = ov.compare(PREDICTIONS, labels).pairs
    (together,) = ov.compare(PREDICTIONS, labels.clustered(CLUSTERS)).pairs
    assert together.difference == pytest.approx(plain.difference, abs=0.02)
    assert together.low <= together.difference <= together.high
    assert together.high - together.low > 1.2 * (plain.high - plain.low)
    assert together.p_value > plain.p_value
    (swapped,) = ov.compare(dict(reversed(PREDICTIONS.items())), labels.clustered(CLUSTERS)).pairs
    expected = (-together.difference, -together.high, -together.low, together.p_value)
    found = (swapped.difference, swapped.low, swapped.high, swapped.p_value)
    assert found == pytest.approx(expected, abs=1e-6)


def test_unreadable_predictions_of_whole_clusters_widen_the_share() -> None:
    labels = collect("partitioned")
    some = [
        p if j // SIZE % 4 else Prediction(p.item_id, None, PredictionStatus.UNREADABLE)
        for j, p in enumerate(PREDICTIONS["good"])
    ]
    apart, together = (ov.accuracy(some, labels.clustered(c)) for c in (ALONE, CLUSTERS))
    assert together.interval == "tilted-score+share"
    assert together.low < apart.low < together.value < apart.high < together.high


def test_always_right_and_always_wrong_are_no_tie() -> None:
    cluster = np.repeat(np.arange(20), 2)
    found = mcnemar(np.ones(40), np.zeros(40), questions=0, cluster=cluster)
    assert (found.difference, found.verdict) == (1.0, "a")
    assert 0 < found.low < found.high == 1
    same = mcnemar(np.ones(40), np.ones(40), questions=0, cluster=cluster)
    assert (same.difference, same.p_value) == (0.0, 1.0)
    assert same.low < 0 < same.high
    ranking = rank_models(
        {"all": 1.0, "none": 0.0},
        lambda i, j, level: replace(
            mcnemar(np.ones(40), np.zeros(40), questions=0, level=level, cluster=cluster), first=i, second=j
        ),
    )
    assert ranking.ranks == ((1, 1), (2, 2))


def test_a_sample_without_an_error_is_not_certain_on_clusters() -> None:
    cluster = np.repeat(np.arange(10), 5)
    alone, together = resolved_accuracy(np.ones(50)), resolved_accuracy(np.ones(50), cluster=cluster)
    assert together.value == together.high == 1
    assert together.low < alone.low
    # Ten clusters without an error do not exclude that 30 % of all clusters are completely wrong.
    assert together.low < 0.025 ** (1 / 10)


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        ({i: c for i, c in CLUSTERS.items() if i != "i7"}, "clusters: item 'i7' has no cluster"),
        (dict.fromkeys(CLUSTERS, "all"), "must be at least 2, but all items are in 'all'"),
    ],
)
@pytest.mark.parametrize("name", ["partitioned", "targeted", "sequential"])
def test_bad_clusters_are_named(name: str, clusters: dict[str, str], message: str) -> None:
    labels = collect(name).clustered(clusters)
    with pytest.raises(EstimateError, match=message):
        ov.accuracy(PREDICTIONS["good"], labels)
    with pytest.raises(EstimateError, match=message):
        ov.compare(PREDICTIONS, labels)


def test_options_that_take_items_as_independent_are_refused() -> None:
    labels, rows = collect("partitioned").clustered(CLUSTERS), PREDICTIONS["good"]
    for options in ({"estimator": "ord"}, {"interval": "score"}):
        with pytest.raises(BadInput, match="leave it out"):
            ov.accuracy(rows, labels, **options)  # type: ignore[arg-type]  # one of several types


@pytest.mark.parametrize("name", ["partitioned", "targeted"])
def test_corrected_for_errors_clusters_are_the_units(name: str) -> None:
    gold = GoldCounts(yes_on_true=48, n_true=50, no_on_false=47, n_false=50)
    errors = ErrorRanges(gold_true=(48, 2), gold_false=(3, 47))
    apart, together = collect(name), collect(name).clustered(CLUSTERS)
    plain, clustered = (ov.accuracy(PREDICTIONS["good"], x, gold=gold) for x in (apart, together))
    assert clustered.high - clustered.low > 1.05 * (plain.high - plain.low)
    assert clustered.value == pytest.approx(plain.value, abs=0.05)
    (alone,), (joint,) = (ov.compare(PREDICTIONS, x, errors=errors).pairs for x in (apart, together))
    assert joint.high - joint.low > alone.high - alone.low
    assert joint.method == "delta"


def test_strata_of_clustered_items_are_refused() -> None:
    labels = collect("partitioned").clustered(CLUSTERS)
    with pytest.raises(BadInput, match="strata"):
        ov.accuracy(PREDICTIONS["good"], labels, strata=CLUSTERS)
    with pytest.raises(BadInput, match="published"):
        ov.accuracy(PREDICTIONS["good"], labels, published=True)


def test_anytime_interval_uses_clusters_as_units() -> None:
    labels, rows = collect("partitioned"), PREDICTIONS["good"]
    alone = ov.accuracy(rows, labels, interval="anytime")
    together = ov.accuracy(rows, labels.clustered(CLUSTERS), interval="anytime")
    assert together.value == alone.value
    assert together.low < alone.low
    assert together.high > alone.high
    assert "clusters are independent draws" in together.assumptions
    with pytest.raises(EstimateError, match="must be at least 2"):
        ov.accuracy(rows, labels.clustered(dict.fromkeys(CLUSTERS, "all")), interval="anytime")
