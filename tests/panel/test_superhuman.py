"""Superhuman certification from labels: what it assumes, what the oracle shows, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from oversight.harness import EstimateError, IntArray
from oversight.harness.panel import assess_superhuman, compute_bounds_by_size
from oversight.harness.panel.ceiling import ceilings, shuffled, theoretical
from oversight.harness.panel.ratings import make_panel_from_grid
from oversight.harness.panel.superhuman import check_assumptions
from oversight.harness.types import Note, NoteKind


def two_class(rng: np.random.Generator, n: int, skills: list[float]) -> tuple[IntArray, IntArray]:
    """Truth and labels of annotators who err on their own."""
    truth = rng.integers(2, size=n)
    wrong = rng.random((n, len(skills))) >= np.array(skills)
    return truth, np.where(wrong, 1 - truth[:, None], truth[:, None])


def test_fixed_unequal_annotators_can_exceed_the_empirical_bound() -> None:
    # Accuracies .95, .8, .6. All errors are in different classes, so a pair agrees only if both are right.
    a = np.array([0.95, 0.8, 0.6])
    off_diagonal = (a.sum() ** 2 - (a**2).sum()) / 6
    assert round(math.sqrt(off_diagonal), 4) == 0.7767
    assert round(float(a.mean()), 4) == 0.7833
    assert a.mean() ** 2 <= off_diagonal + a.var() / 2 + 1e-12
    assert a.mean() <= theoretical(off_diagonal, 3)


def test_fixed_panels_are_flagged_and_rotating_ones_are_not() -> None:
    truth, grid = two_class(np.random.default_rng(0), 200, [0.9] * 5)
    fixed = assess_superhuman(make_panel_from_grid(grid, ["0", "1"]), truth)
    assert any(f.startswith("fixed_panel") for f in fixed.flags)
    rotating = grid.copy()
    rotating[np.arange(200), np.arange(200) % 5] = -1
    found = assess_superhuman(make_panel_from_grid(rotating, ["0", "1"]), truth)
    assert not found.flags
    assert found.annotators == 4


def test_shuffling_moves_labels_within_items_only() -> None:
    grid = np.array([[0, -1, 2], [1, 1, 0]])
    out = shuffled(grid, 5)
    assert sorted(out[0].tolist()) == [-1, 0, 2]
    assert out[0, 2] == -1
    assert sorted(out[1].tolist()) == [0, 1, 1]
    assert ceilings(np.array([[1, 0, 1], [1, 2, 0]])).pairs == pytest.approx([0, 1 / 3])


def test_missing_annotators_change_the_bound_little() -> None:
    rng = np.random.default_rng(4)
    truth, grid = two_class(rng, 4000, [0.85] * 6)
    full = assess_superhuman(make_panel_from_grid(grid, ["0", "1"]), truth)
    gone = rng.random(grid.shape) < 0.4
    gone[:, 0] = False
    holes = assess_superhuman(make_panel_from_grid(np.where(gone, -1, grid), ["0", "1"]), truth)
    assert holes.annotators == 0
    assert holes.U_e == pytest.approx(full.U_e, abs=0.01)
    assert holes.U_t > full.U_t
    assert holes.against["U_t"].tails[1] == "Chernoff-KL"


@pytest.mark.parametrize("aggregate", ["plurality", "weighted", "dawid-skene"])
def test_every_aggregate_bounds_the_models_accuracy(aggregate: str) -> None:
    rng = np.random.default_rng(5)
    truth, grid = two_class(rng, 3000, [0.9, 0.8, 0.8, 0.7, 0.7])
    model = np.where(rng.random(3000) < 0.97, truth, 1 - truth)
    panel = make_panel_from_grid(grid, ["0", "1"])
    weights = dict(zip(panel.annotators, (5.0, 3.0, 3.0, 1.0, 1.0), strict=True))
    found = assess_superhuman(panel, model, aggregate=aggregate, weights=weights, oracle=truth)
    assert found.check is not None
    # These five differ in skill and are not a sample of a pool, so U* is below their true accuracy.
    assert found.check.human_accuracy > found.U_star
    assert found.check.model_accuracy >= found.L
    assert found.check.human_accuracy <= found.U_panel <= found.U_t
    assert found.check.second_holds
    assert found.certified == ("U_panel", "U_t")


def test_unreadable_predictions_agree_with_nothing() -> None:
    grid = np.array([[0, 0], [1, 1], [0, 0], [1, 1]])
    found = assess_superhuman(make_panel_from_grid(grid, ["0", "1"]), np.array([0, 1, -1, 1]))
    assert found.L == 0.75
    assert found.disagreement == 0.25


def test_checks_of_assumptions_equal_the_values_by_hand() -> None:
    votes = np.array([[2, 0], [1, 1], [0, 2], [0, 2]])
    winners = np.array([[True, False], [True, True], [False, True], [False, True]])
    found = check_assumptions(votes, winners, np.array([0, 1, 0, 1]), np.array([0, 0, 0, 1]))
    assert found.right == (1 + 0.5 + 0 + 1) / 4
    assert found.right_given_right == pytest.approx((1 + 0 + 0 + 1) / (1 + 0.5 + 0 + 1))
    # On items 1 and 2 the aggregate is half wrong; the model repeats it on item 1 and is right on item 2.
    assert found.wrong_items == 1.5
    assert found.model_right == pytest.approx(1 / 1.5)
    assert found.model_repeats == pytest.approx(0.5 / 1.5)
    assert found.second_holds
    unknown = check_assumptions(votes, winners, np.array([0, 1, 0, 1]), np.array([0, -1, -1, 1]))
    assert (unknown.oracle_items, unknown.model_right, unknown.second_holds) == (2, None, None)
    with pytest.raises(EstimateError, match="no item with 2 labels has an oracle label"):
        check_assumptions(votes, winners, np.zeros(4, int), np.full(4, -1))


def test_bounds_close_as_annotators_come() -> None:
    truth, grid = two_class(np.random.default_rng(6), 1500, [0.8] * 9)
    points = compute_bounds_by_size(
        make_panel_from_grid(grid, ["0", "1"]), truth, points=5, shuffles=4, seed=1
    )
    assert [p.annotators for p in points] == [1, 3, 5, 7, 9]
    L = [p.L for p in points]
    assert sorted(L) == L
    assert points[0].U_e is None
    U_t = [p.U_t for p in points[1:] if p.U_t is not None]
    assert U_t == sorted(U_t, reverse=True)
    assert points[-1].L > (points[-1].U_t or 1) > (points[-1].U_e or 1)
    grid[700:, 1:] = -1
    single = compute_bounds_by_size(make_panel_from_grid(grid, ["0", "1"]), truth, points=5, shuffles=1)
    assert [p.annotators for p in single] == [1, 3, 5, 7, 9]
    with pytest.raises(EstimateError, match="no item has 2 annotators"):
        compute_bounds_by_size(make_panel_from_grid(grid[700:], ["0", "1"]), truth[700:])


def test_bad_panels_are_refused() -> None:
    lone = make_panel_from_grid(np.array([[0], [1]]), ["0", "1"], ["ana"])
    with pytest.raises(EstimateError, match="the only one is 'ana'"):
        assess_superhuman(lone, np.array([0, 1]))
    pair = make_panel_from_grid(np.array([[0, 0], [1, 0]]), ["0", "1"])
    with pytest.raises(EstimateError, match="aggregate must be one of plurality"):
        assess_superhuman(pair, np.array([0, 1]), aggregate="mean")
    with pytest.raises(EstimateError, match=r"predicted must have shape \(2,\), has \(3,\)"):
        assess_superhuman(pair, np.array([0, 1, 1]))


def test_assumptions_that_fail_on_the_oracle_take_the_certificate_away() -> None:
    rng = np.random.default_rng(12)
    truth, grid = two_class(rng, 2000, [0.8] * 5)
    copycat = (grid.sum(axis=1) >= 3).astype(np.int64)
    panel = make_panel_from_grid(grid, ["0", "1"])
    # A model that repeats the aggregate always agrees with it, and makes the same errors.
    blind, seen = assess_superhuman(panel, copycat), assess_superhuman(panel, copycat, oracle=truth)
    assert blind.certified == ("U_panel", "U_t")
    assert seen.certified == seen.valid == ()
    assert "L is no lower bound" in seen.verdict
    # On items with a split vote, one annotator being right makes another less likely to be right.
    split = np.flatnonzero((grid.sum(axis=1) == 2) | (grid.sum(axis=1) == 3))
    chosen = make_panel_from_grid(grid[split], ["0", "1"])
    found = assess_superhuman(chosen, truth[split], pool=True, oracle=truth[split])
    assert found.check is not None
    assert found.check.first_holds is False
    assert found.valid == ("U_panel", "U_t")


def test_items_with_a_single_label_are_left_out() -> None:
    """If they are easier than the others, an L that includes them is compared with too low ceilings."""
    rng = np.random.default_rng(4)
    truth = rng.integers(3, size=400)
    grid = np.where(rng.random((400, 3)) < 0.7, truth[:, None], rng.integers(3, size=(400, 3)))
    predicted = np.where(rng.random(400) < 0.7, truth, (truth + 1) % 3)
    grid[200:, 1:] = -1
    predicted[200:] = grid[200:, 0]
    grid = np.hstack([grid, np.full((400, 1), -1)])
    grid[399, :] = [-1, -1, -1, 0]  # an annotator of such an item only does not make the others a pool
    assessed = [
        assess_superhuman(make_panel_from_grid(grid[:n], "abc", "pqrs"), predicted[:n], oracle=truth[:n])
        for n in (200, 400)
    ]
    assert Note(NoteKind.SINGLE_LABEL_ITEMS, {"items": 200}) in assessed[1].notes
    assert assessed[1].fixed
    assert replace(assessed[1], notes=assessed[0].notes) == assessed[0]
