"""From the tallies of one or several strata to an `Estimate`, by any estimator."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from harness.errors import EstimateError
from harness.estimate.core import check_level, z_value
from harness.estimate.data import Tallies, Tally
from harness.estimate.estimators import POINTS
from harness.estimate.intervals import INTERVALS, mover_sum
from harness.estimate.strata.stratum import StratumEstimate, stratum_estimate
from harness.types import Counts, Estimate

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


class Estimates(dict[str, Estimate]):
    """Estimates by estimator name; `undefined` says why an estimator is not among them."""

    def __init__(self, estimates: Mapping[str, Estimate], undefined: Mapping[str, str]) -> None:
        super().__init__(estimates)
        self.undefined: Mapping[str, str] = MappingProxyType(dict(undefined))


def all_estimators(
    tallies: Tallies,
    *,
    interval: str | None = None,
    level: float = 0.95,
    shares: Mapping[str, float] | None = None,
    n_pool: int | None = None,
    published: bool = False,
) -> Estimates:
    """Every estimator of one tally; parameters as in `estimate_tallies`.

    Raises
    ------
    EstimateError
        If none is defined.
    """
    found: dict[str, Estimate] = {}
    undefined: dict[str, str] = {}
    check_level(level)
    _check_names("ml", interval)
    for name in POINTS:
        try:
            found[name] = estimate_tallies(
                tallies,
                estimator=name,
                interval=interval,
                level=level,
                shares=shares,
                n_pool=n_pool,
                published=published,
            )
        except EstimateError as error:
            undefined[name] = str(error)
    if not found:
        raise EstimateError(f"no estimator is defined: {undefined['ml']}")
    return Estimates(found, undefined)


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
    _check_names(estimator, method)
    used = [t for t in tallies.strata if t.n_labelled]
    if not used:
        raise EstimateError("labels must hold a yes or no on a prediction that did not fail; there is none")
    parts = [stratum_estimate(t, estimator, method, level, published=published) for t in used]
    weights, between = _weights(used, parts, shares, n_pool)
    flags = _flags(used, parts)
    if len(parts) == 1:
        value, se, made = parts[0].value, parts[0].se, parts[0].interval
        low, high, name = made.low, made.high, made.method
    else:
        value = math.fsum(w * p.value for w, p in zip(weights, parts, strict=True))
        se = _combined_se(weights, parts, between)
        low, high = _combined_interval(weights, parts, z_value(level) ** 2 * between)
        name = "/".join(sorted({p.interval.method for p in parts})) + "+mover"
    return Estimate(
        value=value,
        low=low,
        high=high,
        se=se,
        level=level,
        estimator=estimator,
        interval=name,
        n=_counts(tallies),
        assumptions=(*dict.fromkeys(a for t in used for a in _ASSUMED[t.split]), *_ALWAYS),
        flags=flags,
    )


def _check_names(estimator: str, method: str | None) -> None:
    if estimator not in POINTS:
        raise EstimateError(f"estimator must be one of {', '.join(POINTS)}, is {estimator!r}")
    if method is not None and method not in INTERVALS:
        raise EstimateError(f"interval must be one of {', '.join(INTERVALS)}, is {method!r}")


def _weights(
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
    outer = {name: n / total for name, n in labelled.items()} if shares is None else dict(shares)
    missing = [name for name, share in outer.items() if share > 0 and name not in labelled]
    if missing:
        raise EstimateError(
            f"strata: {missing[0]!r} has predictions but no usable label; nothing follows for it"
        )
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


def _combined_se(weights: Sequence[float], parts: Sequence[StratumEstimate], between: float) -> float | None:
    total = between
    for w, p in zip(weights, parts, strict=True):
        if p.se is None:
            return None
        total += (w * p.se) ** 2
    return math.sqrt(total)


def _combined_interval(
    weights: Sequence[float], parts: Sequence[StratumEstimate], between: float
) -> tuple[float, float]:
    lows, highs = [p.interval.low for p in parts], [p.interval.high for p in parts]
    # an unclipped estimate may lie outside its own interval, which lies within [0, 1]
    values = [min(hi, max(lo, p.value)) for p, lo, hi in zip(parts, lows, highs, strict=True)]
    low, high = mover_sum(values, lows, highs, weights, between)
    return max(0.0, low), min(1.0, high)


def _counts(tallies: Tallies) -> Counts:
    s = tallies.strata
    return Counts(
        ordinary=sum(t.n_yes for t in s),
        complementary=sum(t.n_no for t in s),
        abstained=sum(t.n_abstained for t in s),
        unreadable=sum(t.n_unreadable for t in s),
        failed=sum(t.n_failed for t in s),
        unlabelled=tallies.n_unlabelled,
    )


def _flags(used: Sequence[Tally], parts: Sequence[StratumEstimate]) -> tuple[str, ...]:
    flags = [f for p in parts for f in p.flags]
    if len(used) > 1:
        flags.append("stratified")
    if any(t.split == "questions" for t in used):
        flags.append("conditioned_on_questions")
    return tuple(dict.fromkeys(flags))
