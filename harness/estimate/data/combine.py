"""Strata combined, weighted by their share of the predictions or of the labelled items.

Intervals are those of a sum from the intervals of its independent parts.

For sums the "method of variance estimates recovery" (MOVER) takes from each part's own interval the
variance that part has near its limit, and adds those: unlike value ± z·se it inherits the asymmetry
and the small-sample care of the parts. Source: Zou & Donner, "Construction of confidence limits
about effect measures", Statistics in Medicine 27, 2008. Approximate, also with exact parts:
enumerations with two strata of 12 to 60 items gave a mean coverage of .96 and a least one of .93
(.915 where a stratum had 12).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import blaker, z_value
from oversight.harness.estimate.intervals import scale_by_share
from oversight.harness.types import Interval, Note, NoteKind


@dataclass(frozen=True, slots=True, kw_only=True)
class StratumEstimate:
    """Estimate of one stratum or of several; `interval` has its notes.

    Attributes
    ----------
    stratum, n
        Its name, and the labelled items that it rests on.
    """

    stratum: str = ""
    n: int = 0
    value: float
    se: float | None
    interval: Interval


def combine_strata(
    parts: Sequence[StratumEstimate], level: float, pool: Mapping[str, int] | None
) -> StratumEstimate:
    """Weighted mean of the parts with MOVER's interval; `pool` as in `Tallies`."""
    weights, between = _weigh(parts, pool)
    ends = [(p.interval.low, p.interval.high) for p in parts]
    # an unclipped estimate may lie outside its own interval, which lies within [0, 1]
    inner = [min(high, max(low, p.value)) for p, (low, high) in zip(parts, ends, strict=True)]
    lows, highs = zip(*ends, strict=True)
    low, high = mover_sum(inner, lows, highs, weights, z_value(level) ** 2 * between)
    errors = [w * p.se for w, p in zip(weights, parts, strict=True) if p.se is not None]
    return StratumEstimate(
        value=math.fsum(w * p.value for w, p in zip(weights, parts, strict=True)),
        se=math.sqrt(sum((e**2 for e in errors), between)) if len(errors) == len(parts) else None,
        interval=Interval(
            low=max(0.0, low),
            high=min(1.0, high),
            level=level,
            method="/".join(sorted({p.interval.name for p in parts})),
            steps=("mover",),
            notes=tuple(dict.fromkeys(note for p in parts for note in p.interval.notes)),
            why="strata were combined from an estimate of each, which misses where they are small; "
            "the exact interval does not",
        ),
    )


def _weigh(parts: Sequence[StratumEstimate], pool: Mapping[str, int] | None) -> tuple[list[float], float]:
    """Weight of every part, and the variance that comes from the weights being shares of a sample."""
    labelled: Counter[str] = Counter()
    for p in parts:
        labelled[p.stratum] += p.n
    sizes = labelled if pool is None else pool
    total = sum(sizes.values())
    shares = {name: sizes.get(name, 0) / total for name in labelled}
    weights = [shares[p.stratum] * p.n / labelled[p.stratum] for p in parts]
    means = {
        name: math.fsum(p.n * p.value for p in parts if p.stratum == name) / n for name, n in labelled.items()
    }
    centre = math.fsum(w * p.value for w, p in zip(weights, parts, strict=True))
    between = math.fsum(shares[name] * (mean - centre) ** 2 for name, mean in means.items()) / total
    for p, w in zip(parts, weights, strict=True):
        between += shares[p.stratum] * w * (p.value - means[p.stratum]) ** 2 / labelled[p.stratum]
    return weights, between


def mover_sum(
    values: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    weights: Sequence[float],
    between: float = 0.0,
) -> tuple[float, float]:
    """Interval of Σ w_h θ_h from independent estimates and their intervals.

    low = θ̂ − √(Σ w_h²(θ̂_h − l_h)² + between), high likewise.

    Parameters
    ----------
    values, lows, highs
        Estimates and ends with low ≤ value ≤ high, one per part.
    weights
        Weights ≥ 0.
    between
        z² Σ w_h(θ̂_h − θ̂)²/N where the weights are themselves shares of a sample of N items;
        0 where they are known.

    Raises
    ------
    EstimateError
        If nothing is given, a weight is negative or an estimate lies outside its interval.
    """
    if not values:
        raise EstimateError("values must hold at least one estimate, is empty")
    for h, (v, lo, hi, w) in enumerate(zip(values, lows, highs, weights, strict=True)):
        if w < 0:
            raise EstimateError(f"weights[{h}] must be ≥ 0, is {w!r}")
        if not lo <= v <= hi:
            raise EstimateError(f"values[{h}] must lie in its interval [{lo}, {hi}], is {v!r}")
    centre = math.fsum(w * v for w, v in zip(weights, values, strict=True))
    below = math.fsum((w * (v - lo)) ** 2 for w, v, lo in zip(weights, values, lows, strict=True))
    above = math.fsum((w * (hi - v)) ** 2 for w, v, hi in zip(weights, values, highs, strict=True))
    return centre - math.sqrt(below + between), centre + math.sqrt(above + between)


def none_readable(stratum: str, n: int, level: float) -> StratumEstimate:
    """The estimate 0 where no labelled prediction names an option."""
    low, high = blaker(0, n, level)
    none = Interval(low=low, high=high, level=level, method="blaker", notes=(Note(NoteKind.ALL_UNREADABLE),))
    return StratumEstimate(stratum=stratum, n=n, value=0.0, se=None, interval=none)


def with_unreadable(
    value: float, se: float | None, made: Interval, rho: float, size: float, n: int, stratum: str = ""
) -> StratumEstimate:
    """A = ρ A_r with its interval (`scale_by_share`), from the accuracy on readable predictions.

    `size` is the number of items of equal weight that would tell the readable share ρ as exactly as these n.
    """
    if rho < 1:
        inner = min(made.high, max(made.low, value))
        _, low, high = scale_by_share(rho, size, inner, made.low, made.high, made.level)
        if se is not None:
            se = math.sqrt((rho * se) ** 2 + value**2 * rho * (1 - rho) / size)
        value *= rho
        made = replace(made, low=max(0.0, low), high=high, steps=(*made.steps, "share"))
    return StratumEstimate(stratum=stratum, n=n, value=value, se=se, interval=made)
