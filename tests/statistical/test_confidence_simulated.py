"""Strata by confidence: no bias, the level kept, and a shorter interval where the confidence is good."""

from __future__ import annotations

import numpy as np
import pytest

from oversight.harness.estimate import accuracy
from tests.estimate.test_by_confidence import study
from tests.records import stratify_by_confidence

pytestmark = pytest.mark.statistical


@pytest.mark.slow
def test_a_good_confidence_shortens_the_interval_and_none_biases_it() -> None:
    errors: dict[bool, list[float]] = {True: [], False: []}
    covered, shorter = 0, 0
    runs = 120
    for seed in range(runs):
        for useful in (True, False):
            predictions, labels, truth = study(seed, 400, useful=useful)
            strata = stratify_by_confidence(predictions, len(labels))
            estimate = accuracy(predictions, labels, strata=strata, interval="score")
            errors[useful].append(estimate.value - truth)
            if useful:
                plain = accuracy(predictions, labels, interval="score")
                covered += estimate.low <= truth <= estimate.high
                shorter += estimate.high - estimate.low < plain.high - plain.low
    for found in errors.values():
        assert abs(np.mean(found)) <= 3.5 * np.std(found) / np.sqrt(runs)
    assert covered >= 0.91 * runs  # 0.95 minus 2 binomial standard errors
    assert shorter >= 0.9 * runs
