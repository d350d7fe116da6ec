"""Pools while answers come in or experts abstain: neither bends an estimate."""

from __future__ import annotations

import numpy as np
import pytest

from harness.estimate import resolved_accuracy, routed_accuracy
from harness.estimate.routed.from_labels import routed_pool
from tests.estimate.test_pool import sequential, targeted

pytestmark = pytest.mark.statistical


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_unreadable_items_keep_their_share_while_answers_come_in(share: float) -> None:
    estimates = []
    for seed in range(120):
        answered, labels, asked = targeted(seed, 300, share)
        data, predicted, _ = routed_pool(labels, [answered], asked)
        estimates.append(routed_accuracy(predicted[:, 0], data))
    assert np.mean([e.value for e in estimates]) == pytest.approx(0.6, abs=0.01)
    assert np.mean([e.low <= 0.6 <= e.high for e in estimates]) >= 0.92  # of 120: s.e. 2 points


def test_abstentions_widen_a_sequential_estimate_instead_of_bending_it() -> None:
    """Leaving unknown items out under-covers, because wrong predictions get known more often."""
    covered, naive = [], []
    for seed in range(60):
        known, _ = sequential(seed, abstention=0.2)
        e = resolved_accuracy(known[:, 0])
        covered.append(e.low <= 0.7 <= e.high)
        naive.append(float(known[known[:, 0] >= 0, 0].mean()))
    assert np.mean(naive) < 0.69
    assert np.mean(covered) >= 0.95
