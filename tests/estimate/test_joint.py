"""Intervals of several models that hold together, and rankings of few items."""

from __future__ import annotations

import numpy as np
import pytest

import oversight as ov
from tests.estimate.test_one_call import ITEMS, PREDICTIONS, labels_of
from tests.estimate.test_ranking import rank

NAMES = ("partitioned", "targeted", "sequential")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_joint_intervals_are_those_of_a_higher_level(name: str, level: float) -> None:
    labels = labels_of(name)
    joint = ov.model_accuracies(PREDICTIONS, labels, level=level, joint=True)
    single = ov.model_accuracies(PREDICTIONS, labels, level=level)
    each = ov.model_accuracies(PREDICTIONS, labels, level=level ** (1 / 2))
    for model, found in joint.items():
        assert found.keys() == single[model].keys()
        for key, e in found.items():
            assert (e.low, e.high) == (each[model][key].low, each[model][key].high)
            assert (e.value, e.level) == (single[model][key].value, level)
            assert e.high - e.low > single[model][key].high - single[model][key].low
            assert "joint: 2 models" in e.flags
            assert not any(flag.startswith("joint") for flag in single[model][key].flags)


def test_more_models_are_wider_and_one_is_itself() -> None:
    labels, rows = labels_of("partitioned"), PREDICTIONS["good"]
    widths = []
    for n in (1, 2, 5, 20):
        found = ov.model_accuracies({f"m{j}": rows for j in range(n)}, labels, joint=True)
        assert len({(e["ml"].low, e["ml"].high) for e in found.values()}) == 1
        widths.append(found["m0"]["ml"].high - found["m0"]["ml"].low)
    assert widths == sorted(widths)
    alone = ov.accuracy(rows, labels)
    assert widths[0] == alone.high - alone.low


def test_anytime_interval_is_left_out_of_joint_intervals() -> None:
    labels = labels_of("partitioned")
    assert "anytime" in ov.model_accuracies(PREDICTIONS, labels, anytime=0.95)["good"]
    assert "anytime" not in ov.model_accuracies(PREDICTIONS, labels, anytime=0.95, joint=True)["good"]


def test_no_models_are_no_estimates() -> None:
    assert ov.model_accuracies({}, labels_of("partitioned"), joint=True) == {}


@pytest.mark.parametrize("n", [12, 25, 40])
def test_a_ranking_never_calls_all_and_none_equal(n: int) -> None:
    outcomes = np.stack([np.zeros(n), np.ones(n), (np.arange(n) % 2).astype(float)], axis=1)
    ranking = rank(outcomes, ["none", "all", "half"])
    assert ranking.names == ("all", "half", "none")
    ends = {(c.first, c.second): c for c in ranking.comparisons}
    assert ends["all", "none"].verdict == "all"
    assert all(c.high > c.low for c in ranking.comparisons)
    assert ranking.ranks[0][0] == 1
    assert ranking.ranks[0][1] < 3


def test_models_that_never_differ_have_an_interval_of_some_width() -> None:
    for c in rank(np.ones((25, 3)), list("abc")).comparisons:
        assert c.low < 0 < c.high
        assert c.verdict == "tie"


def test_joint_comparisons_are_wider_than_single_ones() -> None:
    labels = labels_of("partitioned")
    third = {**PREDICTIONS, "again": PREDICTIONS["poor"][::-1]}
    joint = {(c.first, c.second): c for c in ov.compare(third, labels).pairs}
    (single,) = ov.compare(PREDICTIONS, labels).pairs
    both = joint["good", "poor"]
    assert both.difference == single.difference
    assert both.low < single.low
    assert single.high < both.high
    assert both.p_value >= single.p_value
    same = next(c for pair, c in joint.items() if set(pair) == {"poor", "again"})
    assert (same.difference, same.verdict) == (0, "tie")
    assert same.low < 0 < same.high
    assert "never_differ" in same.flags
    assert same.items == len(ITEMS)
