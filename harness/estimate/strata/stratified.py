"""From the tallies of one or several strata to an `Estimate`, by any estimator.

An unreadable prediction is wrong, but it must not enter the likelihood as a known wrong one: it is
resolved with certainty, while a readable wrong prediction is resolved only if the right question
happened to be asked, as is a right one. Wrong predictions would be over-represented among the
resolved and the estimate biased downwards: at A = .6 with 20 % unreadable by 14 points for K = 4
and by 35 for K = 10, however many labels there are. Instead A = ρ A_r: the readable share of the
labelled items times the accuracy on the readable ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from harness.errors import EstimateError
from harness.estimate.core import Tallies, Tally, check_level, clopper_pearson, z_value
from harness.estimate.estimators import check_estimator, make_point
from harness.estimate.intervals import check_method, make_interval, mover_product, mover_sum
from harness.types import Estimate, Interval

UNIFORM_ASSUMPTIONS = (
    "the asked option was drawn uniformly, without a look at the predictions",
    "experts answer without error",
    "labelled items are a random sample of the items meant; missing answers are unrelated to the truth",
)
_ASSUMED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "answers": UNIFORM_ASSUMPTIONS[:1],
        "questions": (
            "whether the predicted option was asked about does not depend on its being right",
            "the other options asked about are uniform over the wrong ones",
        ),
    }
)
_ALWAYS = UNIFORM_ASSUMPTIONS[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class StratumEstimate:
    """Estimate of one stratum; `interval` has its flags."""

    value: float
    se: float | None
    interval: Interval


def estimate_tallies(
    tallies: Tallies,
    *,
    estimator: str = "ml",
    interval: str | None = None,
    level: float = 0.95,
    shares: Mapping[str, float] | None = None,
    n_pool: int | None = None,
    published: bool = False,
) -> Estimate:
    """Estimate from counts already taken; for many models or label sets at once.

    Parameters
    ----------
    tallies
        From `tally` or `tally_arrays`.
    shares
        Weight of every named stratum, summing to 1; by default its share of the labelled items.
    n_pool
        Items the shares were counted on.
    estimator, interval, level, published
        As in `accuracy`.

    Raises
    ------
    EstimateError
        If the estimator is undefined for these counts.
    """
    check_level(level)
    method = interval or ("wald" if published else "exact")
    check_estimator(estimator)
    check_method(method)
    used = [t for t in tallies.strata if t.n_labelled]
    if not used:
        raise EstimateError("labels must hold a yes or no on a prediction that did not fail; there is none")
    parts = [estimate_stratum(t, estimator, method, level, published=published) for t in used]
    for name, share in (shares or {}).items():
        if share > 0 and all(t.stratum != name for t in used):
            raise EstimateError(
                f"strata: {name!r} has predictions but no usable label; nothing follows for it"
            )
    whole = parts[0] if len(parts) == 1 else _combine(used, parts, level, shares, n_pool)
    flags = [flag for part in parts for flag in part.interval.flags]
    flags += ["stratified"] * (len(used) > 1)
    flags += ["conditioned_on_questions"] * any(t.split == "questions" for t in used)
    return Estimate.from_interval(
        value=whole.value,
        se=whole.se,
        interval=replace(whole.interval, flags=tuple(dict.fromkeys(flags))),
        estimator=estimator,
        n=tallies.counts,
        assumptions=(*dict.fromkeys(a for t in used for a in _ASSUMED[t.split]), *_ALWAYS),
    )


def estimate_stratum(
    tally: Tally, estimator: str, method: str, level: float, *, published: bool = False
) -> StratumEstimate:
    """Estimate A = ρ A_r in one stratum.

    The interval is that of A_r if every labelled prediction is readable, else the product (see
    `mover_product`) with the Clopper–Pearson interval of ρ.

    Raises
    ------
    EstimateError
        If the stratum has no labelled item or the estimator is undefined for its counts; names
        the stratum.
    """
    n = tally.n_labelled
    if n == 0:
        raise EstimateError(f"{tally}: no labelled item has a prediction, needed is at least 1")
    if tally.n_readable == 0:
        _, high = clopper_pearson(0, n, level)
        flags = ("all_unreadable",)
        none = Interval(low=0.0, high=high, level=level, method="clopper_pearson", flags=flags)
        return StratumEstimate(value=0.0, se=None, interval=none)
    try:
        p = make_point(estimator, tally.hits, tally.misses, published=published)
        made = make_interval(p, method, level)
    except EstimateError as error:
        raise type(error)(f"{tally}: {error}") from error
    value, se = p.value, p.se
    if tally.n_unreadable:
        rho = tally.n_readable / n
        inner = min(made.high, max(made.low, value))
        of_rho = clopper_pearson(tally.n_readable, n, level)
        low, high = mover_product((inner, made.low, made.high), (rho, *of_rho))
        if se is not None:
            se = math.sqrt((rho * se) ** 2 + value**2 * rho * (1 - rho) / n)
        value *= rho
        name = f"{made.method}+product"
        made = replace(made, low=low, high=high, method=name)
    return StratumEstimate(value=value, se=se, interval=replace(made, flags=p.flags + made.flags))


def _combine(
    used: Sequence[Tally],
    parts: Sequence[StratumEstimate],
    level: float,
    shares: Mapping[str, float] | None,
    n_pool: int | None,
) -> StratumEstimate:
    weights, between = _weigh(used, parts, shares, n_pool)
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


def _weigh(
    used: Sequence[Tally],
    parts: Sequence[StratumEstimate],
    shares: Mapping[str, float] | None,
    n_pool: int | None,
) -> tuple[list[float], float]:
    """Weight of every part, and the variance that comes from the weights being shares of a sample."""
    labelled: Counter[str] = Counter()
    for t in used:
        labelled[t.stratum] += t.n_labelled
    total = labelled.total()
    outer = {name: n / total for name, n in labelled.items()} if shares is None else shares
    weights = [outer.get(t.stratum, 0.0) * t.n_labelled / labelled[t.stratum] for t in used]
    means: dict[str, float] = {}
    for name in labelled:
        own = [(t.n_labelled, p.value) for t, p in zip(used, parts, strict=True) if t.stratum == name]
        means[name] = math.fsum(n * v for n, v in own) / labelled[name]
    centre = math.fsum(w * p.value for w, p in zip(weights, parts, strict=True))
    pool = n_pool if shares is not None and n_pool else total
    between = math.fsum(outer.get(s, 0.0) * (m - centre) ** 2 for s, m in means.items()) / pool
    for t, p, w in zip(used, parts, weights, strict=True):
        between += outer.get(t.stratum, 0.0) * w * (p.value - means[t.stratum]) ** 2 / labelled[t.stratum]
    return weights, between
