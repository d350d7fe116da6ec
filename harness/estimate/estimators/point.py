"""Point estimates with what their intervals need: `ord`, `comp`, `ivw_half`, `ivw` and `ml` by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import BinomialSample, check_positive
from oversight.harness.estimate.estimators.ivw import plugin_weight, varies
from oversight.harness.estimate.estimators.likelihood import (
    information,
    inside,
    maximum_likelihood,
    pool_samples,
    published_se,
)
from oversight.harness.estimate.estimators.unbiased import (
    complementary_accuracy,
    complementary_variance,
    moment_weights,
)
from oversight.harness.types import Note, NoteKind


@dataclass(frozen=True, slots=True, kw_only=True)
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
    parts, peak
        The components pooled, and A_ML of them: what intervals that invert a test need.
    notes
        What a reader must know.
    """

    value: float
    se: float | None
    components: tuple[BinomialSample, ...]
    weights: tuple[float, ...]
    parts: tuple[BinomialSample, ...]
    peak: float
    notes: tuple[Note, ...] = ()


def ordinary_point(hits: BinomialSample, _misses: tuple[BinomialSample, ...], *, published: bool) -> Point:
    """A_ord with √(A(1−A)/n_o), or /(n_o − 1) as published."""
    check_positive("n_o", hits.n, "the ordinary estimator")
    return _mixture((hits,), (1.0,), published=published)


def complementary_point(
    _hits: BinomialSample, misses: tuple[BinomialSample, ...], *, published: bool
) -> Point:
    """A_comp with the root of Eq. 3, n_c − 1 in place of n_c as published."""
    groups = pool_samples(misses)
    return _mixture(groups, moment_weights(groups), published=published)


def ivw_point(hits: BinomialSample, misses: tuple[BinomialSample, ...], *, published: bool) -> Point:
    """A_IVW with the plug-in weight of Eq. 7; safe against samples without variation unless published."""
    check_positive("n_o", hits.n, "inverse-variance weighting")
    groups = pool_samples(misses)
    shares = moment_weights(groups)
    if published and len(groups) == 1:
        (group,) = groups
        w = plugin_weight(group.K, hits.S, hits.n, group.S, group.n, published=True)
        return _weighted(hits, misses, w=w, published=True)
    samples = (hits, *groups)
    if all(varies(s.S, s.n) for s in samples):
        at = [complementary_accuracy(s.K, s.S, s.n) for s in samples]
    else:
        at = [inside(maximum_likelihood(samples), sum(s.n for s in samples))] * len(samples)
    v_o, *rest = (complementary_variance(s.K, a, s.n) for s, a in zip(samples, at, strict=True))
    v_c = math.fsum(share**2 * v for share, v in zip(shares, rest, strict=True))
    return _weighted(hits, misses, w=v_c / (v_o + v_c), published=published)


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
        se = published_se(g.K, A, hits.n, g.S, g.n)
        notes: tuple[Note, ...] = ()
    else:
        se = 1 / math.sqrt(total)
        notes = (Note(NoteKind.DEGENERATE_VARIANCE),) if at != A else ()
    return Point(value=A, se=se, components=parts, weights=weights, parts=parts, peak=A, notes=notes)


def _weighted(
    hits: BinomialSample, misses: tuple[BinomialSample, ...], *, w: float, published: bool
) -> Point:
    """Mixture w A_ord + (1 − w) A_comp."""
    check_positive("n_o", hits.n, "the ordinary estimator")
    groups = pool_samples(misses)
    weights = (w, *((1 - w) * share for share in moment_weights(groups)))
    point = _mixture((hits, *groups), weights, published=published)
    return replace(point, notes=tuple(sorted(point.notes, key=lambda note: note.kind.name)))


def _mixture(samples: tuple[BinomialSample, ...], weights: tuple[float, ...], *, published: bool) -> Point:
    """Σ w_j A_j of the samples' unbiased estimates, Eq. 2 (an ordinary sample has K = 2)."""
    estimates = [complementary_accuracy(s.K, s.S, s.n) for s in samples]
    A = math.fsum(w * a for w, a in zip(weights, estimates, strict=True))
    notes: tuple[Note, ...] = () if 0 <= A <= 1 else (Note(NoteKind.OUT_OF_RANGE),)
    if not published and not all(varies(s.S, s.n) for s in samples):
        notes += (Note(NoteKind.DEGENERATE_VARIANCE),)
    ses = [_standard_error(s, published=published) for s in samples]
    errors = [w * se for w, se in zip(weights, ses, strict=True) if se is not None]
    se = math.sqrt(math.fsum(e**2 for e in errors)) if len(errors) == len(samples) else None
    parts = pool_samples(samples)
    peak = maximum_likelihood(parts)
    return Point(value=A, se=se, components=samples, weights=weights, parts=parts, peak=peak, notes=notes)


def _standard_error(sample: BinomialSample, *, published: bool) -> float | None:
    """√(Var A_j), the share of successes moved half a trial off the edge if the sample does not vary.

    Over n − 1 as published, None for n = 1: the digits of the paper's tables pin it (GPQA, Ord: 4.39,
    where n gives 4.375).
    """
    n, q = sample.n, sample.S / sample.n
    if published:
        return (sample.K - 1) * math.sqrt(q * (1 - q) / (n - 1)) if n > 1 else None
    at = q if varies(sample.S, n) else inside(q, n)
    return (sample.K - 1) * math.sqrt(at * (1 - at) / n)


POINTS: Mapping[str, Callable[..., Point]] = MappingProxyType(
    {
        "ord": ordinary_point,
        "comp": complementary_point,
        "ivw_half": partial(_weighted, w=0.5),  # the paper's baseline IVW-0.5, whatever the sizes
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
