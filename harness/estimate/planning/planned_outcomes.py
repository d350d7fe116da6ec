"""How outcomes will vary under a planned draw of options, by what the truth may be.

The interval of `oversight.harness.estimate.intervals.tilting` is made of outcomes g, whose variance depends
on the draw, on the working distribution, and on the truth, which is not known. But given item x and truth k

    f_k(x) = Σ_j π_j(x) [g(x, j, 1{j = k}) − A]²

is a number, π being the planned propensities and g taken at the tilt of mean A. So E f is one more mean of
Σ_k f_k 1{y = k}, and a pilot tells it as it tells an accuracy, by equation (G) of
`oversight.harness.estimate.routed.doubly_robust`, whatever options the pilot's own draw asked about.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate.intervals import outcomes_at, plan_working, tilt_items, tilt_of

_PORTION = 2_000
"""Items at a time: there is a row for every option that may be asked about, and either answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOutcomes:
    """Second moments of the outcomes of N items of at most K options.

    Attributes
    ----------
    around_mean, around_guess
        Shape (N, K): E[(g − A)² | the truth is k], and the same around what is expected of the item.
    modelled, modelled_around_guess
        Their means over the items if the tilted working distribution is right.
    guess
        Shape (N,): what it expects of the item, E c.
    """

    around_mean: FloatArray
    around_guess: FloatArray
    modelled: float
    modelled_around_guess: float
    guess: FloatArray


def plan_outcomes(
    c: FloatArray,
    propensities: FloatArray,
    n_options: IntArray,
    working: FloatArray | None,
    mean: float,
) -> PlannedOutcomes:
    """Outcomes of N items of equal weight, one question each; parameters as of `tilt_items`, and A.

    Raises
    ------
    NotIdentified
        If such a draw cannot tell this target.
    """
    working = plan_working(c, propensities, n_options) if working is None else working
    nobody, none = np.full(len(c), -1), np.zeros(len(c))
    tilt = tilt_of(tilt_items(c, propensities, n_options, nobody, none, working=working), mean)
    parts = [slice(start, start + _PORTION) for start in range(0, len(c), _PORTION)]
    found = [_plan_part(c[p], propensities[p], n_options[p], working[p], mean, tilt) for p in parts]
    around_mean, around_guess, variance, guess = (np.concatenate(x) for x in zip(*found, strict=True))
    return PlannedOutcomes(
        around_mean=around_mean,
        around_guess=around_guess,
        modelled=float((variance + (guess - mean) ** 2).mean()),
        modelled_around_guess=float(variance.mean()),
        guess=guess,
    )


def model_variances(
    c: FloatArray, propensities: FloatArray, n_options: IntArray, working: FloatArray | None, mean: float
) -> tuple[float, float]:
    """`modelled` and `modelled_around_guess` at this mean."""
    nobody, none = np.full(len(c), -1), np.zeros(len(c))
    rows = tilt_items(c, propensities, n_options, nobody, none, working=working)
    guess, variance, _ = outcomes_at(rows, tilt_of(rows, mean))
    return float((variance + (guess - mean) ** 2).mean()), float(variance.mean())


def _plan_part(
    c: FloatArray,
    propensities: FloatArray,
    n_options: IntArray,
    working: FloatArray,
    mean: float,
    tilt: float,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Both moments, and Var(g) and E c of every item by the tilted working distribution."""
    n, width = c.shape
    each = np.repeat(np.arange(n), 2 * width)
    option, yes = (x.ravel() for x in np.indices((n, width, 2))[1:])
    asked = np.where(propensities[each, option] > 0, option, -1)
    rows = tilt_items(
        c[each],
        propensities[each],
        n_options[each],
        asked,
        yes.astype(np.float64),
        working=working[each],
    )
    guess, variance, g = (x.reshape(n, width, 2) for x in outcomes_at(rows, tilt))
    first, own = guess[:, 0, 0], np.arange(width) < n_options[:, None]
    moments = []
    for centre in (mean, first[:, None, None]):
        no, is_true = np.moveaxis((g - centre) ** 2, 2, 0)
        refuted = (propensities * no).sum(axis=1, keepdims=True)
        moments.append(np.where(own, refuted + propensities * (is_true - no), 0.0))
    return moments[0], moments[1], variance[:, 0, 0], first
