"""A judge's probabilities as a control variate: calibrated on experts' judgements of other items."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from oversight.harness.arrays import BoolArray, FloatArray, IntArray

_FOLDS = 5
_FEWEST = 20
"""Judged units, and a quarter as many of the rarer outcome, from which anything is learned of a judge."""
_PRIOR = np.array([0.01, 1.0])
_ROUNDS = 25


def calibrate(
    probability: FloatArray, bad: BoolArray, judged: BoolArray, weight: FloatArray, item: IntArray
) -> FloatArray:
    """Probabilities of bad units, shape (U,), each made from judgements of other items.

    A logistic curve of the judge's log-odds, fitted to the judged units of four in five items. With few
    judgements, or of a unit that the judge says nothing of, it is the mean of the other items' judgements.

    Parameters
    ----------
    probability
        Shape (U,): the judge's probability that the unit is bad, NaN where it says nothing.
    bad, judged
        Shape (U,): what experts said, and whether they did.
    weight, item
        Shape (U,): weight of a judged unit in the mean, and number of its item.
    """
    known = ~np.isnan(probability)
    x = logit(np.clip(np.where(known, probability, 0.5), 1e-4, 1 - 1e-4))
    names = np.unique(item)
    fold = (np.random.default_rng(0).permutation(len(names)) % _FOLDS)[np.searchsorted(names, item)]
    found = np.empty(len(item))
    for part in range(_FOLDS):
        here, rows = fold == part, judged & (fold != part)
        mean = float(weight[rows] @ bad[rows] / weight[rows].sum()) if rows.any() else 0.0
        found[here] = mean
        rows &= known
        rarer = min(bad[rows].sum(), (~bad[rows]).sum())
        if rows.sum() >= _FEWEST and rarer >= _FEWEST // 4:
            level, slope = _fit(x[rows], bad[rows])
            here &= known
            found[here] = expit(level + slope * x[here])
    return found


def _fit(x: FloatArray, bad: BoolArray) -> tuple[float, float]:
    """Level and slope of a logistic curve, with a normal prior around 0; Newton's method."""
    design = np.column_stack([np.ones(len(x)), x])
    theta: FloatArray = np.zeros(2)
    for _ in range(_ROUNDS):
        p = expit(design @ theta)
        gradient = design.T @ (bad - p) - _PRIOR * theta
        step = np.linalg.solve((design.T * (p * (1 - p))) @ design + np.diag(_PRIOR), gradient)
        theta = theta + step
        if np.abs(step).max() < 1e-8:
            break
    return float(theta[0]), float(theta[1])
