"""Counting equal items gives what listing them gives."""

from __future__ import annotations

import numpy as np
import pytest

from oversight.harness import EstimateError
from oversight.harness.estimate import RoutedSample
from oversight.harness.estimate.paired import paired_difference
from oversight.harness.estimate.routed_means import routed_accuracy
from oversight.harness.estimate.routed_sample import PoolKinds

N, M = 900, 3


def pool(
    design: str, rng: np.random.Generator
) -> tuple[RoutedSample, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    n_options = rng.integers(2, 5, size=N) if design == "mixed" else np.full(N, 4)
    truth, predicted = rng.integers(n_options), np.empty((N, M), np.int64)
    for m in range(M):
        guess = rng.integers(n_options)
        predicted[:, m] = np.where(rng.random(N) < 0.6, truth, np.where(rng.random(N) < 0.1, -1, guess))
    chances = np.arange(4) < n_options[:, None]
    weights = chances * (1.0 if design != "tilted" else np.array([1.0, 1.0, 2.0, 4.0]))
    propensities = weights / weights.sum(axis=1, keepdims=True)
    asked = np.array([rng.choice(4, p=row) for row in propensities])
    every = np.arange(N)
    return RoutedSample(every, asked, (asked == truth).astype(float), propensities, n_options), predicted


@pytest.mark.parametrize("design", ["flat", "mixed", "tilted"])
def test_counted_items_give_the_same_estimates(design: str) -> None:
    data, predicted = pool(design, np.random.default_rng(3))
    kinds = PoolKinds.of(data)
    assert kinds is not None
    for a, b in ((0, 1), (1, 2), (2, 2)):
        small, (first, second), count = kinds.count(predicted[:, a], predicted[:, b])
        assert (len(first) < N / 4, count.sum()) == (True, N)
        counted = paired_difference(first, second, small, count=count)
        assert counted == paired_difference(predicted[:, a], predicted[:, b], data)
    small, (one,), count = kinds.count(predicted[:, 0])
    assert routed_accuracy(one, small, count=count) == routed_accuracy(predicted[:, 0], data)


def test_kinds_that_are_too_many_are_not_counted() -> None:
    rng = np.random.default_rng(3)
    propensities = rng.dirichlet(np.ones(4), size=N)
    data = RoutedSample(np.arange(N), rng.integers(4, size=N), np.zeros(N), propensities)
    assert PoolKinds.of(data) is None
    twice = RoutedSample(np.zeros(2, np.int64), np.array([0, 1]), np.zeros(2), np.full((1, 4), 0.5))
    assert PoolKinds.of(twice) is None


def test_an_option_of_no_item_is_refused() -> None:
    data, predicted = pool("flat", np.random.default_rng(3))
    kinds = PoolKinds.of(data)
    assert kinds is not None
    predicted[5, 0] = 4
    with pytest.raises(EstimateError, match=r"a prediction must lie in -1\.\.3, one is 4"):
        kinds.count(predicted[:, 0])
