"""The benchmark that enumerates all outcomes: what is withheld counts as missed, and the default holds."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from benchmarks.coverage import ACCURACIES, enumerate_design


def test_an_outcome_without_an_interval_counts_as_missed() -> None:
    n = 5
    found = enumerate_design(2, n, 0)
    some = 1 - binom.pmf(0, n, ACCURACIES) - binom.pmf(n, n, ACCURACIES)  # else the standard error is 0
    assert np.all(found.coverage["wald_published"] <= some + 1e-9)
    assert found.coverage["exact"].min() >= 0.95


def test_the_default_interval_holds_with_both_kinds_of_labels() -> None:
    found = enumerate_design(4, 3, 9)
    assert found.coverage["exact"].min() >= 0.95
    assert found.coverage["wald_published"].min() < 0.9
