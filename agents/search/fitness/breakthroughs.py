"""The chance that a candidate is none of the crowd, and how good it is then.

`oversight.agents.search.fitness.empirical_bayes` takes all candidates for draws around one mean. One that
found what the others lack is no such draw: shrunken like the rest it is reported too low, by twenty points
where one of .90 stands among .55. The upper end of an interval therefore allows for a second population, far
wider than the first, to which two or three of all candidates are expected to belong:

    A_j − μ ~ (1 − ε) N(0, τ²) + ε N(0, ω²)

μ and τ are those of the other candidates, so that a breakthrough does not hide itself by widening the crowd.
The rank and the posterior mean stay those of the one population, and so does the lower end: whoever is on top
by luck alone is not reported better for it. A candidate's own noise counts where it is larger than the pooled
one: with few answers a lucky yes or two looks like a breakthrough otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtr, ndtri

from oversight.harness import FloatArray, find_root

EXPECTED = 2.5
"""Breakthroughs expected in an archive: fewer make narrower intervals that miss one in ten."""
FAR = 0.35
"""Their spread ω: from a workflow that mostly fails to one that mostly does not."""
NEAR = 0.05
"""Scale of the half-normal prior of the others' spread τ."""
MOST = 0.5
"""ε at most, in the smallest of archives."""
SIDE = 0.975
LOW = 2.25
"""Standard deviations below the mean at which an interval begins, in place of 1.96. The noise of refutations
is skewed: a candidate that leads by luck has few of them, and so too small a spread."""
WINNER_LOW, WINNER_SIDE = 2.6, 0.99
"""`LOW` and `SIDE` for a search's winner: a few dozen refutations choose it, so its mean is off by more than
its posterior says."""
_GRID = np.linspace(0.0, 4.0, 41)


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakthroughs:
    """One entry per candidate.

    Attributes
    ----------
    chance
        Posterior probability of being none of the crowd; 0 without others to be compared with.
    mean, sd
        Posterior of its accuracy if so, the archive's level taken as known.
    """

    chance: FloatArray
    mean: FloatArray
    sd: FloatArray


def find_breakthroughs(value: FloatArray, variance: FloatArray, unit: float) -> Breakthroughs:
    """Hold every candidate against all others.

    Parameters
    ----------
    value, variance
        Estimates and their squared standard errors, shape (M,); NaN where there is none.
    unit
        How large one point of accuracy is on their scale.
    """
    M = len(value)
    has = np.isfinite(value)
    found = Breakthroughs(chance=np.zeros(M), mean=value.copy(), sd=np.sqrt(variance))
    if has.sum() > 1:
        found.chance[has], found.mean[has], found.sd[has] = _against_others(value[has], variance[has], unit)
    return found


def _against_others(
    value: FloatArray, variance: FloatArray, unit: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Chance, mean and standard deviation of every candidate, its crowd being all others."""
    tau2 = (NEAR * unit * _GRID[:, None]) ** 2
    weight = 1 / np.maximum(tau2 + variance, 1e-18)
    total = weight.sum(axis=1, keepdims=True) - weight
    mu = ((weight * value).sum(axis=1, keepdims=True) - weight * value) / total
    square = (weight * value**2).sum(axis=1, keepdims=True) - weight * value**2 - total * mu**2
    log = 0.5 * (np.log(weight).sum(axis=1, keepdims=True) - np.log(weight) - np.log(total) - square)
    p = np.exp(_normalised(log - 0.5 * _GRID[:, None] ** 2))
    beyond = (FAR * unit) ** 2
    crowd = _log_mean(p, _log_normal(value - mu, tau2 + variance + 1 / total))
    far = _log_mean(p, _log_normal(value - mu, beyond + variance + 1 / total))
    epsilon = min(MOST, EXPECTED / len(value))
    chance = expit(np.log(epsilon / (1 - epsilon)) + far - crowd)
    middle = (p * mu).sum(axis=0)
    keep = beyond / (beyond + variance)
    return chance, middle + keep * (value - middle), np.sqrt(keep * variance)


def interval_ends(
    mean: float,
    sd: float,
    chance: float,
    far_mean: float,
    far_sd: float,
    reach: tuple[float, float] = (LOW, SIDE),
) -> tuple[float, float]:
    """Ends of about 95 %: the lower by the crowd alone, the upper by a posterior of two parts.

    Parameters
    ----------
    mean, sd
        Of the crowd's part, the archive's common level included.
    chance, far_mean, far_sd
        Of the part that is a breakthrough.
    reach
        Standard deviations down, and the share below the upper end.
    """
    down, side = reach
    low = mean - down * sd
    first, second = mean + float(ndtri(side)) * sd, far_mean + float(ndtri(side)) * far_sd

    def below(x: float) -> float:
        return float((1 - chance) * ndtr((x - mean) / sd) + chance * ndtr((x - far_mean) / far_sd)) - side

    if chance <= 0 or sd <= 0 or second <= first or below(first) >= 0:
        return low, first
    return low, find_root(lambda x: -below(x), first, second)


def _normalised(log: FloatArray) -> FloatArray:
    """Logarithms of shares whose sum over the grid is 1."""
    shifted = log - log.max(axis=0)
    found: FloatArray = shifted - np.log(np.exp(shifted).sum(axis=0))
    return found


def _log_normal(gap: FloatArray, variance: FloatArray) -> FloatArray:
    return -0.5 * (np.log(variance) + gap**2 / variance)


def _log_mean(p: FloatArray, log: FloatArray) -> FloatArray:
    """Logarithm of the mean of densities over the grid."""
    most = log.max(axis=0)
    found: FloatArray = most + np.log((p * np.exp(log - most)).sum(axis=0))
    return found
