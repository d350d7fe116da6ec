"""Rankings: adjusted p-values, joint intervals, ties that share ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import oversight as ov
from benchmarks._coverage_designs import Design, draw
from oversight.harness import EstimateError
from oversight.harness.estimate import Ranking, holm
from oversight.harness.estimate.core import bonferroni, range_quantile, range_tail
from oversight.harness.estimate.model_comparison import compare_pairs, rank_models
from oversight.harness.estimate.paired import TIED, mcnemar

RNG = np.random.default_rng(11)


def rank(outcomes: NDArray[np.float64], names: Sequence[str]) -> Ranking:
    """Rank models whose correctness is known on every item."""
    columns = dict(zip(names, outcomes.T, strict=True))
    values = {name: float(column.mean()) for name, column in columns.items()}
    return rank_models(
        values,
        lambda a, b, level: replace(
            mcnemar(columns[a], columns[b], questions=0, level=level), first=a, second=b
        ),
    )


def test_holm_and_bonferroni_equal_the_values_by_hand() -> None:
    p = [0.03, 0.01, 0.04, 0.5]
    assert bonferroni(p).tolist() == pytest.approx([0.12, 0.04, 0.16, 1.0])
    assert holm(p).tolist() == pytest.approx([0.09, 0.04, 0.09, 0.5])
    assert (holm(p) <= bonferroni(p)).all()
    with pytest.raises(EstimateError, match=r"p_values\[1\]"):
        holm([0.2, 1.2])


def test_adjusting_can_turn_a_finding_into_a_tie() -> None:
    one = mcnemar([1] * 8 + [0] * 2, [0] * 7 + [1] + [0] * 2, questions=10)
    assert one.p_value == pytest.approx(2 * 0.5**7)
    assert one.verdict == "a"
    family = compare_pairs(["a", "b", "c", "d"], lambda *_: one)
    assert {c.verdict for c in family} == {TIED}
    assert {c.adjusted for c in family} == {"bonferroni"}


def test_clear_winner_and_a_tie_behind_it() -> None:
    rng = np.random.default_rng(0)
    latent = rng.random((2000, 1))
    z = (np.hstack([latent, latent, latent]) + rng.normal(0, 0.1, (2000, 3)) < [0.9, 0.6, 0.61]).astype(float)
    ranking = rank(z, ["best", "x", "y"])
    assert ranking.names[0] == "best"
    assert ranking.ranks == ((1, 1), (2, 3), (2, 3))
    assert [c.verdict for c in ranking.comparisons] == ["best", "best", TIED]
    verdict, _, second, _ = str(ranking).splitlines()
    assert verdict == "best is the best of 3 models"
    assert second.startswith("2–3  ")


@pytest.mark.parametrize("models", [2, 3, 9, 30])
@pytest.mark.parametrize("df", [3.0, 19.0, 400.0, math.inf])
def test_studentized_range_is_that_of_scipy(models: int, df: float) -> None:
    q = float(stats.studentized_range.ppf(0.95, models, df))
    assert range_quantile(0.95, models, df) == pytest.approx(q, rel=1e-6)
    assert range_tail(1.5 * q, models, df) == pytest.approx(
        float(stats.studentized_range.sf(1.5 * q, models, df)), rel=1e-5
    )
    assert range_tail(0.0, models, df) == 1


@pytest.mark.parametrize("protocol", ["partitioned", "targeted", "sequential"])
def test_joint_interval_is_the_plain_one_times_tukeys_range(protocol: str) -> None:
    drawn = draw(Design(protocol=protocol, accuracies=(0.5, 0.6, 0.7, 0.75, 0.8, 0.9), n=100), RNG)
    factor = range_quantile(0.95, 6) / math.sqrt(2) / float(stats.norm.ppf(0.975))
    assert factor == pytest.approx(1.454, abs=1e-3)
    for joint in ov.compare(drawn.models, drawn.labels).pairs:
        (plain,) = ov.compare(
            {name: drawn.models[name] for name in (joint.first, joint.second)}, drawn.labels
        ).pairs
        assert joint.difference == pytest.approx(plain.difference)
        low = plain.difference - factor * (plain.difference - plain.low)
        high = plain.difference + factor * (plain.high - plain.difference)
        assert (joint.low, joint.high) == pytest.approx((max(-1, low), min(1, high)), abs=1e-6)
        assert joint.p_value >= plain.p_value


@pytest.mark.parametrize(("n", "accuracy", "together"), [(25, 0.9, 0.5), (60, 0.97, 0.95), (100, 0.5, 0.5)])
def test_all_pairs_of_nine_models_are_held_at_once(n: int, accuracy: float, together: float) -> None:
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(150):
        shared = rng.normal(size=(n, 1)) * math.sqrt(together)
        right = shared + rng.normal(size=(n, 9)) * math.sqrt(1 - together) < stats.norm.ppf(accuracy)
        pairs = rank(right.astype(float), list("abcdefghi")).comparisons
        held += all(c.low <= 0 <= c.high for c in pairs)
        assert all(c.verdict == TIED for c in pairs if c.difference == 0)
    assert held / 150 >= 0.95 - 2.6 * math.sqrt(0.95 * 0.05 / 150)


def test_identical_models_are_tied() -> None:
    z = np.repeat(np.array([[1.0], [0.0], [1.0]]), 2, axis=1)
    ranking = rank(z, ["a", "b"])
    assert ranking.comparisons[0].verdict == TIED
    assert ranking.ranks == ((1, 2), (1, 2))
