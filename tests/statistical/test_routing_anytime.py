"""Looking again and again: how often an interval ever misses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from oversight.harness.estimate import clopper_pearson, obrien_fleming_level
from oversight.harness.estimate.anytime import likelihood_sequence, score_betting_sequence

pytestmark = [pytest.mark.statistical, pytest.mark.slow]


def test_fixed_intervals_miss_often_when_looked_at_often_and_planned_looks_do_not() -> None:
    rng = np.random.default_rng(0)
    studies, n, A = 4000, 1000, 0.7
    z = rng.random((studies, n)) < A
    at = np.arange(10, n + 1, 10)
    share = np.cumsum(z, axis=1)[:, at - 1] / at
    spread = np.sqrt(A * (1 - A) / at)
    fixed = (np.abs(share - A) > 1.96 * spread).any(axis=1).mean()
    assert 0.28 <= fixed <= 0.42
    looks = np.arange(1, 11)
    levels = np.array([obrien_fleming_level(int(j), 10) for j in looks])
    bound = stats.norm.isf((1 - levels) / 2)
    columns = 10 * looks - 1
    planned = (np.abs(share - A)[:, columns] > bound * spread[columns]).any(axis=1).mean()
    assert 0.03 <= planned <= 0.062
    # Exact intervals at the planned levels also keep the error rate.
    cp_missed = 0
    for row in z[:2500]:
        ends = [
            clopper_pearson(int(row[: 200 * j].sum()), 200 * j, obrien_fleming_level(j, 5))
            for j in range(1, 6)
        ]
        cp_missed += any(not low <= A <= high for low, high in ends)
    assert cp_missed / 2500 <= 0.06


@pytest.mark.parametrize(("K", "A"), [(4, 0.6), (10, 0.9)])
def test_likelihood_sequence_covers_at_all_times(K: int, A: float) -> None:
    rng = np.random.default_rng(K)
    studies, n = 150, 600
    looks = np.unique(np.geomspace(5, n, 25).astype(int))
    missed, ratio = 0, []
    for _ in range(studies):
        hit, right = rng.random(n) < 1 / K, rng.random(n) < A
        yes_miss = ~right & (rng.random(n) < 1 / (K - 1))
        S_o, T = hit & right, (hit & ~right) | (~hit & yes_miss)
        ever = False
        for t in looks:
            counts = int(S_o[:t].sum()), int(T[:t].sum())
            e = likelihood_sequence(*counts, [int(t) - sum(counts)], [K])
            ever |= not e.low <= A <= e.high
        missed += ever
        ratio.append(e.high - e.low)
    assert missed / studies <= 0.06
    information = (K * A + K - 2) / (K * A * (1 - A) * (A + K - 2))
    assert 1.3 <= np.mean(ratio) / (2 * 1.96 / np.sqrt(n * information)) <= 2.2


@pytest.mark.parametrize("shuffled", [True, False])
def test_anytime_interval_covers_with_clustered_items(*, shuffled: bool) -> None:
    """Sixty patients of five images that are right or wrong together; 20 looks."""
    rng, patients, images, A, K = np.random.default_rng(7), 60, 5, 0.7, 4
    patient = np.repeat(np.arange(patients), images)
    together = alone = 0
    for _ in range(80):
        right = np.repeat(rng.random(patients) < A, images)
        hit = rng.random(len(patient)) < 1 / K
        yes_other = ~hit & ~right & (rng.random(len(patient)) < 1 / (K - 1))
        kind = np.where(hit & right, 0, np.where((hit & ~right) | yes_other, 1, 2))
        order = rng.permutation(len(patient)) if shuffled else np.arange(len(patient))
        ever = ever_alone = False
        for t in np.linspace(10, len(patient), 20).astype(int):
            seen, of = kind[order[:t]], patient[order[:t]]
            S, T, refused = (np.bincount(of[seen == q], minlength=patients) for q in range(3))
            found = score_betting_sequence(S, T, refused[:, None], np.array([float(K)]), largest=images)
            ever |= not found.low <= A <= found.high
            plain = likelihood_sequence(int(S.sum()), int(T.sum()), [int(refused.sum())], [float(K)])
            ever_alone |= not plain.low <= A <= plain.high
        together += ever
        alone += ever_alone
    assert together / 80 <= 0.05
    assert alone / 80 > 0.05
