"""The score interval from one question an item: definition, invariances, refusals."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from oversight.harness import EstimateError, FloatArray, IntArray, NotIdentified
from oversight.harness.estimate import BinomialSample, accuracy_target, maximum_likelihood
from oversight.harness.estimate.routed_sample import difference_target
from oversight.harness.estimate.tilting import (
    TiltedMean,
    TiltedRows,
    collapse_rows,
    join_rows,
    plan_working,
    score_at,
    tilt_items,
    tilted_score,
    uniform_rows,
)


@dataclass(frozen=True)
class Asked:
    """Questions, answers and inclusion probabilities of items, and a target."""

    c: FloatArray
    pi: FloatArray
    K: IntArray
    asked: IntArray
    yes: FloatArray

    def rows(self, *, fitted: bool = True) -> TiltedRows:
        working = None if fitted else plan_working(self.c, self.pi, self.K)
        return tilt_items(self.c, self.pi, self.K, self.asked, self.yes, working=working)

    def take(self, order: IntArray) -> Asked:
        return Asked(self.c[order], self.pi[order], self.K[order], self.asked[order], self.yes[order])


@st.composite
def studies(draw: st.DrawFn) -> Asked:
    """Items of several K, options drawn uniformly or not; an accuracy or a difference."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, width = draw(st.integers(1, 40)), draw(st.integers(2, 6))
    K = rng.integers(2, width + 1, size=n)
    own = np.arange(width) < K[:, None]
    pi = rng.random((n, width)) ** 2 + 0.02 if draw(st.booleans()) else np.ones((n, width))
    pi = np.where(own, pi, 0)
    pi /= pi.sum(axis=1, keepdims=True)
    truth, first, second = (np.floor(rng.random(n) * K).astype(np.int64) for _ in range(3))
    first = np.where(rng.random(n) < rng.random(), truth, first)
    asked = (pi.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    c = accuracy_target(first, width) if draw(st.booleans()) else difference_target(first, second, width)
    return Asked(c, pi, K, asked, (asked == truth).astype(np.float64))


def numbers(found: TiltedMean) -> tuple[float, float, float, float]:
    return found.value, found.low, found.high, found.se


def reach(study: Asked) -> tuple[float, float]:
    """The least and the largest mean that any truth gives."""
    own = np.arange(study.c.shape[1]) < study.K[:, None]
    low, high = np.where(own, study.c, np.inf).min(axis=1), np.where(own, study.c, -np.inf).max(axis=1)
    return float(low.mean()), float(high.mean())


@given(studies(), st.sampled_from([0.8, 0.95]))
@settings(max_examples=40, deadline=None)
def test_interval_contains_its_estimate_and_has_a_width(study: Asked, level: float) -> None:
    found = tilted_score(study.rows(), level)
    floor, ceiling = reach(study)
    assert floor - 1e-8 <= found.low <= found.value <= found.high <= ceiling + 1e-8
    if (study.c != 0).any():
        assert found.high > found.low
    wider = tilted_score(study.rows(), 0.99)
    assert wider.value == found.value
    assert wider.low <= found.low
    assert found.high <= wider.high


@given(studies(), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_names_of_options_and_the_order_of_items_do_not_matter(study: Asked, seed: int) -> None:
    rng = np.random.default_rng(seed)
    expected = pytest.approx(numbers(tilted_score(study.rows(), 0.95)), abs=1e-7)
    order = rng.permutation(len(study.K))
    assert numbers(tilted_score(study.take(order).rows(), 0.95)) == expected
    c, pi, asked = study.c.copy(), study.pi.copy(), study.asked.copy()
    for i, K in enumerate(study.K.tolist()):
        to = rng.permutation(K)
        c[i, to], pi[i, to], asked[i] = study.c[i, :K], study.pi[i, :K], to[study.asked[i]]
    renamed = Asked(c, pi, study.K, asked, study.yes)
    assert numbers(tilted_score(renamed.rows(), 0.95)) == expected


@given(studies())
@settings(max_examples=40, deadline=None)
def test_collapsing_equal_rows_changes_nothing_and_a_repeated_item_weighs_twice(study: Asked) -> None:
    rows = study.rows(fitted=False)
    few = collapse_rows(join_rows([rows, rows]))
    assert few.count.sum() == 2 * len(study.K)
    assert len(few.count) <= len(study.K)
    halved = replace(few, weight=few.weight / 2)
    twice = study.take(np.tile(np.arange(len(study.K)), 2)).rows(fitted=False)
    assert numbers(tilted_score(halved, 0.95)) == pytest.approx(numbers(tilted_score(twice, 0.95)), abs=1e-7)
    assert tilted_score(twice, 0.95).value == pytest.approx(tilted_score(rows, 0.95).value, abs=1e-7)
    assert tilted_score(twice, 0.95).se == pytest.approx(tilted_score(rows, 0.95).se / math.sqrt(2), rel=1e-4)


@given(studies())
@settings(max_examples=40, deadline=None)
def test_swapping_the_models_mirrors_a_difference(study: Asked) -> None:
    found = tilted_score(study.rows(), 0.95)
    mirrored = tilted_score(replace(study, c=-study.c).rows(), 0.95)
    expected = (-found.value, -found.high, -found.low, found.se)
    assert numbers(mirrored) == pytest.approx(expected, abs=1e-7)


@given(studies())
@settings(max_examples=40, deadline=None)
def test_inner_ends_are_where_the_score_is_refuted(study: Asked) -> None:
    rows = study.rows()
    found = tilted_score(rows, 0.95)
    t = float(student.ppf(0.975, len(study.K)))
    floor, ceiling = reach(study)
    for end in (found.low, found.high):
        if floor + 1e-4 < end < ceiling - 1e-4:
            assert score_at(rows, end) == pytest.approx(t, rel=1e-3)
    if floor + 1e-4 < found.value < ceiling - 1e-4:
        assert score_at(rows, found.value) == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("K", [2, 3, 4, 10])
@pytest.mark.parametrize("counts", [(9, 3, 30, 6), (12, 0, 20, 0), (0, 10, 10, 8), (1, 0, 0, 0)])
def test_counts_of_uniform_draws_are_items(K: int, counts: tuple[int, int, int, int]) -> None:
    n = sum(counts)
    hit = np.repeat([True, False], [counts[0] + counts[1], counts[2] + counts[3]])
    yes = np.repeat([1.0, 0.0, 0.0, 1.0], counts)
    items = tilt_items(
        accuracy_target(np.zeros(n, np.int64), K),
        np.full((n, K), 1 / K),
        np.full(n, K),
        np.where(hit, 0, 1),
        yes,
    )
    found = tilted_score(uniform_rows(K, counts, 1 / n), 0.95)
    assert numbers(found) == pytest.approx(numbers(tilted_score(items, 0.95)), abs=1e-7)


@pytest.mark.parametrize("K", [3, 4, 10])
@pytest.mark.parametrize("counts", [(9, 3, 30, 6), (12, 1, 50, 1), (2, 10, 20, 8)])
def test_the_estimate_of_one_k_has_the_error_of_maximum_likelihood(
    K: int, counts: tuple[int, int, int, int]
) -> None:
    S_o, refused, S_c, wrong = counts
    best = maximum_likelihood((BinomialSample(2, S_o + wrong, S_o), BinomialSample(K, S_c + refused, S_c)))
    found = tilted_score(uniform_rows(K, counts, 1 / sum(counts)), 0.95)
    assert abs(found.value - best) < found.se


def test_uninformative_answer_leaves_a_difference_at_zero() -> None:
    """Neither of two predictions was asked about: each may be right."""
    pi = np.full((1, 3), 1 / 3)
    for sign in (1, -1):
        c = sign * difference_target([0], [2], 3)
        found = tilted_score(tilt_items(c, pi, np.array([3]), np.array([1]), np.array([0.0])), 0.95)
        assert (found.value, found.low, found.high) == (0, -1, 1)


def test_answers_without_an_error_are_not_certain() -> None:
    for counts in ((20, 0, 80, 0), (0, 20, 60, 20)):
        found = tilted_score(uniform_rows(5, counts, 0.01), 0.95)
        assert found.high - found.low > 0.03
        assert found.value in (0, 1)


@pytest.mark.parametrize(("K", "A"), [(2, 0.5), (3, 0.05), (4, 0.5), (4, 0.95), (10, 0.8), (10, 0.98)])
def test_interval_covers_uniform_draws_by_enumeration(K: int, A: float) -> None:
    """All outcomes of 11 items, from how often each of the four comes."""
    n, covered = 11, 0.0
    chance = (A / K, (1 - A) / K, 1 - 1 / K - (1 - A) / K, (1 - A) / K)
    for hit_yes, hit_no, other_no in itertools.product(range(n + 1), repeat=3):
        counts = (hit_yes, hit_no, other_no, n - hit_yes - hit_no - other_no)
        if counts[3] < 0:
            continue
        ways = math.factorial(n) / math.prod(math.factorial(x) for x in counts)
        mass = ways * math.prod(p**x for p, x in zip(chance, counts, strict=True))
        if mass > 1e-4:
            found = tilted_score(uniform_rows(K, counts, 1 / n), 0.95)
            covered += mass * (found.low <= A <= found.high)
        else:
            covered += mass
    assert covered >= 0.945


def test_a_question_that_settles_every_item_is_a_binomial() -> None:
    """π = 1 at the prediction: the working distribution plays no part in the estimate."""
    c = accuracy_target(np.zeros(20, np.int64), 4)
    yes = (np.arange(20) % 4 == 0).astype(np.float64)
    found = tilted_score(tilt_items(c, c, np.full(20, 4), np.zeros(20, np.int64), yes), 0.95)
    assert found.value == pytest.approx(0.25)
    assert found.se == pytest.approx(math.sqrt(0.25 * 0.75 / 20))


def test_an_item_that_was_never_asked_is_refused() -> None:
    one, K, asked = np.array([[1.0, 0, 0]]), np.array([3]), np.array([0])
    with pytest.raises(
        NotIdentified, match=r"in 1 of 1 items, .*propensity 0 \(in the first of these items: options 1, 2"
    ):
        tilt_items(difference_target([0], [1], 3), one, K, asked, np.array([0.0]))
    with pytest.raises(
        EstimateError, match="item 0: an expert was asked about option 1, whose propensity is 0"
    ):
        tilt_items(one, one, K, np.array([1]), np.array([0.0]))
    with pytest.raises(EstimateError, match="needs at least 1 item, there are 0"):
        tilt_items(np.zeros((0, 3)), np.zeros((0, 3)), *(np.zeros(0, np.int64),) * 2, np.zeros(0))


def test_clusters_of_one_item_are_items_and_repeated_items_count_once() -> None:
    rng = np.random.default_rng(4)
    n, K = 60, 4
    truth, asked = rng.integers(2, size=n), rng.integers(K, size=n)
    c, pi, options = accuracy_target(np.zeros(n, np.int64), K), np.full((n, K), 1 / K), np.full(n, K)
    yes = (asked == truth).astype(np.float64)

    def solve(times: int, cluster: IntArray | None) -> TiltedMean:
        c_, pi_, o, a, y = (np.repeat(x, times, axis=0) for x in (c, pi, options, asked, yes))
        return tilted_score(tilt_items(c_, pi_, o, a, y, cluster=cluster), 0.95)

    plain, apart = solve(1, None), solve(1, np.arange(n))
    assert numbers(apart) == pytest.approx(numbers(plain), abs=1e-9)
    repeated, ignored = solve(5, np.repeat(np.arange(n), 5)), solve(5, None)
    assert numbers(repeated)[0] == pytest.approx(plain.value, abs=1e-6)
    assert repeated.high - repeated.low > 1.8 * (ignored.high - ignored.low)
