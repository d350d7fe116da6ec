"""Clusters of any sizes: intervals cover, are no wider than they need to be, or are withheld."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

import oversight as ov
from oversight.harness import EstimateError, NotIdentified
from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate import effective_clusters
from oversight.harness.estimate.paired import mcnemar
from oversight.harness.estimate.routed_means import resolved_accuracy
from oversight.harness.types import Item, Prediction
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Disagreement, Partitioned, Targeted, one_expert_per_class

CLASSES = ("red", "green", "blue", "black")
ROSTER = one_expert_per_class(CLASSES)
SIZES: dict[str, list[int]] = {
    "equal": [5] * 20,
    "zipf 1.2": [max(1, round(60 / k**1.2)) for k in range(1, 31)],
    "one large": [50] + [1] * 100,
    "three large": [20] * 3 + [1] * 40,
    "too few": [100] + [1] * 30,
}


def number(sizes: str) -> IntArray:
    """Number of every item's cluster."""
    return np.repeat(np.arange(len(SIZES[sizes])), SIZES[sizes])


def draw_right(cluster: IntArray, accuracy: float, correlation: float, rng: np.random.Generator) -> IntArray:
    """Whether a model is right on each item: 1 or 0, by latent normals with a part that a cluster shares."""
    shared = rng.normal(size=cluster.max() + 1)[cluster]
    own = rng.normal(size=len(cluster))
    latent = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    return np.asarray(latent < ndtri(accuracy), dtype=np.int64)


def ends_of_accuracy(sizes: str, accuracy: float, correlation: float, draws: int) -> FloatArray:
    """Value, low and high of an accuracy on resolved items, shape (draws, 3)."""
    rng, cluster = np.random.default_rng(5), number(sizes)
    found = [
        resolved_accuracy(draw_right(cluster, accuracy, correlation, rng), cluster=cluster)
        for _ in range(draws)
    ]
    return np.array([(e.value, e.low, e.high) for e in found])


def share_inside(ends: FloatArray, truth: float) -> float:
    """Share of the intervals that hold the truth."""
    return float(np.mean((ends[:, 1] <= truth) & (truth <= ends[:, 2])))


def least(draws: int) -> float:
    """Smallest coverage that chance explains at a level of .95."""
    return float(0.95 - 2.6 * np.sqrt(0.05 * 0.95 / draws))


@pytest.mark.parametrize("sizes", ["zipf 1.2", "one large", "three large"])
def test_accuracies_cover_on_clusters_of_unequal_size(sizes: str) -> None:
    ends = ends_of_accuracy(sizes, 0.6, 0.6, 200)
    assert share_inside(ends, 0.6) >= least(200)
    assert np.mean(ends[:, 2] - ends[:, 1]) < 0.65


@pytest.mark.slow
@pytest.mark.parametrize("accuracy", [0.6, 0.8])
def test_accuracies_on_equal_clusters_are_at_most_a_quarter_too_wide(accuracy: float) -> None:
    ends = ends_of_accuracy("equal", accuracy, 0.4, 300)
    assert share_inside(ends, accuracy) >= least(300)
    value, low, high = ends.T
    reach = np.where(accuracy > value, high - value, value - low)
    needed = np.abs(accuracy - value) / np.maximum(reach, 1e-9)
    assert 1 / np.quantile(needed, 0.95) <= 1.25


def test_differences_cover_on_clusters_of_unequal_size() -> None:
    rng, cluster, covered = np.random.default_rng(6), number("zipf 1.2"), []
    for _ in range(400):
        first, second = (draw_right(cluster, a, 0.6, rng) for a in (0.9, 0.5))
        found = mcnemar(first, second, questions=0, cluster=cluster)
        covered.append(found.low <= 0.4 <= found.high)
    assert np.mean(covered) >= least(400)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("protocol", ["partitioned", "targeted"])
def test_protocols_cover_on_clusters_of_unequal_size(protocol: str) -> None:
    rng, covered = np.random.default_rng(7), []
    for seed in range(150):
        labels, predictions, _ = study("zipf 1.2", protocol, 0.6, rng, seed)
        e = ov.accuracy(predictions["m"], labels)
        covered.append(e.low <= 0.6 <= e.high)
    assert np.mean(covered) >= 0.915


@pytest.mark.parametrize("protocol", ["partitioned", "targeted", "disagreement"])
def test_one_cluster_that_decides_an_estimate_withholds_it(protocol: str) -> None:
    labels, predictions, _ = study("too few", protocol, 0.6, np.random.default_rng(8), 1)
    message = "31 clusters, the largest with 77% of the items, count as 1.7 clusters of equal size"
    with pytest.raises(NotIdentified, match=message):
        ov.compare(predictions, labels)
    if protocol != "disagreement":
        with pytest.raises(NotIdentified, match="an interval needs at least 4: label items"):
            ov.accuracy(predictions["m"], labels)


def test_clusters_of_one_item_leave_items_independent() -> None:
    labels, predictions, items = study("equal", "targeted", 0.8, np.random.default_rng(9), 1)
    alone = {item.id: item.id for item in items}
    plain, apart = (ov.accuracy(predictions["m"], labels.clustered(c)) for c in ({}, alone))
    assert (apart.value, apart.high) == pytest.approx((plain.value, plain.high), abs=0.01)
    few = dict.fromkeys([item.id for item in items], "all")
    with pytest.raises(EstimateError, match="must be at least 2"):
        ov.accuracy(predictions["m"], labels.clustered(few))


def test_effective_clusters_are_those_of_equal_size() -> None:
    assert effective_clusters(number("equal")) == 20
    assert effective_clusters(number("too few")) == pytest.approx(130**2 / (100**2 + 30))
    assert effective_clusters(np.array([0, 0, 7, 7])) == 2


def study(
    sizes: str, protocol: str, accuracy: float, rng: np.random.Generator, seed: int
) -> tuple[ov.Labels, dict[str, list[Prediction]], list[Item]]:
    """A collected study with two models, `m` and `other`, that are right and wrong by cluster."""
    cluster = number(sizes)
    items = [Item(f"i{j}", "t", CLASSES, (0, 1, 2, 3)) for j in range(len(cluster))]
    truth = {item.id: int(k) for item, k in zip(items, rng.integers(4, size=len(items)), strict=True)}
    models = {}
    for name in ("m", "other"):
        right = draw_right(cluster, accuracy, 0.6, rng)
        wrong = rng.integers(1, 4, size=len(items))
        rows = zip(truth.items(), right, wrong, strict=True)
        models[name] = {i: k if ok else (k + int(w)) % 4 for (i, k), ok, w in rows}
    rules: dict[str, Any] = {
        "partitioned": Partitioned(ROSTER, seed=seed),
        "targeted": Targeted(ROSTER, models, seed=seed),
        "disagreement": Disagreement(ROSTER, models, seed=seed),
    }
    plan = rules[protocol]
    labels = plan.decode(SimulatedExperts(truth).answer(plan.route(items)))
    labels = labels.clustered({item.id: str(c) for item, c in zip(items, cluster, strict=True)})
    return labels, {name: [Prediction(i, k) for i, k in m.items()] for name, m in models.items()}, items
