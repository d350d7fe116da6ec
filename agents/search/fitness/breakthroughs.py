"""The probability that a candidate is a breakthrough, and its accuracy if it is one.

`oversight.agents.search.fitness.empirical_bayes` treats all candidates as draws around one mean. This does
not fit a candidate that solves items that no other candidate solves. Shrinkage makes the accuracy of such a
candidate too low, for example by twenty points if it is .90 among candidates of .55. The upper end of an
interval therefore allows for a second population with a far wider spread, to which two or three of all
candidates are expected to belong. The accuracy A_j of candidate j has the prior

    A_j − μ ~ (1 − ε) N(0, τ²) + ε N(0, ω²)

μ and τ are computed without candidate j, because a breakthrough would increase τ and so hide itself. The
rank, the posterior mean and the lower end use only the narrow population N(0, τ²), so that a candidate that
leads by luck is not reported as better. A candidate's own noise variance replaces the pooled variance if the
candidate's is larger, because with few answers one or two lucky yes answers would look like a breakthrough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp, ndtr, ndtri, softmax

from oversight.harness import FloatArray
from oversight.harness.estimate import find_root

EXPECTED = 2.5
"""Expected number of breakthroughs in an archive. With fewer, one interval in ten misses the accuracy."""
FAR = 0.35
"""Spread ω of breakthroughs; it spans from a workflow that mostly fails to one that mostly succeeds."""
NEAR = 0.05
"""Scale of the half-normal prior of the other candidates' spread τ."""
MOST = 0.5
"""Maximum of ε, which the smallest archives reach."""
SIDE = 0.975
LOW = 2.25
"""Number of standard deviations from the mean to the lower end of an interval. It exceeds 1.96, because a
candidate that leads by luck has few refutations, and then its estimated standard deviation is too small."""
WINNER_LOW, WINNER_SIDE = 2.6, 0.99
"""`LOW` and `SIDE` for the winner of a search. They widen the interval, because a winner chosen by a few
dozen refutations deviates from its posterior mean by more than the posterior implies."""
_GRID = np.linspace(0.0, 4.0, 41)


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakthroughs:
    """The breakthrough component of each candidate's posterior; arrays have one entry per candidate.

    Attributes
    ----------
    chance
        Posterior probability that the candidate is a breakthrough; 0 if there is no other candidate.
    mean, sd
        Posterior mean and sd of the candidate's accuracy if it is a breakthrough, given the archive's level.
    """

    chance: FloatArray
    mean: FloatArray
    sd: FloatArray


def find_breakthroughs(value: FloatArray, variance: FloatArray, unit: float) -> Breakthroughs:
    """Compute each candidate's probability of being a breakthrough, and its accuracy if it is one.

    Parameters
    ----------
    value, variance
        Estimates and their squared standard errors, shape (M,); NaN if missing.
    unit
        Factor that converts a difference of accuracies to the scale of the estimates.
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
    """Return each candidate's probability of being a breakthrough, and its accuracy (mean, sd) if it is one.

    Each candidate is compared with all other candidates.
    """
    tau2 = (NEAR * unit * _GRID[:, None]) ** 2
    weight = 1 / np.maximum(tau2 + variance, 1e-18)
    total = weight.sum(axis=1, keepdims=True) - weight
    mu = ((weight * value).sum(axis=1, keepdims=True) - weight * value) / total
    square = (weight * value**2).sum(axis=1, keepdims=True) - weight * value**2 - total * mu**2
    log = 0.5 * (np.log(weight).sum(axis=1, keepdims=True) - np.log(weight) - np.log(total) - square)
    p = softmax(log - 0.5 * _GRID[:, None] ** 2, axis=0)
    beyond = (FAR * unit) ** 2
    crowd = logsumexp(_log_normal(value - mu, tau2 + variance + 1 / total), axis=0, b=p)
    far = logsumexp(_log_normal(value - mu, beyond + variance + 1 / total), axis=0, b=p)
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
    """Return the ends of an interval of about 95 %, whose upper end allows for a breakthrough.

    The lower end assumes an ordinary candidate. The upper end uses the mixture of ordinary candidates and
    breakthroughs.

    Parameters
    ----------
    mean, sd
        Posterior mean and standard deviation if the candidate is ordinary; the sd includes the uncertainty of
        the archive's common level.
    chance, far_mean, far_sd
        Probability, mean and standard deviation of the breakthrough component.
    reach
        Number of standard deviations from the mean down to the lower end, and posterior probability below the
        upper end.
    """
    down, side = reach
    low = mean - down * sd
    first, second = mean + float(ndtri(side)) * sd, far_mean + float(ndtri(side)) * far_sd

    def below(x: float) -> float:
        return float((1 - chance) * ndtr((x - mean) / sd) + chance * ndtr((x - far_mean) / far_sd)) - side

    if chance <= 0 or sd <= 0 or second <= first or below(first) >= 0:
        return low, first
    return low, find_root(lambda x: -below(x), first, second)


def _log_normal(gap: FloatArray, variance: FloatArray) -> FloatArray:
    return -0.5 * (np.log(variance) + gap**2 / variance)
