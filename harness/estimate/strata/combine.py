"""Several strata combined: weighted by their share of the predictions or of the labelled items."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.estimate.core import z_value
from harness.estimate.intervals import mover_sum
from harness.types import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class StratumEstimate:
    """Estimate of one stratum or of several; `interval` has its flags.

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
            method="/".join(sorted({p.interval.method for p in parts})) + "+mover",
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
