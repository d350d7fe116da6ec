"""Superhuman certification from published numbers: theirs, and the rigorous confidence on them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from oversight.harness import EstimateError
from oversight.harness.panel import assess_superhuman_from_counts
from oversight.harness.panel.ceiling import pool_agreement, pool_ceiling, theoretical
from oversight.harness.panel.certificate import (
    Evidence,
    certify,
    heuristic_score,
    lower_bound,
    optimal_score,
    published_score,
)
from oversight.harness.panel.superhuman import items_needed

# "Humanly Certifying Superhuman Classifiers", Tables 2, 3 and 5: L, U(e), N, annotators, classes.
BERT = (0.949, 0.939, 1821, 3, 2)
STRUCT = (0.971, 0.939, 1821, 3, 2)
RADFORD = (0.899, 0.879, 10000, 5, 3)
SEMBERT = (0.919, 0.879, 10000, 5, 3)


def evidence(L: float, U: float, N: int, m: int, C: int) -> Evidence:
    return Evidence(L=L, x=U * U, N=N, m=m, C=C)


def test_table_2_is_reproduced_from_the_empirical_bound() -> None:
    # The paper prints .790, .960, .904 for SST-5, SST-2, SNLI; the last is from an unrounded U(e).
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
def test_table_3_is_reproduced(
    model: tuple[float, float, int, int, int], hms: float, oms: float, optimum: float
) -> None:
    L, U, N, *_ = model
    digits = 3 if hms < 0 else 4
    assert round(heuristic_score(L, U, N) or 0, digits) == hms
    assert round(published_score(L, U, N) or 0, digits) == oms
    assert optimal_score(L, U, N) == pytest.approx(optimum, abs=6e-4 if hms < 0 else 6e-7)


@pytest.mark.parametrize("model", [BERT, STRUCT, RADFORD, SEMBERT])
def test_exact_tails_are_sharper_than_theorems_5_and_6(
    model: tuple[float, float, int, int, int],
) -> None:
    L, U, N, *_ = model
    t = math.sqrt(math.log(20) / (2 * N))
    upper, lower = math.sqrt(t + U * U), L - t
    e = evidence(*model)
    assert lower < lower_bound(e) < L
    assert U < certify(e)["U_e"].high < upper
    assert certify(e, ["U_e"], level=0.99)["U_e"].high > certify(e, ["U_e"])["U_e"].high


def test_bounds_are_exact_at_the_ends() -> None:
    perfect = evidence(1.0, 1.0, 100, 3, 2)
    assert lower_bound(perfect) == pytest.approx(0.05 ** (1 / 100), abs=1e-6)
    assert certify(perfect)["U_e"].high == 1.0
    assert lower_bound(evidence(0.0, 0.8, 100, 3, 2)) == 0.0


def test_the_published_search_stops_where_the_optimum_is_positive() -> None:
    assert round(heuristic_score(0.960, 0.939, 1821) or 0, 2) == -0.09
    assert (published_score(0.960, 0.939, 1821) or 0) < 0
    assert round(optimal_score(0.960, 0.939, 1821) or 0, 2) == 0.10
    assert heuristic_score(0.93, 0.939, 1821) is None


def test_published_numbers_have_the_stated_confidence() -> None:
    found = {name: certify(evidence(*model)) for name, model in
             (("bert", BERT), ("struct", STRUCT), ("radford", RADFORD), ("sem", SEMBERT))}  # fmt: skip
    assert round(found["bert"]["U_e"].confidence, 3) == 0.736
    assert round(found["struct"]["U_e"].confidence, 5) == 0.99996
    assert round(found["radford"]["U_e"].confidence, 4) == 0.9994
    assert found["sem"]["U_e"].confidence > 0.999999
    assert round(found["struct"]["U_t"].confidence, 3) == 0.912
    # Pairs of different annotators give a sharper bound of U(t) than all pairs (0.992).
    assert round(found["sem"]["U_t"].confidence, 3) == 0.996
    assert found["struct"]["U_e"].tails == ("exact binomial", "exact binomial")
    assert found["radford"]["U_e"].tails == ("exact binomial", "Chernoff-KL")
    # With equal errors for both tails, the score against U* is .816; the printed .825 is optimised.
    assert round(found["bert"]["U_star"].confidence, 3) == 0.816


def test_hoeffding_equal_split_is_what_exact_tails_improve_on() -> None:
    # With Hoeffding's inequality for both tails, the paper's construction gives .594 and .923.
    for (L, U, N, *_), published in ((STRUCT, 0.594), (RADFORD, 0.923)):
        u = np.linspace(U, L, 20001)
        p = np.maximum(np.exp(-2 * N * (L - u) ** 2), np.exp(-2 * N * (u * u - U * U) ** 2))
        assert round(1 - 2 * float(p.min()), 3) == published
        assert certify(evidence(L, U, N, 5, 3))["U_e"].confidence > published


def test_sharper_human_ceiling_is_reproduced() -> None:
    for U_e, C, published in ((0.939, 2, 0.9369), (0.879, 3, 0.8745), (0.660, 5, 0.634)):
        assert pool_ceiling(U_e**2, C) == pytest.approx(published, abs=6e-4 if C == 5 else 6e-5)
        assert pool_ceiling(U_e**2, C) < U_e
        assert pool_agreement(pool_ceiling(U_e**2, C), C) == pytest.approx(U_e**2)
    assert pool_ceiling(0.4, 2) == 0.5


def test_appendix_b_is_reproduced_except_a_misprint() -> None:
    # P(b right | a right) = .8, P(b right | a wrong) = .6, P(a right) = .7.
    joint = {(1, 1): 0.7 * 0.8, (1, 0): 0.7 * 0.2, (0, 1): 0.3 * 0.6, (0, 0): 0.3 * 0.4}
    b = joint[1, 1] + joint[0, 1]
    assert (round(b, 2), round(1 - b, 2)) == (0.74, 0.26)
    assert round(joint[1, 1] / b, 3) == 0.757
    assert round(joint[0, 0] / (1 - b), 3) == 0.462
    assert round(joint[1, 0] / (1 - b), 3) == 0.538
    assert round(joint[0, 0] / 0.3, 2) == 0.40  # the paper prints 0.30, which contradicts its Table 4a


def test_command_certifies_from_published_numbers_alone(oversight: Callable[..., Any]) -> None:
    counts = '{"L": 0.971, "U_e": 0.939, "N": 1821, "annotators": 3, "classes": 2}'
    found = oversight("panel", "certify", "--counts", counts)
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
        ({"annotators": 1}, "one annotator has nobody to agree with"),
        ({"classes": 1}, "classes must be at least 2, is 1"),
        ({"level": 1.0}, "level must lie in"),
    ],
)
def test_impossible_counts_are_refused(change: dict[str, float], message: str) -> None:
    counts: dict[str, Any] = {"L": 0.9, "U_e": 0.8, "N": 100, "annotators": 3, "classes": 2, **change}
    with pytest.raises(EstimateError, match=message):
        assess_superhuman_from_counts(**counts)
