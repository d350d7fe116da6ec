"""A search over items that come in clusters: splits keep them whole, spreads count them as the units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oversight.agents.search import ExpertLabels, shrink_scores
from oversight.agents.search.fitness.empirical_bayes import compare_paired, design_effect, least_variance
from oversight.agents.search.fitness.power import measure_power
from oversight.agents.search.item_splits import SPLITS, describe_old_splits, draw_splits
from oversight.harness.types import Item, Label, LabelDesign, LabelKind, Labels
from tests.agents.simulated_search import World

OPTIONS = ("a", "b", "c", "d")
ITEMS = [Item(f"i{j}", f"t{j}", OPTIONS, (0, 1, 2, 3)) for j in range(120)]
PATIENTS = {item.id: f"p{j // 5}" for j, item in enumerate(ITEMS)}
PATIENT = np.arange(120) // 5
LABELS = Labels(
    [Label(i.id, 0, LabelKind.COMPLEMENTARY, 4, 0.25) for i in ITEMS],
    LabelDesign(statements=(), asked=frozenset()),
)
SHARES = {"feedback": 0.2, "select": 0.5, "confirm": 0.2, "test": 0.1}


def test_no_cluster_is_in_two_splits() -> None:
    splits = draw_splits(ITEMS, LABELS.clustered(PATIENTS), SHARES, 3, (10, 60))
    seen = [{PATIENTS[i.id] for i in splits[name]} for name in SPLITS]
    assert sum(map(len, seen)) == len(set.union(*seen))
    assert [len(splits[name]) for name in SPLITS] == pytest.approx([24, 60, 24, 12], abs=5)
    alone = draw_splits(ITEMS, LABELS, SHARES, 3, (10, 60))
    assert [len(alone[name]) for name in SPLITS] == [24, 60, 24, 12]


def test_large_clusters_are_as_frequent_in_every_split() -> None:
    """Half of the items belong to 12 patients of 5 items; the other items to a patient each."""
    clustered = LABELS.clustered({i.id: PATIENTS[i.id] for i in ITEMS[:60]})
    many = [draw_splits(ITEMS, clustered, SHARES, seed, (10, 60)) for seed in range(300)]
    large = {n: np.mean([[int(i.id[1:]) < 60 for i in s[n]].count(True) for s in many]) for n in SPLITS}
    sizes = {name: np.mean([len(splits[name]) for splits in many]) for name in SPLITS}
    assert sizes == pytest.approx({name: 120 * share for name, share in SHARES.items()}, rel=0.05)
    assert large == pytest.approx({name: 60 * share for name, share in SHARES.items()}, rel=0.1)


def test_old_splits_are_doubted_if_clusters_differ_in_size() -> None:
    assert describe_old_splits(ITEMS, PATIENTS) == []
    assert "too rare in the set test" in describe_old_splits(ITEMS[:-1], PATIENTS)[0]


def test_copies_of_an_item_count_as_one() -> None:
    """Five equal images of each patient tell as much as one."""
    rng = np.random.default_rng(0)
    once = (rng.random((6, 24)) < 0.6).astype(np.float64)
    copies = np.repeat(once, 5, axis=1)
    alone, together = shrink_scores(once), shrink_scores(copies, cluster=PATIENT)
    assert together.level_se == pytest.approx(alone.level_se, rel=0.05)
    assert together.se_relative == pytest.approx(alone.se_relative, rel=0.05)
    assert shrink_scores(copies).level_se < 0.6 * together.level_se
    one, five = compare_paired(once[0], once[1], 0.1), compare_paired(copies[0], copies[1], 0.1, PATIENT)
    assert (five.difference, five.se) == pytest.approx((one.difference, one.se), rel=1e-9)
    assert five.n == 120


def test_independent_items_in_clusters_lose_nothing() -> None:
    rng = np.random.default_rng(1)
    effects = [design_effect(rng.normal(size=120), PATIENT) for _ in range(200)]
    assert np.mean(effects) == pytest.approx(1.12, abs=0.06)  # never below 1
    assert design_effect(np.ones(120), np.arange(120)) == 1
    assert least_variance(PATIENT) == 5 * least_variance(np.arange(24))


def test_power_counts_clusters() -> None:
    labels = World(K=4).state.labels["select"]
    grouped = replace(labels, cluster=np.arange(len(labels.items)) // 4)
    alone, together = measure_power(labels), measure_power(grouped)
    assert together.detectable == pytest.approx(2 * alone.detectable)
    assert together.needed[0.1] == pytest.approx(4 * alone.needed[0.1], abs=4)
    assert "in clusters that count as 30 items" in together.lines()[0]


def test_labels_of_a_split_know_their_clusters() -> None:
    found = ExpertLabels.of_items(ITEMS[:12], LABELS, PATIENTS)
    assert len(set(found.cluster.tolist())) == 3
    assert len(set(ExpertLabels.of_items(ITEMS[:12], LABELS).cluster.tolist())) == 12
