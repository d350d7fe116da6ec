"""Superhuman certification: published numbers, the rigorous confidence, and what it is worth."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from harness import EstimateError, IntArray
from harness.panel import (
    Evidence,
    assess_superhuman,
    assess_superhuman_from_counts,
    certify,
    compute_bounds_by_size,
    make_panel_from_grid,
)
from harness.panel.superhuman.assumptions import check_assumptions
from harness.panel.superhuman.ceiling import ceilings, pool_agreement, pool_ceiling, shuffled, theoretical
from harness.panel.superhuman.certificate import lower_bound
from harness.panel.superhuman.decision import items_needed
from harness.panel.superhuman.margin import (
    heuristic_score,
    optimal_score,
    published_score,
    sample_lower,
    sample_upper,
)

# "Humanly Certifying Superhuman Classifiers", Tables 2, 3 and 5: L, U(e), N, annotators, classes.
BERT = (0.949, 0.939, 1821, 3, 2)
STRUCT = (0.971, 0.939, 1821, 3, 2)
RADFORD = (0.899, 0.879, 10000, 5, 3)
SEMBERT = (0.919, 0.879, 10000, 5, 3)


def evidence(L: float, U: float, N: int, m: int, C: int) -> Evidence:
    return Evidence(L=L, x=U * U, N=N, m=m, C=C)


def test_table_2_theoretical_from_empirical_bound() -> None:
    # SST-5, SST-2, SNLI: printed .790, .960, .904; the last from a U(e) with more digits than .879.
    for U_e, m, published in ((0.660, 3, 0.7898), (0.939, 3, 0.9598), (0.879, 5, 0.9045)):
        assert round(theoretical(U_e**2, m), 4) == published


@pytest.mark.parametrize(
    ("model", "hms", "oms", "optimum"),
    [
        (BERT, -0.735, -0.735, -0.273),  # the table prints "< 0"
        (STRUCT, 0.4730, 0.6208, 0.620776),
        (RADFORD, 0.8482, 0.9267, 0.926682),
        (SEMBERT, 0.9997, 0.9999, 0.999996),
    ],
)
def test_table_3(model: tuple[float, float, int, int, int], hms: float, oms: float, optimum: float) -> None:
    L, U, N, *_ = model
    digits = 3 if hms < 0 else 4
    assert round(heuristic_score(L, U, N) or 0, digits) == hms
    assert round(published_score(L, U, N) or 0, digits) == oms
    assert optimal_score(L, U, N) == pytest.approx(optimum, abs=6e-4 if hms < 0 else 6e-7)


@pytest.mark.parametrize("model", [BERT, STRUCT, RADFORD, SEMBERT])
def test_theorems_5_and_6_and_what_exact_tails_give(
    model: tuple[float, float, int, int, int],
) -> None:
    L, U, N, *_ = model
    upper, lower = sample_upper(U, N, 0.05), sample_lower(L, N, 0.05)
    t = math.sqrt(math.log(20) / (2 * N))
    assert (upper, lower) == pytest.approx((math.sqrt(t + U * U), L - t))
    e = evidence(*model)
    assert lower < lower_bound(e) < L
    assert U < certify(e)["U_e"].high < upper
    assert certify(e, ["U_e"], level=0.99)["U_e"].high > certify(e, ["U_e"])["U_e"].high
    with pytest.raises(EstimateError, match=r"delta must lie in \(0, 1\), is 1"):
        sample_upper(U, N, 1)


def test_bounds_at_the_ends() -> None:
    perfect = evidence(1.0, 1.0, 100, 3, 2)
    assert lower_bound(perfect) == pytest.approx(0.05 ** (1 / 100), abs=1e-6)
    assert certify(perfect)["U_e"].high == 1.0
    assert lower_bound(evidence(0.0, 0.8, 100, 3, 2)) == 0.0


def test_the_published_search_stops_where_the_optimum_is_positive() -> None:
    assert round(heuristic_score(0.960, 0.939, 1821) or 0, 2) == -0.09
    assert (published_score(0.960, 0.939, 1821) or 0) < 0
    assert round(optimal_score(0.960, 0.939, 1821) or 0, 2) == 0.10
    assert heuristic_score(0.93, 0.939, 1821) is None


def test_rigorous_confidence_on_the_published_numbers() -> None:
    found = {name: certify(evidence(*model)) for name, model in
             (("bert", BERT), ("struct", STRUCT), ("radford", RADFORD), ("sem", SEMBERT))}  # fmt: skip
    assert round(found["bert"]["U_e"].confidence, 3) == 0.736
    assert round(found["struct"]["U_e"].confidence, 5) == 0.99996
    assert round(found["radford"]["U_e"].confidence, 4) == 0.9994
    assert found["sem"]["U_e"].confidence > 0.999999
    assert round(found["struct"]["U_t"].confidence, 3) == 0.912
    # Pairs of different annotators bound U(t) more sharply than all pairs do (there .992).
    assert round(found["sem"]["U_t"].confidence, 3) == 0.996
    assert found["struct"]["U_e"].tails == ("exact binomial", "exact binomial")
    assert found["radford"]["U_e"].tails == ("exact binomial", "Chernoff-KL")
    # The equal split is .816 against U*; .825 is the sum of both tails, optimised after the data.
    assert round(found["bert"]["U_star"].confidence, 3) == 0.816


def test_hoeffding_equal_split_is_what_exact_tails_improve_on() -> None:
    # With Hoeffding's inequality for both tails the same construction gives .594 and .923.
    for (L, U, N, *_), published in ((STRUCT, 0.594), (RADFORD, 0.923)):
        u = np.linspace(U, L, 20001)
        p = np.maximum(np.exp(-2 * N * (L - u) ** 2), np.exp(-2 * N * (u * u - U * U) ** 2))
        assert round(1 - 2 * float(p.min()), 3) == published
        assert certify(evidence(L, U, N, 5, 3))["U_e"].confidence > published


def test_sharper_human_ceiling() -> None:
    for U_e, C, published in ((0.939, 2, 0.9369), (0.879, 3, 0.8745), (0.660, 5, 0.634)):
        assert pool_ceiling(U_e**2, C) == pytest.approx(published, abs=6e-4 if C == 5 else 6e-5)
        assert pool_ceiling(U_e**2, C) < U_e
        assert pool_agreement(pool_ceiling(U_e**2, C), C) == pytest.approx(U_e**2)
    assert pool_ceiling(0.4, 2) == 0.5


def test_appendix_b_and_its_misprint() -> None:
    # P(b right | a right) = .8, P(b right | a wrong) = .6, P(a right) = .7.
    joint = {(1, 1): 0.7 * 0.8, (1, 0): 0.7 * 0.2, (0, 1): 0.3 * 0.6, (0, 0): 0.3 * 0.4}
    b = joint[1, 1] + joint[0, 1]
    assert (round(b, 2), round(1 - b, 2)) == (0.74, 0.26)
    assert round(joint[1, 1] / b, 3) == 0.757
    assert round(joint[0, 0] / (1 - b), 3) == 0.462
    assert round(joint[1, 0] / (1 - b), 3) == 0.538
    assert round(joint[0, 0] / 0.3, 2) == 0.40  # printed 0.30, against its own Table 4a


def two_class(rng: np.random.Generator, n: int, skills: list[float]) -> tuple[IntArray, IntArray]:
    """Truth and labels of annotators who err on their own."""
    truth = rng.integers(2, size=n)
    wrong = rng.random((n, len(skills))) >= np.array(skills)
    return truth, np.where(wrong, 1 - truth[:, None], truth[:, None])


def test_fixed_unequal_annotators_can_exceed_the_empirical_bound() -> None:
    # Accuracies .95, .8, .6 with errors all in other classes: pairs agree only when both are right.
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
    # These five differ in skill, and are no sample of a pool: U* falls below what they achieve.
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


def test_assumptions_by_hand() -> None:
    votes = np.array([[2, 0], [1, 1], [0, 2], [0, 2]])
    winners = np.array([[True, False], [True, True], [False, True], [False, True]])
    found = check_assumptions(votes, winners, np.array([0, 1, 0, 1]), np.array([0, 0, 0, 1]))
    assert found.right == (1 + 0.5 + 0 + 1) / 4
    assert found.right_given_right == pytest.approx((1 + 0 + 0 + 1) / (1 + 0.5 + 0 + 1))
    # The aggregate is wrong half a time on item 1 (the model repeats it) and on item 2 (the model is right).
    assert found.wrong_items == 1.5
    assert found.model_right == pytest.approx(1 / 1.5)
    assert found.model_repeats == pytest.approx(0.5 / 1.5)
    assert found.second_holds
    unknown = check_assumptions(votes, winners, np.array([0, 1, 0, 1]), np.array([0, -1, -1, 1]))
    assert (unknown.oracle_items, unknown.model_right, unknown.second_holds) == (2, None, None)
    with pytest.raises(EstimateError, match="no item has an oracle label"):
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


def test_from_published_numbers_alone(oversight: Callable[..., Any]) -> None:
    counts = '{"L": 0.971, "U_e": 0.939, "N": 1821, "annotators": 3, "classes": 2}'
    found = oversight("certify", "--counts", counts)
    assert round(found["U_t"], 4) == 0.9598
    assert round(found["U_star"], 4) == 0.9369
    assert round(found["hms"], 4) == 0.4730
    assert round(found["oms"], 4) == 0.6208
    assert round(found["oms_exact"], 6) == 0.620776
    assert round(found["confidence"], 5) == 0.99996


def test_items_needed_is_where_the_confidence_arrives() -> None:
    found = assess_superhuman_from_counts(*BERT)
    assert found.certified == ()
    need = found.items_needed
    assert need is not None
    assert certify(evidence(0.949, 0.939, need, 3, 2))["U_star"].confidence >= 0.95
    assert certify(evidence(0.949, 0.939, need // 2, 3, 2))["U_star"].confidence < 0.95
    assert items_needed(evidence(0.93, 0.939, 1000, 3, 2), 0.95, "U_e") is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"L": 1.2}, "L must lie in"),
        ({"U_e": -0.1}, "U_e must lie in"),
        ({"N": 0}, "N must be at least 1, is 0"),
        ({"annotators": 1}, "one annotator agrees with nobody"),
        ({"classes": 1}, "classes must be at least 2, is 1"),
        ({"level": 1.0}, "level must lie in"),
    ],
)
def test_impossible_counts_are_refused(change: dict[str, float], message: str) -> None:
    counts: dict[str, Any] = {"L": 0.9, "U_e": 0.8, "N": 100, "annotators": 3, "classes": 2, **change}
    with pytest.raises(EstimateError, match=message):
        assess_superhuman_from_counts(**counts)


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
    # A model that repeats the aggregate agrees with it everywhere, and errs where it errs.
    blind, seen = assess_superhuman(panel, copycat), assess_superhuman(panel, copycat, oracle=truth)
    assert blind.certified == ("U_panel", "U_t")
    assert seen.certified == seen.valid == ()
    assert "L is no lower bound" in seen.verdict
    # Items chosen for a split vote: who is right makes another right one less likely.
    split = np.flatnonzero((grid.sum(axis=1) == 2) | (grid.sum(axis=1) == 3))
    chosen = make_panel_from_grid(grid[split], ["0", "1"])
    found = assess_superhuman(chosen, truth[split], pool=True, oracle=truth[split])
    assert found.check is not None
    assert found.check.first_holds is False
    assert found.valid == ("U_panel", "U_t")
