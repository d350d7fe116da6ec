"""The accuracy of a model on items that were asked about until it is known right or wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from oversight.harness.arrays import UNKNOWN, BoolArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.core import blaker, check_level, count_effective
from oversight.harness.estimate.intervals import (
    DrawnStrata,
    TiltedMean,
    TiltedRows,
    design_effect,
    drawn_interval,
    effective_size,
    share_interval,
    tilt_items,
    tilted_score,
)
from oversight.harness.estimate.routed.sequential_resolution import RESOLUTION_ASSUMPTIONS
from oversight.harness.types import WORST_CASE, Counts, Estimate, Interval, Note, NoteKind

SILENCE = "experts are silent as often about true options as about others"


def resolved_accuracy(
    correct: ArrayLike,
    *,
    own: ArrayLike | None = None,
    level: float = 0.95,
    cluster: IntArray | None = None,
    strata: DrawnStrata | None = None,
    weight: FloatArray | None = None,
) -> Estimate:
    """Accuracy of one model from its exact correctness, with Blaker's exact interval.

    Unknown items (an expert was silent) cannot just be left out, however blindly experts are silent: an
    item whose other predicted option is confirmed gets known all the same, and known wrong. With `own`
    all items whose own question met with silence are taken to be right as often as those where it was
    answered. Without it nothing is taken for granted: the lower end takes the unknown ones as wrong and the
    upper end as right, and the value is that of the known ones. The notes say how far they could move it.

    Parameters
    ----------
    correct
        Shape (N,) of 1, 0 and `UNKNOWN`.
    own
        Shape (N,), of `oversight.harness.estimate.routed.from_labels.Resolution`.
    cluster
        Shape (N,): number of the item's cluster, where items are not independent.
    strata
        Of all N items, if they were drawn from a pool in proportion within strata; used where all are known.
    weight
        Shape (N,), above 0: how many items of the pool each stands for, where chances differed; unknown items
        are then never filled in by `own`. Not together with `cluster`.

    Raises
    ------
    EstimateError
        If another value occurs, or no item is resolved by the model's own question.
    """
    check_level(level)
    z = np.asarray(correct, dtype=np.int64)
    for row in np.flatnonzero((z < UNKNOWN) | (z > 1)):
        raise EstimateError(f"correct[{row}] must be 0, 1 or -1 (unknown), is {z[row]}")
    unknown = int((z == UNKNOWN).sum())
    right, n = int((z == 1).sum()), len(z) - unknown
    if n == 0:
        raise EstimateError("an accuracy needs at least 1 resolved item, there are 0")
    assumptions: tuple[str, ...] = RESOLUTION_ASSUMPTIONS
    fills = weight is None and unknown > 0 and own is not None
    effect = 1.0 if strata is None or unknown else design_effect(z.astype(np.float64), strata)
    if weight is not None:
        if cluster is not None:
            refuse("estimate", {"weights", "clusters"})
        value, low, high, method = _weigh(z, weight, level)
        effect = n / count_effective(weight[z != UNKNOWN])
    elif fills:
        value, low, high, method = _fill_in(z, np.asarray(own, dtype=np.int64), level, cluster)
        assumptions = (*assumptions, SILENCE)
    else:
        value = right / n
        low, high, method = _enclose(z, level, cluster, strata)
    each = np.full(len(z), 1 / len(z)) if weight is None else weight / weight.sum()
    within = {"items": unknown, "least": float(each @ (z == 1)), "most": float(each @ (z != 0))}
    return Estimate.from_interval(
        value=value,
        se=float(np.sqrt(value * (1 - value) / n * effect)),
        interval=Interval(
            low=low,
            high=high,
            level=level,
            method=method,
            steps=(WORST_CASE,) if unknown and not fills else (),
            notes=(Note(NoteKind.UNRESOLVED_WITHIN, within),) if unknown else (),
        ),
        estimator="resolved",
        n=Counts(ordinary=right, complementary=n - right, abstained=unknown),
        assumptions=assumptions,
    )


def _enclose(
    z: IntArray, level: float, cluster: IntArray | None, strata: DrawnStrata | None
) -> tuple[float, float, str]:
    """An interval that holds whatever the unknown items are."""
    is_known = z != UNKNOWN
    if cluster is not None:
        least = _tilt(z == 1, cluster, level)
        most = least if is_known.all() else _tilt(z != 0, cluster, level)
        return least.low, most.high, "tilted-score"
    if strata is not None and is_known.all():
        return drawn_interval(z.astype(np.float64), strata, level)
    low, high = blaker(int((z == 1).sum()), len(z), level)[0], blaker(int((z != 0).sum()), len(z), level)[1]
    return low, high, "blaker"


def _fill_in(
    z: IntArray, own: IntArray, level: float, cluster: IntArray | None
) -> tuple[float, float, float, str]:
    """Value and interval with silent items right as often as those whose own question was answered.

    Clopper–Pearson at the effective number of items (Korn & Graubard 1998, Surv. Methodol. 24): N times
    the variance of a share of N items over that with what the silent ones add, r(1 − r)(1/n − 1/m)(m/N)²
    with n of m own questions answered; r with one right and one wrong item more.
    """
    answered, put = own > 0, own != 0
    n, m = int(answered.sum()), int(put.sum())
    if n == 0:
        raise EstimateError("no item is resolved by the question about the model's own prediction")
    right, rest = int((answered & (z == 1)).sum()), int((~put & (z == 1)).sum())
    filled = np.where(put & ~answered, right / n, z)
    r = (right + 1) / (n + 2)
    share = (rest + m * r) / len(z)
    known = share * (1 - share) / len(z)
    size = len(z) * known / (known + (m / len(z)) ** 2 * r * (1 - r) * (1 / n - 1 / m))
    if cluster is not None:
        size *= effective_size(filled, cluster, level) / len(z)
    value = float(filled.mean())
    low, high = share_interval(value * size, size, level)
    return value, low, high, "clopper-pearson"


def _weigh(z: IntArray, weight: FloatArray, level: float) -> tuple[float, float, float, str]:
    """The weighted share of the known ones, and an interval that holds whatever the unknown ones are."""
    known = z != UNKNOWN
    value = min(1.0, float(weight[known] @ z[known] / weight[known].sum()))
    df = count_effective(weight)
    low, high = (replace(_rows(right), weight=weight / weight.sum()) for right in (z == 1, z != 0))
    least, most = tilted_score(low, level, df=df).low, tilted_score(high, level, df=df).high
    return value, least, most, "tilted-score"


def _tilt(right: BoolArray, cluster: IntArray, level: float) -> TiltedMean:
    """Score interval of a share, items of one cluster being right together."""
    return tilted_score(_rows(right, cluster), level)


def _rows(right: BoolArray, cluster: IntArray | None = None) -> TiltedRows:
    """Items right or not as if each had been asked about its prediction for certain."""
    n = len(right)
    c = np.tile([1.0, 0.0], (n, 1))
    return tilt_items(c, c, np.full(n, 2), np.zeros(n, np.int64), right.astype(np.float64), cluster=cluster)
