"""Point estimates with what their intervals need: `ord`, `comp`, `ivw_half`, `ivw` and `ml` by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from harness.errors import EstimateError
from harness.estimate.core import BinomialSample, check_positive, information, pool_samples
from harness.estimate.estimators.complementary import (
    complementary_accuracy,
    complementary_variance,
    moment_weights,
)
from harness.estimate.estimators.ivw import mix, mix_variance, plugin_weight, varies
from harness.estimate.estimators.likelihood import expected_se, inside, maximum_likelihood, published_se
from harness.estimate.estimators.ordinary import ordinary_accuracy, ordinary_variance, unbiased_se


@dataclass(frozen=True, slots=True)
class Point:
    """An estimate from one stratum.

    Attributes
    ----------
    value
        Unclipped estimate of A.
    se
        Standard error; None where the convention asked for does not define it.
    components
        The samples the estimate used.
    weights
        `value` is Σ w_j A_j over the components' own unbiased estimates A_j (for ML: within [0, 1]).
    flags
        What a reader must know.
    """

    value: float
    se: float | None
    components: tuple[BinomialSample, ...]
    weights: tuple[float, ...]
    flags: tuple[str, ...] = ()


def ordinary_point(hits: BinomialSample, _misses: tuple[BinomialSample, ...], *, published: bool) -> Point:
    """A_ord with √(A(1−A)/n_o), or /(n_o − 1) as published."""
    A = ordinary_accuracy(hits.S, hits.n)
    if published:
        return Point(A, unbiased_se(A, hits.n), (hits,), (1.0,))
    at, flags = _off_edge(A, hits)
    return Point(A, math.sqrt(ordinary_variance(at, hits.n)), (hits,), (1.0,), flags)


def complementary_point(
    _hits: BinomialSample, misses: tuple[BinomialSample, ...], *, published: bool
) -> Point:
    """A_comp with the root of Eq. 3, n_c − 1 in place of n_c as published."""
    groups = pool_samples(misses)
    if not groups:
        raise EstimateError("n_c must be at least 1 for the complementary estimator, is 0")
    weights = moment_weights(groups)
    estimates = [complementary_accuracy(g.K, g.S, g.n) for g in groups]
    A = math.fsum(w * a for w, a in zip(weights, estimates, strict=True))
    flags: tuple[str, ...] = () if 0 <= A <= 1 else ("out_of_range",)
    if published:
        return Point(A, _published_comp_se(groups, weights), groups, weights, flags)
    v = 0.0
    for g, w, a in zip(groups, weights, estimates, strict=True):
        at, edge = _off_edge(a, g)
        v += w * w * complementary_variance(g.K, at, g.n)
        flags += tuple(f for f in edge if f not in flags)
    return Point(A, math.sqrt(v), groups, weights, flags)


def half_point(hits: BinomialSample, misses: tuple[BinomialSample, ...], *, published: bool) -> Point:
    """The paper's baseline IVW-0.5: equal weights whatever the sizes."""
    return _mixed(hits, misses, 0.5, published=published)


def ivw_point(hits: BinomialSample, misses: tuple[BinomialSample, ...], *, published: bool) -> Point:
    """A_IVW with the plug-in weight of Eq. 7; safe against samples without variation unless published."""
    check_positive("n_o", hits.n, "inverse-variance weighting")
    comp = complementary_point(hits, misses, published=False)
    if published and len(comp.components) == 1:
        group = comp.components[0]
        w = plugin_weight(group.K, hits.S, hits.n, group.S, group.n, published=True)
        return _mixed(hits, misses, w, published=True)
    if varies(hits.S, hits.n) and all(varies(g.S, g.n) for g in comp.components):
        v_o = ordinary_variance(ordinary_accuracy(hits.S, hits.n), hits.n)
        v_c = (comp.se or 0.0) ** 2
    else:
        at = inside(maximum_likelihood((hits, *misses)), hits.n + sum(g.n for g in comp.components))
        v_o = ordinary_variance(at, hits.n)
        v_c = math.fsum(
            w * w / information(g, at) for w, g in zip(comp.weights, comp.components, strict=True)
        )
    return _mixed(hits, misses, v_c / (v_o + v_c), published=published)


def likelihood_point(hits: BinomialSample, misses: tuple[BinomialSample, ...], *, published: bool) -> Point:
    """A_ML of (★); its weights are the shares of information at A_ML, as Appendix C shows."""
    parts = pool_samples((hits, *misses))
    A = maximum_likelihood(parts)
    N = sum(p.n for p in parts)
    at = inside(A, N)
    infos = [information(p, at) for p in parts]
    total = math.fsum(infos)
    weights = tuple(i / total for i in infos)
    groups = pool_samples(misses)
    if published and len(groups) <= 1:
        g = groups[0] if groups else BinomialSample(2, 0, 0)
        return Point(A, published_se(g.K, A, hits.n, g.S, g.n), parts, weights)
    flags = ("degenerate_variance",) if at != A else ()
    return Point(A, expected_se(parts, A), parts, weights, flags)


def _mixed(hits: BinomialSample, misses: tuple[BinomialSample, ...], w: float, *, published: bool) -> Point:
    o = ordinary_point(hits, (), published=published)
    c = complementary_point(hits, misses, published=published)
    A = mix(w, o.value, c.value)
    se = None
    if o.se is not None and c.se is not None:
        se = math.sqrt(mix_variance(w, o.se**2, c.se**2))
    flags = tuple(f for f in (*o.flags, *c.flags) if f != "out_of_range")
    flags = tuple(dict.fromkeys(flags)) + (() if 0 <= A <= 1 else ("out_of_range",))
    return Point(A, se, (hits, *c.components), (w, *((1 - w) * x for x in c.weights)), flags)


def _off_edge(A: float, sample: BinomialSample) -> tuple[float, tuple[str, ...]]:
    """Where to evaluate the variance: half a trial off the edge if the sample does not vary."""
    if varies(sample.S, sample.n):
        return A, ()
    q = inside(sample.S / sample.n, sample.n)
    return (sample.K - 1) * q - (sample.K - 2), ("degenerate_variance",)


def _published_comp_se(groups: tuple[BinomialSample, ...], weights: tuple[float, ...]) -> float | None:
    v = 0.0
    for g, w in zip(groups, weights, strict=True):
        se = unbiased_se(g.S / g.n, g.n)
        if se is None:
            return None
        v += (w * (g.K - 1) * se) ** 2
    return math.sqrt(v)


POINTS: Mapping[str, Callable[..., Point]] = MappingProxyType(
    {
        "ord": ordinary_point,
        "comp": complementary_point,
        "ivw_half": half_point,
        "ivw": ivw_point,
        "ml": likelihood_point,
    }
)


def check_estimator(name: str) -> None:
    """Refuse a name that is not in `POINTS`.

    Raises
    ------
    EstimateError
        If there is no such estimator.
    """
    if name not in POINTS:
        raise EstimateError(f"estimator must be one of {', '.join(POINTS)}, is {name!r}")


def make_point(
    name: str, hits: BinomialSample, misses: tuple[BinomialSample, ...], *, published: bool = False
) -> Point:
    """Evaluate an estimator by name on one stratum.

    Parameters
    ----------
    name
        A key of `POINTS`.
    hits
        The sample whose labels settle the prediction (K = 2).
    misses
        Refused options, grouped by effective K.
    published
        Use the paper's conventions (n − 1, raw q̂, raw Eq. 7 weights).

    Raises
    ------
    EstimateError
        If the name is unknown or the estimator is undefined for these counts.
    """
    check_estimator(name)
    return POINTS[name](hits, misses, published=published)
