"""The five point estimators of uniformly drawn options: Ord, Comp, IVW, IVW-0.5 and ML.

The two unbiased estimators: accuracy from known answers alone, and from refused options alone.

Source: "Towards Scalable Oversight via Partitioned Human Supervision", Eq. 2–5.

The plug-in weight w of inverse-variance weighting, w A_ord + (1 − w) A_comp.

Source: "Towards Scalable Oversight via Partitioned Human Supervision", Eq. 7.

Maximum likelihood: one likelihood for hits, misses and refusals from any admissible routing.

A question asks whether the truth of an item is option k. With Z = 1 if the prediction ŷ is right,
P(yes | k = ŷ) = A and P(yes | k ≠ ŷ) = (1 − A)/(K − 1), so that all answers together give

    ℓ(A) = S_o log A + (T_o + T_c) log(1 − A) + Σ_j S_j log(A + K_j − 2).                       (★)

It holds for every routing, also one that looks at ŷ, as long as (i) whether the predicted option
is asked does not depend on Z and (ii) the other options asked are uniform over the wrong ones.
With one K it is the paper's joint likelihood and its root is Eq. 9.

With q_j = (A + K_j − 2)/(K_j − 1) the score is (Σ S_j/q_j − N)/(1 − A): the estimate solves

    f(A) = Σ_j S_j / q_j(A) = N,

and f falls and is convex, so there is one root and Newton's method climbs to it from the left.

Source: "Towards Scalable Oversight via Partitioned Human Supervision", section 2.2 and Appendix C; (★) and
its root in this form are the project's derivation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import (
    BinomialSample,
    check_options,
    check_positive,
    check_successes,
    success_probability,
)
from oversight.harness.types import Note, NoteKind


def ordinary_accuracy(S_o: int, n_o: int) -> float:
    """Return A_ord = S_o / n_o, unbiased for A ("Towards Scalable Oversight…", section 2.1).

    Parameters
    ----------
    S_o
        Right predictions among the ordinary labels, 0 ≤ S_o ≤ n_o.
    n_o
        Ordinary labels, ≥ 1.

    Notes
    -----
    Under the yes/no protocol a yes is an ordinary label drawn from the same distribution as the
    rest only if the asked option was drawn uniformly. A false yes, even a rare one, pulls it down
    sharply; a missed yes (an expert who says no to the truth) leaves it unbiased.

    Raises
    ------
    EstimateError
        If n_o = 0, or the counts are impossible.
    """
    check_successes("S_o", S_o, "n_o", n_o)
    check_positive("n_o", n_o, "the ordinary estimator")
    return S_o / n_o


def complementary_accuracy(K: float, S_c: int, n_c: int) -> float:
    """Return A_comp = (K − 1) q̂ − (K − 2) with q̂ = S_c/n_c (Eq. 2), unbiased for A.

    Parameters
    ----------
    K
        Options, ≥ 2; the effective K' = 1 + (K − 1)/m where m options were refused on each item.
    S_c
        No-answers on an option other than the predicted one ("weakly correct"), 0 ≤ S_c ≤ n_c.
    n_c
        No-answers, ≥ 1.

    Returns
    -------
    float
        In [−(K − 2), 1]. It is *not* clipped: that would make it biased. For K = 4 the paper says
        q̂ ≥ 2/3; that holds for q, while q̂ can be anything in [0, 1].

    Notes
    -----
    Valid if the refused option is uniform over the K − 1 wrong ones (Eq. 1) and independent of the
    prediction given the truth. K = 2 is allowed, A_comp = q̂. Immune to false yes, biased by
    missed yes. The items must be disjoint from those of an ordinary set it is compared with: if
    each item gives all its K − 1 refused options, A_comp is identically A_ord on the same items.

    Raises
    ------
    EstimateError
        If n_c = 0, K < 2, or the counts are impossible.
    """
    check_options(K)
    check_successes("S_c", S_c, "n_c", n_c)
    check_positive("n_c", n_c, "the complementary estimator")
    return (K - 1) * (S_c / n_c) - (K - 2)


def complementary_variance(K: float, A: float, n_c: int) -> float:
    """Var(A_comp) = (A + K − 2)(1 − A)/n_c (Eq. 3), which is (K − 1)² q(1 − q)/n_c.

    Parameters
    ----------
    K
        Options, ≥ 2.
    A
        Accuracy, in [−(K − 2), 1]; an unclipped A_comp gives the plug-in variance of the paper.
    n_c
        No-answers, ≥ 1.

    """
    return (A + K - 2) * (1 - A) / n_c


def moment_weights(groups: tuple[BinomialSample, ...]) -> tuple[float, ...]:
    """Weights w_j ∝ n_j/(K_j − 1) that sum to 1, fixed in advance, with Σ w_j A_comp,j unbiased.

    The estimate they give solves Σ S_j = Σ n_j q_j(A), so that one group gives Eq. 2 back. Needed
    where items have different numbers of refused options.

    Raises
    ------
    EstimateError
        If all groups are empty.
    """
    raw = [g.n / (g.K - 1) for g in groups]
    total = math.fsum(raw)
    if not total > 0:
        raise EstimateError("n_c must be at least 1 for the complementary estimator, is 0")
    return tuple(r / total for r in raw)


def plugin_weight(K: float, S_o: int, n_o: int, S_c: int, n_c: int, *, published: bool = False) -> float:
    """ŵ = v̂_c/(v̂_o + v̂_c) from the two empirical variances (Eq. 7).

    It depends on the data it weights: A_IVW is then consistent but biased upwards (+1.5 points at
    K = 4, 30 and 90 labels, A = .9; +3.5 at K = 10, 12 and 108, A = .8), and a sample without
    variation has estimated variance 0 and takes all the weight.

    Parameters
    ----------
    K, S_o, n_o, S_c, n_c
        Sufficient counts of two disjoint samples.
    published
        Variances over n − 1, as in the paper's tables (EDINET, K = 16 with 31 ordinary labels:
        17.95 is printed; n would give 17.98). Eq. 7 itself has n.

    Raises
    ------
    EstimateError
        If a sample is empty (or of one label if `published`), or neither varies (0/0).
    """
    A_ord, A_comp = ordinary_accuracy(S_o, n_o), complementary_accuracy(K, S_c, n_c)
    less = 1 if published else 0
    if min(n_o, n_c) <= less:
        raise EstimateError(f"n_o and n_c must be at least 2 for variances over n - 1, are {n_o} and {n_c}")
    v_o = A_ord * (1 - A_ord) / (n_o - less)
    v_c = (A_comp + K - 2) * (1 - A_comp) / (n_c - less)
    if not (varies(S_o, n_o) or varies(S_c, n_c)):
        raise EstimateError(
            f"w is 0/0: neither sample varies (S_o = {S_o} of {n_o}, S_c = {S_c} of {n_c}); use ml"
        )
    return v_c / (v_o + v_c)


def varies(S: int, n: int) -> bool:
    """Whether a sample holds both successes and failures."""
    return 0 < S < n


_MAX_STEPS = 200


def pool_samples(components: tuple[BinomialSample, ...]) -> tuple[BinomialSample, ...]:
    """Merge components with equal K, whose sums are sufficient, and drop empty ones; K ascending."""
    sums: dict[float, tuple[int, int]] = {}
    for c in components:
        n, S = sums.get(c.K, (0, 0))
        sums[c.K] = (n + c.n, S + c.S)
    pooled = [BinomialSample(K, n, S) for K, (n, S) in sorted(sums.items()) if n]
    return tuple(pooled)


def information(component: BinomialSample, A: float) -> float:
    """Fisher information on A in a component: n/((A + K − 2)(1 − A)), the inverse of Eq. 3.

    Parameters
    ----------
    component
        The sample; its successes do not matter.
    A
        Accuracy at which to evaluate, 0 < A < 1 (A = 0 is fine for K > 2).

    Raises
    ------
    EstimateError
        If the information is infinite or undefined at A: A = 1, or A = 0 with K = 2.
    """
    scale = (A + component.K - 2) * (1 - A)
    if not scale > 0:
        raise EstimateError(f"A must lie inside (0, 1) for the information to be finite, is {A!r}")
    return component.n / scale


def closed_form(K: float, S_o: int, n_o: int, S_c: int, n_c: int) -> float:
    """A_ML of one ordinary and one complementary sample (Eq. 9), in [0, 1].

    With T = n − S, N = n_o + n_c, β = (K−2)(T_o+T_c) + (K−3)S_o − S_c and γ = −(K−2)S_o it is the
    positive root of N A² + β A + γ. For β > 0 the printed −β + √(β² − 4Nγ) cancels; the same root
    is then taken as 2|γ|/(β + √(β² + 4N|γ|)).

    Reductions: n_c = 0 gives A_ord; n_o = 0 gives max(0, A_comp), not A_comp as the paper says,
    because a likelihood lives on [0, 1]; K = 2 gives (S_o + S_c)/N.

    """
    N = n_o + n_c
    beta = (K - 2) * (N - S_o - S_c) + (K - 3) * S_o - S_c
    minus_gamma = (K - 2) * S_o
    if minus_gamma == 0:
        return max(0.0, -beta / N)
    root = math.sqrt(beta * beta + 4 * N * minus_gamma)
    A = 2 * minus_gamma / (beta + root) if beta > 0 else (root - beta) / (2 * N)
    return min(1.0, A)


def maximum_likelihood(components: tuple[BinomialSample, ...]) -> float:
    """A_ML of any number of components, in [0, 1].

    Closed form where at most one K besides 2 occurs, else Newton's method on f.

    Raises
    ------
    EstimateError
        If there is no trial at all.

    Examples
    --------
    >>> from oversight.harness.estimate import BinomialSample
    >>> maximum_likelihood((BinomialSample(K=2, n=20, S=16), BinomialSample(K=4, n=60, S=56)))
    0.8
    """
    parts = pool_samples(components)
    if not parts:
        raise EstimateError("n must be at least 1 for maximum likelihood, is 0")
    if parts[0].K > 2:
        parts = (BinomialSample(2, 0, 0), *parts)
    if len(parts) <= 2:
        hits, misses = parts if len(parts) == 2 else (parts[0], BinomialSample(2, 0, 0))
        return closed_form(misses.K, hits.S, hits.n, misses.S, misses.n)
    return _newton(parts)


def _newton(parts: tuple[BinomialSample, ...]) -> float:
    """Root of f(A) = N from the left, where Newton's steps on a convex falling f never overshoot."""
    N = sum(p.n for p in parts)
    S_o = next((p.S for p in parts if p.K == 2), 0)
    if S_o == 0 and sum(p.S / success_probability(p.K, 0.0) for p in parts if p.K > 2) <= N:
        return 0.0
    A = S_o / N  # f(S_o/N) ≥ N, because the ordinary term alone is N there
    for _ in range(_MAX_STEPS):
        terms = [(p, success_probability(p.K, A)) for p in parts if p.S]
        slope = sum(p.S / (q * q * (p.K - 1)) for p, q in terms)
        step = (sum(p.S / q for p, q in terms) - N) / slope
        A += step
        if step <= 1e-15:
            break
    return min(1.0, max(0.0, A))


def log_likelihood(components: tuple[BinomialSample, ...], A: float) -> float:
    """ℓ(A) of (★) up to a constant, for A in [0, 1]; −inf where the data are impossible at A."""
    terms = []
    for c in components:
        q = success_probability(c.K, A)
        for count, probability in ((c.S, q), (c.n - c.S, (1 - A) / (c.K - 1))):
            if count and probability <= 0:
                return -math.inf
            if count:
                terms.append(count * math.log(probability))
    return math.fsum(terms)


def inside(A: float, N: int) -> float:
    """Move A into [1/(2N), 1 − 1/(2N)], where informations and variances are finite and positive."""
    edge = 1 / (2 * N)
    return min(1 - edge, max(edge, A))


def published_se(K: float, A: float, n_o: int, S_c: int, n_c: int) -> float:
    """Standard error of A_ML as published: A in the ordinary term, raw q̂ in the complementary.

    [n_o/(A(1 − A)) + n_c/((K − 1)² q̂(1 − q̂))]^(−1/2), with n (not n − 1) as the paper's digits
    show. Kept for parity; 0 where a term is infinite.

    """
    q_hat = S_c / n_c if n_c else 0.5
    v_o, v_c = A * (1 - A), (K - 1) ** 2 * q_hat * (1 - q_hat)
    if (n_o and v_o <= 0) or (n_c and v_c <= 0):
        return 0.0
    return 1 / math.sqrt((n_o / v_o if n_o else 0.0) + (n_c / v_c if n_c else 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """An estimate from one stratum.

    Attributes
    ----------
    value
        Unclipped estimate of A.
    se
        Standard error; None if the convention does not define it.
    components
        The samples the estimate used.
    weights
        `value` is Σ w_j A_j over the components' own unbiased estimates A_j (for ML: within [0, 1]).
    parts, peak
        The pooled components, and A_ML of them, for intervals that invert a test.
    notes
        Remarks for the reader.
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
        "ivw_half": partial(_weighted, w=0.5),  # the paper's baseline IVW-0.5, for any sizes
        "ivw": ivw_point,
        "ml": likelihood_point,
    }
)


def check_estimator(name: str) -> None:
    """Raise an error for a name that is not in `POINTS`.

    Raises
    ------
    EstimateError
        If the estimator does not exist.
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
