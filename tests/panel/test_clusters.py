"""Items in clusters: what panels print takes clusters as independent, and items would err too often."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from oversight.harness import EstimateError, IntArray
from oversight.harness.panel import (
    Panel,
    assess_superhuman,
    human_level_choices,
    krippendorff_alpha,
    measure_agreement,
    measure_parity,
)
from oversight.harness.panel.certificate import Units, count_units
from oversight.harness.panel.ratings import make_panel_from_grid
from oversight.harness.panel.superhuman import check_assumptions
from oversight.harness.panel.weighted_units import estimate_share
from oversight.harness.types import Note, NoteKind

SIZE = 5
RUNS = 200
ROOM = 2.6 * np.sqrt(0.05 * 0.95 / RUNS)
Drawn = tuple[Panel, Panel, IntArray]


def in_clusters(grid: IntArray, size: int = SIZE) -> tuple[Panel, Panel]:
    """The same ratings of items on their own, and of items in clusters."""
    alone = make_panel_from_grid(grid, ["0", "1"])
    return alone, alone.clustered({item: str(j // size) for j, item in enumerate(alone.items)})


def draw(rng: np.random.Generator, clusters: int, alike: float = 0.7) -> Drawn:
    """Three raters (.8) and a model (.8) who err on most items of a cluster together."""
    n = clusters * SIZE
    cluster = np.repeat(np.arange(clusters), SIZE)

    def together(shape: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        own, shared = rng.random((n, *shape)), rng.random((clusters, *shape))[cluster]
        return np.where(rng.random((n, *shape)) < alike, shared, own)

    truth = together(()) < 0.5
    said = np.where(together((4,)) < 0.8, truth[:, None], ~truth[:, None]).astype(np.int64)
    return *in_clusters(said[:, :3]), said[:, 3]


def many(clusters: int, seed: int, runs: int = RUNS) -> Iterator[Drawn]:
    rng = np.random.default_rng(seed)
    return (draw(rng, clusters) for _ in range(runs))


@pytest.mark.statistical
def test_intervals_of_parity_cover_by_cluster_but_not_by_item() -> None:
    alone, _, model = draw(np.random.default_rng(1), 60_000)
    truth = measure_parity(alone, model).overall
    held = {(kind, name): 0 for kind in (0, 1) for name in ("human", "model", "delta", "p")}
    for *panels, predicted in many(30, seed=2):
        for kind, panel in enumerate(panels):
            found = measure_parity(panel, predicted).overall
            held[kind, "p"] += found.p_value > 0.05 or abs(truth.delta.value) > 0.01
            for name in ("human", "model", "delta"):
                interval = getattr(found, name)
                held[kind, name] += interval.low <= getattr(truth, name).value <= interval.high
    assert all(held[1, name] / RUNS >= 0.95 - ROOM for name in ("human", "model", "delta", "p")), held
    assert all(held[0, name] / RUNS < 0.9 for name in ("human", "model", "delta", "p")), held


@pytest.mark.statistical
def test_interval_of_alpha_covers_by_cluster_but_not_by_item() -> None:
    truth = krippendorff_alpha(draw(np.random.default_rng(1), 60_000)[0].votes()).value
    held = [0, 0]
    for *panels, _ in many(40, seed=3):
        for kind, panel in enumerate(panels):
            alpha = measure_agreement(panel, bootstrap=200).alpha
            assert alpha is not None
            assert alpha.low is not None
            assert alpha.high is not None
            held[kind] += alpha.low <= truth <= alpha.high
    assert held[1] / RUNS >= 0.95 - ROOM
    assert held[0] / RUNS < 0.85


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("choice", [(5,), (2, 8)])
def test_certificates_keep_their_level_by_cluster_but_not_by_item(choice: tuple[int, ...]) -> None:
    """A model that is exactly as good as U(p): L = .9, and three tenths of the clusters split 2 to 1."""
    rng = np.random.default_rng(4)
    wrong = {(kind, test): 0 for kind in (0, 1) for test in ("split", "paired")}
    low = [0, 0]
    runs = 100
    room = 2.6 * np.sqrt(0.05 * 0.95 / runs)
    for _ in range(runs):
        sizes = rng.choice(choice, size=80)
        cluster = np.repeat(np.arange(80), sizes)
        split, agrees = (rng.random(80) < 0.3)[cluster], (rng.random(80) < 0.9)[cluster]
        grid = np.zeros((len(cluster), 3), dtype=np.int64)
        grid[split, 2] = 1
        alone = make_panel_from_grid(grid, ["0", "1"])
        panels = alone, alone.clustered(dict(zip(alone.items, map(str, cluster), strict=True)))
        for kind, panel in enumerate(panels):
            for test in ("split", "paired"):
                found = assess_superhuman(panel, 1 - agrees.astype(np.int64), test=test)
                wrong[kind, test] += "U_panel" in found.certified
            low[kind] += found.L_low <= 0.9
    assert max(wrong[1, "split"], wrong[1, "paired"]) / runs <= 0.05 + room, wrong
    assert wrong[0, "paired"] / runs > 0.05 + room, wrong
    assert wrong[0, "split"] > wrong[1, "split"]
    assert low[1] / runs >= 0.95 - room
    assert low[0] / runs < 0.95 - room


@pytest.mark.statistical
def test_tests_between_people_keep_their_level_by_cluster_but_not_by_item() -> None:
    wrong = [0, 0]
    for alone, panel, model in many(30, seed=5):
        grid = alone.grid()
        for kind, cluster in enumerate((None, panel.cluster)):
            found = human_level_choices({"a": grid[:, 0]}, grid[:, 1], {"m": model}, cluster=cluster)
            wrong[kind] += found.standings[0].on_par == 0
    assert wrong[1] / RUNS <= 0.05 + ROOM
    assert wrong[0] / RUNS > 0.1


def test_clusters_change_intervals_and_no_estimate() -> None:
    alone, together, model = draw(np.random.default_rng(6), 40)
    by_item, by_cluster = assess_superhuman(alone, model), assess_superhuman(together, model)
    for name in ("L", "U_e", "U_t", "U_star", "U_panel", "N"):
        assert getattr(by_item, name) == getattr(by_cluster, name)
    assert by_cluster.L_low < by_item.L_low
    assert by_cluster.clusters == 40
    assert by_cluster.assumptions[0] == "clusters are independent draws"
    assert set(by_cluster.undefined) == {"hms", "oms", "oms_exact", "direct"}
    assert (by_cluster.hms, by_cluster.oms, by_cluster.oms_exact, by_cluster.direct) == (None,) * 3 + ((),)
    assert {c.tails for c in by_cluster.against.values()} == {("Chernoff-KL over clusters",) * 2}
    assert (by_item.clusters, by_item.undefined) == (None, {})
    one, other = measure_parity(alone, model, positive="1"), measure_parity(together, model, positive="1")
    assert one.overall.human.value == other.overall.human.value
    assert (other.clusters, other.overall.items, other.overall.clusters) == (40, 200, 40)
    assert other.overall.at_least_80 is None
    assert set(other.undefined) == {"at_least_80"}
    assert one.overall.detection is not None
    assert other.overall.detection is not None
    assert one.overall.detection.model.f1 is not None
    assert other.overall.detection.model.f1 is not None
    assert one.overall.detection.model.f1.value == other.overall.detection.model.f1.value
    assert one.overall.detection.model.f1.low > other.overall.detection.model.f1.low


def test_intervals_of_clusters_are_withheld_below_four_effective_ones() -> None:
    _, panel, model = draw(np.random.default_rng(7), 19)
    alpha = measure_agreement(panel).alpha
    assert alpha is not None
    assert (alpha.clusters, alpha.why, alpha.holds) == (19, "", True)
    assert alpha.low is not None
    found = measure_parity(panel, model, positive="1").overall
    assert found.flags == ("few_clusters",)
    assert found.human.holds
    assert "(!)" not in measure_parity(panel, model)._repr_html_()
    assert "], 97.5% · " in str(measure_parity(panel, model, level=0.975))
    assert found.detection is not None
    assert found.detection.delta_f1 is not None
    few = panel.clustered({item: str(min(j // 30, 2)) for j, item in enumerate(panel.items)})
    why = (
        "3 clusters, the largest with 37% of the items, count as 3.0 clusters of equal size, but an interval "
    )
    why += "needs at least 4: label items of more clusters"
    alpha = measure_agreement(few).alpha
    assert alpha is not None
    assert (alpha.low, alpha.high, alpha.why, alpha.holds) == (None, None, why, False)
    assert alpha.notes == (Note(NoteKind.NO_INTERVAL, {"why": why}),)
    found = measure_parity(few, model, positive="1").overall
    assert {s.why for s in (found.human, found.model, found.delta)} == {why}
    assert not found.delta.holds
    assert found.detection is not None
    assert found.detection.human.recall is None
    assert "clusters of equal size" in found.detection.human.undefined["recall"]
    assert f"the intervals may not hold: {why}" in found.doubts
    assert "%] (!)" in measure_parity(few, model)._repr_html_()


def test_perfect_agreement_gives_an_interval_below_1() -> None:
    by_item, by_cluster = in_clusters(np.repeat(np.arange(200) // SIZE % 2, 3).reshape(200, 3))
    one, other = (measure_agreement(panel).alpha for panel in (by_item, by_cluster))
    assert one is not None
    assert other is not None
    assert one.low is not None
    assert other.low is not None
    assert (one.value, one.high, other.value, other.high) == (1.0, 1.0, 1.0, 1.0)
    assert 0.5 < other.low < one.low < 1


ZIPF = np.maximum(1, np.round(60 / np.arange(1, 31) ** 1.2)).astype(np.int64)
"""60, 26, 16, …: 30 clusters that tell as much as 6.8 of equal size."""


def draw_zipf(rng: np.random.Generator, times: int = 1) -> tuple[Panel, IntArray]:
    """Three raters and a model who are right or wrong on most items of a cluster together."""
    cluster = np.repeat(np.arange(30 * times), np.tile(ZIPF, times))
    n = len(cluster)
    shared = np.where(rng.random((n, 5)) < 0.7, rng.random((30 * times, 5))[cluster], rng.random((n, 5)))
    truth = shared[:, 0] < 0.3
    said = np.where(shared[:, 1:] < 0.85, truth[:, None], ~truth[:, None]).astype(np.int64)
    panel = make_panel_from_grid(said[:, :3], ["0", "1"])
    return panel.clustered(dict(zip(panel.items, map(str, cluster), strict=True))), said[:, 3]


@pytest.mark.statistical
def test_intervals_of_unequal_clusters_cover() -> None:
    rng = np.random.default_rng(12)
    big, model = draw_zipf(rng, 400)
    truth = measure_parity(big, model).overall
    alpha = krippendorff_alpha(big.votes()).value
    held = dict.fromkeys(("human", "model", "delta", "alpha"), 0)
    for _ in range(RUNS):
        panel, model = draw_zipf(rng)
        found = measure_parity(panel, model).overall
        for name in ("human", "model", "delta"):
            interval = getattr(found, name)
            held[name] += interval.low <= getattr(truth, name).value <= interval.high
        agreed = measure_agreement(panel, bootstrap=200).alpha
        assert agreed is not None
        assert agreed.low is not None
        assert agreed.high is not None
        held["alpha"] += agreed.low <= alpha <= agreed.high
    assert all(count / RUNS >= 0.95 - ROOM for count in held.values()), held


def test_clusters_of_one_item_each_are_items() -> None:
    alone, _, model = draw(np.random.default_rng(8), 10)
    single = alone.clustered({item: item for item in alone.items})
    assert (single.cluster, single.clusters) == (None, None)
    assert assess_superhuman(single, model) == assess_superhuman(alone, model)
    with pytest.raises(EstimateError, match="item 'i1' has no cluster"):
        alone.clustered({"i0": "a"})
    with pytest.raises(EstimateError, match="at least 2, but all items are in 'a'"):
        alone.clustered(dict.fromkeys(alone.items, "a"))


def test_items_needed_grow_with_their_clusters() -> None:
    grid = np.zeros((400, 3), dtype=np.int64)
    grid[::4, 2] = 1
    model = (np.arange(400) % 25 == 0).astype(np.int64)
    alone, together = in_clusters(grid)
    found = assess_superhuman(together, model)
    needed = assess_superhuman(alone, model).items_needed
    assert found.items_needed is not None
    assert needed is not None
    assert found.items_needed > 4 * needed
    assert "items in clusters like these" in found.verdict


def test_uneven_clusters_give_weaker_bounds() -> None:
    units = count_units(np.array([3, 3, 3, 7, 9, 9]))
    assert (units.number, round(units.fullness, 4)) == (3, 0.6667)
    even, uneven = Units(number=50), Units(number=50, fullness=0.5)
    assert even.at_most(0.9, 0.8) < uneven.at_most(0.9, 0.8) < 1
    assert even.at_least(0.7, 0.8) < uneven.at_least(0.7, 0.8) < 1
    for mean in (0.0, 0.3, 1.0):
        assert uneven.lowest(mean, 0.05) <= even.lowest(mean, 0.05) <= mean
        assert mean <= even.highest(mean, 0.05) <= uneven.highest(mean, 0.05)
    assert even.at_least(0.3, even.highest(0.3, 0.05)) == pytest.approx(0.05)
    assert uneven.at_most(0.7, 0.8) == uneven.at_least(0.9, 0.8) == 1


def test_clustered_oracle_labels_give_less_evidence() -> None:
    rng = np.random.default_rng(9)
    truth = rng.integers(2, size=200)
    wrong = np.repeat(rng.random(40) < 0.2, SIZE)
    votes = np.zeros((200, 2), dtype=np.int64)
    votes[np.arange(200), np.where(wrong, 1 - truth, truth)] = 3
    cluster = np.repeat(np.arange(40), SIZE)

    def overstated(of: IntArray | None) -> float:
        return check_assumptions(votes, votes > 0, truth, truth, cluster=of).overstated(0.95)

    assert overstated(cluster) > overstated(None)
    assert overstated(np.zeros(200, dtype=np.int64)) > 0.9


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_intervals_of_shares_widen_with_fewer_effective_clusters(level: float) -> None:
    sums, counts = np.array([5.0, 4, 2, 5, 5, 3, 4, 5]), np.full(8, 5.0)
    one, other = (estimate_share(sums, counts, level, effective=few) for few in (None, 8.0))
    assert other.low < one.low < one.value == other.value < one.high < other.high
