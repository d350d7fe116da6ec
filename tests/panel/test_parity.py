"""Parity under uncertain truth: published numbers, circular bins against leave-one-out, coverage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from oversight.harness import EstimateError, IntArray
from oversight.harness.estimate import clopper_pearson
from oversight.harness.panel import EDGES, Panel, measure_parity
from oversight.harness.panel.certainty import assign_bins, bin_names, compute_certainty, leave_rater_out
from oversight.harness.panel.parity import expected_scores, probability_at_least
from oversight.harness.panel.ratings import make_panel_from_grid
from oversight.harness.panel.weighted_units import estimate_difference, estimate_share


def test_bins_close_on_the_right_and_thirds_stay_together() -> None:
    votes = np.array([[3, 2], [4, 1], [5, 0], [0, 0], [7, 3], [9, 1]])
    assert compute_certainty(votes)[:3].tolist() == [0.6, 0.8, 1.0]
    assert assign_bins(compute_certainty(votes), EDGES).tolist() == [0, 1, 2, -1, 0, 1]
    assert bin_names(EDGES) == ("p ≤ 0.7", "0.7 < p ≤ 0.9", "p > 0.9")
    assert bin_names(()) == ("all",)
    with pytest.raises(EstimateError, match="edges must be increasing"):
        assign_bins(compute_certainty(votes), (0.9, 0.7))


def test_left_out_removes_the_judged_vote_only() -> None:
    panel = make_panel_from_grid(np.array([[0, 0, 1], [1, 1, 1]]), ["a", "b"])
    rows = leave_rater_out(panel, np.array([0, 1]))
    assert rows.p_d.tolist() == [0.5, 0.5, 1.0, 1.0, 1.0, 1.0]
    assert rows.right(rows.human).tolist() == [0.5, 0.5, 0.0, 1.0, 1.0, 1.0]
    assert rows.right(rows.model).tolist() == [0.5, 0.5, 1.0, 1.0, 1.0, 1.0]
    kept = leave_rater_out(panel, np.array([0, 1]), circular=True)
    assert kept.p_d == pytest.approx([2 / 3] * 3 + [1.0] * 3)
    assert kept.right(kept.human).tolist() == [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]


def alike(
    rng: np.random.Generator, n: int, raters: int = 5, skill: tuple[float, float] = (2.0, 1.0)
) -> IntArray:
    """Raters (and in the last column a model) who draw from one P(positive) per item."""
    p = rng.beta(*skill, size=n)
    p = np.where(rng.random(n) < 0.5, p, 1 - p)
    return (rng.random((n, raters + 1)) < p[:, None]).astype(np.int64)


@pytest.mark.statistical
def test_circular_bins_invent_a_human_lead_that_leave_one_out_does_not() -> None:
    labels = alike(np.random.default_rng(1), 60_000)
    panel = make_panel_from_grid(labels[:, :5], ["0", "1"])
    honest = measure_parity(panel, labels[:, 5], bootstrap=0)
    assert all(abs(b.delta.value) < 0.01 for b in (honest.overall, *honest.bins))
    circular = measure_parity(panel, labels[:, 5], circular=True)
    assert circular.overall.delta.value > 0.05
    certain = circular.bins[-1]
    assert certain.human.value == 1.0  # by construction
    assert certain.delta.value > 0.08
    assert circular.method == "circular"


@pytest.mark.statistical
def test_coin_flippers_lead_by_ten_thirty_and_fifty_points_if_scored_by_themselves() -> None:
    labels = np.random.default_rng(2).integers(2, size=(60_000, 6))
    panel = make_panel_from_grid(labels[:, :5], ["0", "1"])
    circular = measure_parity(panel, labels[:, 5], circular=True)
    for b, gap in zip(circular.bins, (0.1, 0.3, 0.5), strict=True):
        assert b.delta.value == pytest.approx(gap, abs=0.02)
    honest = measure_parity(panel, labels[:, 5])
    assert all(abs(b.delta.value) < 0.02 for b in honest.bins)


@pytest.mark.statistical
def test_every_interval_of_parity_covers() -> None:
    rng = np.random.default_rng(3)
    big = alike(rng, 300_000)
    truth = measure_parity(make_panel_from_grid(big[:, :5], ["0", "1"]), big[:, 5], edges=(0.9,))
    runs = 150
    held = {"human": [0, 0], "model": [0, 0], "delta": [0, 0]}
    rejected = 0
    for _ in range(runs):
        labels = alike(rng, 120)
        found = measure_parity(make_panel_from_grid(labels[:, :5], ["0", "1"]), labels[:, 5], edges=(0.9,))
        rejected += found.overall.p_value < 0.05
        for b, true in zip(found.bins, truth.bins, strict=True):
            place = int(b.name.startswith("p >"))
            for name, counts in held.items():
                interval = getattr(b, name)
                counts[place] += interval.low <= getattr(true, name).value <= interval.high
    for counts in held.values():
        assert all(0.9 <= c / runs <= 0.995 for c in counts), held
    assert rejected / runs <= 0.1


@pytest.mark.statistical
def test_intervals_of_detection_cover() -> None:
    rng = np.random.default_rng(4)
    big = alike(rng, 200_000)
    options = {"edges": (), "positive": "1"}
    truth = measure_parity(make_panel_from_grid(big[:, :5], ["0", "1"]), big[:, 5], bootstrap=2, **options)  # type: ignore[arg-type]
    assert truth.overall.detection is not None
    held = np.zeros(4)
    runs = 100
    for seed in range(runs):
        labels = alike(rng, 200)
        found = measure_parity(
            make_panel_from_grid(labels[:, :5], ["0", "1"]),
            labels[:, 5],
            bootstrap=150,
            seed=seed,
            **options,  # type: ignore[arg-type]
        ).overall.detection
        assert found is not None
        pairs = (
            (found.human.f1, truth.overall.detection.human.f1),
            (found.model.f1, truth.overall.detection.model.f1),
            (found.model.precision, truth.overall.detection.model.precision),
            (found.delta_f1, truth.overall.detection.delta_f1),
        )
        held += [a is not None and b is not None and a.low <= b.value <= a.high for a, b in pairs]
    assert ((held / runs >= 0.87) & (held / runs <= 1)).all(), held


def test_repeated_rows_of_a_cluster_add_no_evidence() -> None:
    ones = np.ones(40)
    right = np.array([1.0] * 30 + [0.0] * 10)
    alone = estimate_share(right, ones)
    # All answers of a unit are right, or all wrong, so Clopper and Pearson's interval for units holds.
    assert (alone.low, alone.high) == pytest.approx(clopper_pearson(30, 40), abs=0.01)
    # Repeating all rows five times adds no evidence.
    repeated = estimate_share(right * 5, ones * 5)
    assert (repeated.low, repeated.high) == pytest.approx((alone.low, alone.high))
    sure = estimate_share(ones, ones)
    assert (sure.value, sure.high) == (1.0, 1.0)
    assert sure.low == pytest.approx(clopper_pearson(40, 40)[0], abs=0.01)
    flat, p = estimate_difference(np.zeros(10), np.ones(10))
    assert flat.low < 0 < flat.high
    assert p == 1.0


def test_separate_voters_need_no_leaving_out() -> None:
    grid = np.array([[0, 0, 1, 1], [1, 1, 1, 0], [0, 0, 0, 0]])
    panel = make_panel_from_grid(grid, ["a", "b"], ["v1", "v2", "v3", "judge"])
    found = measure_parity(panel, np.array([0, 1, 0]), humans=["judge"], voters=["v1", "v2", "v3"])
    assert found.method == "separate voters"
    assert found.overall.human.value == pytest.approx(1 / 3)
    assert found.overall.model.value == 1
    assert found.overall.delta.value == pytest.approx(-2 / 3)
    assert found.overall.judgements == 3


def test_rules_and_warnings_follow_the_panel() -> None:
    rng = np.random.default_rng(5)
    labels = alike(rng, 200)
    found = measure_parity(make_panel_from_grid(labels[:, :5], ["0", "1"]), labels[:, 5])
    assert found.stratify
    assert found.guessing == 0.5
    assert sum(b.judgements for b in found.bins) == found.overall.judgements == 1000
    small = measure_parity(make_panel_from_grid(labels[:20, :5], ["0", "1"]), labels[:20, 5])
    assert all(b.flags == ("few_items",) for b in small.bins)
    certain = np.zeros((100, 3), dtype=np.int64)
    certain[::2] = 1
    assert not measure_parity(make_panel_from_grid(certain, ["0", "1"]), certain[:, 0]).stratify


def test_unreadable_predictions_are_wrong() -> None:
    grid = np.array([[0, 0], [1, 1]])
    found = measure_parity(make_panel_from_grid(grid, ["a", "b"]), np.array([-1, 1]))
    assert found.overall.model.value == 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positive": "z"}, "positive must be one of a, b, is 'z'"),
        ({"humans": ["zoe"]}, "no ratings by annotator 'zoe'"),
        ({"humans": ["a0"], "voters": ["a0"]}, "no judged annotator shares an item"),
        ({"level": 0.0}, "level must lie in"),
    ],
)
def test_bad_comparisons_are_refused(options: dict[str, object], message: str) -> None:
    panel = make_panel_from_grid(np.array([[0, 0], [1, 0]]), ["a", "b"])
    with pytest.raises(EstimateError, match=message):
        measure_parity(panel, np.array([0, 1]), **options)  # type: ignore[arg-type]


def test_one_annotator_and_missing_predictions_are_refused() -> None:
    lone = make_panel_from_grid(np.array([[0], [1]]), ["a", "b"], ["ana"])
    with pytest.raises(EstimateError, match="at least 2 annotators, there is 1: 'ana'"):
        measure_parity(lone, np.array([0, 1]))
    with pytest.raises(EstimateError, match=r"predicted must have shape \(2,\), has \(1,\)"):
        measure_parity(make_panel_from_grid(np.array([[0, 0], [1, 0]]), ["a", "b"]), np.array([0]))
    with pytest.raises(EstimateError, match="p_d must lie in"):
        expected_scores(1.5, 0.1)
    with pytest.raises(EstimateError, match="n must be at least 1, is 0"):
        probability_at_least(0.5, 0)


def test_chaosnli_on_real_data(datasets: Path) -> None:
    """A hundred annotators an item: people and a model are scored by the other ninety-nine."""
    import pyarrow.parquet as pq

    columns = pq.read_table(datasets / "chaosnli_and_models.parquet", use_threads=False).to_pydict()
    keep = [j for j, s in enumerate(columns["source"]) if s == "snli"]
    votes = np.array([[columns[f"n_{c}"][j] for c in "enc"] for j in keep])
    label = np.concatenate([np.repeat(np.arange(3), row) for row in votes])
    item = np.repeat(np.arange(len(votes)), votes.sum(axis=1))
    place = np.concatenate([np.arange(n) for n in votes.sum(axis=1)])
    crowd = Panel(
        items=tuple(map(str, keep)),
        annotators=tuple(f"w{j}" for j in range(int(place.max()) + 1)),
        classes=("e", "n", "c"),
        item=item,
        annotator=place,
        label=label,
    )
    predicted = np.array(["enc".index(columns["roberta-base_s0"][j]) for j in keep])
    found = measure_parity(crowd, predicted)
    assert found.stratify
    human, model = [b.human.value for b in found.bins], [b.model.value for b in found.bins]
    assert human == sorted(human)
    assert model == sorted(model)
    # With a hundred voters, leaving one out changes every number by at most one point.
    circular = measure_parity(crowd, predicted, circular=True)
    assert circular.overall.delta.value == pytest.approx(found.overall.delta.value, abs=0.01)


def test_certainty_of_a_single_vote_is_not_measured() -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(3, size=200)
    said = np.where(rng.random((200, 4)) < 0.75, truth[:, None], rng.integers(3, size=(200, 4)))
    two = measure_parity(make_panel_from_grid(said[:, :2], ["a", "b", "c"]), said[:, 3], positive="a")
    assert (two.bins, two.stratify, two.overall.p_d, two.overall.at_least_80) == ((), False, None, None)
    assert set(two.undefined) == {"p_d", "at_least_80", "bins"}
    assert two.overall.flags[-1].startswith("single_vote: 400 of 400 choices")
    assert two.overall.detection is not None
    assert two.overall.detection.expected is None
    assert 0.5 < two.overall.human.value < 0.8
    assert "within bins" not in str(two)

    grid = said[:, :3].copy()
    grid[:50, 2] = -1
    found = measure_parity(make_panel_from_grid(grid, ["a", "b", "c"]), said[:, 3])
    full = measure_parity(make_panel_from_grid(grid[50:], ["a", "b", "c"]), said[50:, 3])
    assert found.overall.flags == (
        "single_vote: 100 of 550 choices are compared with only one other vote, so they are in no range of "
        "certainty and not in the expected score",
    )
    assert (found.overall.p_d, found.overall.at_least_80) == (full.overall.p_d, full.overall.at_least_80)
    assert [(b.name, b.items, b.p_d) for b in found.bins] == [(b.name, b.items, b.p_d) for b in full.bins]
    assert found.overall.items == 200
    assert found.undefined == {}


def test_circular_certainty_of_two_annotators_is_measured() -> None:
    panel = make_panel_from_grid(np.array([[0, 0], [0, 1], [1, 1]]), ["a", "b"])
    assert [b.name for b in measure_parity(panel, np.array([0, 0, 1]), circular=True).bins] == [
        "p ≤ 0.7",
        "p > 0.9",
    ]
