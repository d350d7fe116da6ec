"""The five point estimators for uniformly drawn options: Ord, Comp, IVW, IVW-0.5 and ML.

Source: "Towards Scalable Oversight via Partitioned Human Supervision", section 2.2 and Appendix C. Ord uses
ordinary labels alone and Comp complementary labels alone; both are unbiased (Eq. 2–5). IVW is w A_ord + (1 −
w) A_comp with the plug-in weight w of inverse variances (Eq. 7); IVW-0.5 has w = 0.5.

ML maximises one likelihood of three kinds of answers: yes to the predicted option (a hit), an answer that
shows that the prediction is wrong (a miss), and no to another option. A question asks whether the truth of an
item is option k. With Z = 1 if the prediction ŷ is right, P(yes | k = ŷ) = A and P(yes | k ≠ ŷ) =
(1 − A)/(K − 1). With S_o hits, T_o + T_c misses, and S_j times no to another option at K_j options, the log
likelihood is

    ℓ(A) = S_o log A + (T_o + T_c) log(1 − A) + Σ_j S_j log(A + K_j − 2).                       (★)

It is valid for every routing, even one that depends on ŷ, if (i) whether the predicted option is asked about
does not depend on Z and (ii) the other options asked about are uniform over the wrong ones. With one K it is
the paper's joint likelihood and its root is Eq. 9. (★) and its root in this form are this project's
derivation.

With q_j = (A + K_j − 2)/(K_j − 1) the score is (Σ S_j/q_j − N)/(1 − A), so the estimate solves

    f(A) = Σ_j S_j / q_j(A) = N.

f is decreasing and convex, so there is one root, and Newton's method reaches it from the left.
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
    check_known,
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
        Number of right predictions among the ordinary labels, 0 ≤ S_o ≤ n_o.
    n_o
        Number of ordinary labels, ≥ 1.

    Notes
    -----
    With yes/no questions, the items with a yes are a random part of all items only if the asked option was
    drawn uniformly. Even rare "yes" answers to false options bias the estimate strongly downwards. "No"
    answers to true options do not bias it.

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
        Number of options, ≥ 2; if m options of each item were refused, pass K' = 1 + (K − 1)/m instead.
    S_c
        Number of "no" answers about an option that is not the predicted one, 0 ≤ S_c ≤ n_c.
    n_c
        Number of "no" answers, ≥ 1.

    Returns
    -------
    float
        In [−(K − 2), 1]. It is *not* clipped, because clipping would bias it. For K = 4 the paper states
        q̂ ≥ 2/3; that is true of q, while q̂ can be anything in [0, 1].

    Notes
    -----
    A_comp is valid if the refused option is uniform over the K − 1 wrong options (Eq. 1) and independent of
    the prediction given the truth. For K = 2, A_comp = q̂. "Yes" answers to false options do not affect
    A_comp, but "no" answers to true options bias it. A_comp and A_ord can be compared only if they use
    different items: if all K − 1 wrong options of each item are refused, A_comp equals A_ord of the same
    items.

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
    """Return Var(A_comp) = (A + K − 2)(1 − A)/n_c (Eq. 3), which is (K − 1)² q(1 − q)/n_c.

    Parameters
    ----------
    K
        Number of options, ≥ 2.
    A
        Accuracy, in [−(K − 2), 1]; an unclipped A_comp gives the paper's plug-in variance.
    n_c
        Number of "no" answers, ≥ 1.

    """
    return (A + K - 2) * (1 - A) / n_c


def moment_weights(groups: tuple[BinomialSample, ...]) -> tuple[float, ...]:
    """Return weights w_j ∝ n_j/(K_j − 1), with sum 1, that combine the A_comp,j of groups of different K_j.

    The weights do not depend on the answers' agreement with predictions, so Σ w_j A_comp,j is unbiased. This
    estimate solves Σ S_j = Σ n_j q_j(A); for a single group this is Eq. 2.

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
    """Return the weight ŵ = v̂_c/(v̂_o + v̂_c) of A_ord in A_IVW, from the empirical variances (Eq. 7).

    The weight depends on the data that it weights, so A_IVW is consistent but biased upwards: by 1.5 points
    for K = 4, n_o = 30, n_c = 90 and A = .9, by 3.5 points for K = 10, n_o = 12, n_c = 108 and A = .8. A
    sample without variation has the estimated variance 0 and receives all the weight.

    Parameters
    ----------
    K, S_o, n_o, S_c, n_c
        Number of options, and counts of two disjoint samples, as in `ordinary_accuracy` and
        `complementary_accuracy`.
    published
        If true, variances have the denominator n − 1, as in the paper's tables. If false, they have n, as in
        Eq. 7. For EDINET with K = 16 and 31 ordinary labels, the paper prints 17.95; the denominator n would
        give 17.98.

    Raises
    ------
    EstimateError
        If a sample is empty (if `published`: has fewer than two labels), or if neither sample varies (0/0).
    """
    A_ord, A_comp = ordinary_accuracy(S_o, n_o), complementary_accuracy(K, S_c, n_c)
    less = 1 if published else 0
    if min(n_o, n_c) <= less:
        raise EstimateError(f"n_o and n_c must be at least 2 for variances over n - 1, are {n_o} and {n_c}")
    v_o = A_ord * (1 - A_ord) / (n_o - less)
    v_c = (A_comp + K - 2) * (1 - A_comp) / (n_c - less)
    if not (varies(S_o, n_o) or varies(S_c, n_c)):
        raise EstimateError(
            f"the weight w is 0/0, because neither sample varies (S_o = {S_o} of {n_o}, S_c = {S_c} of "
            f"{n_c}); use 'ml'"
        )
    return v_c / (v_o + v_c)


def varies(S: int, n: int) -> bool:
    """Return whether a sample of n trials with S successes contains both successes and failures."""
    return 0 < S < n


_MAX_STEPS = 200


def pool_samples(components: tuple[BinomialSample, ...]) -> tuple[BinomialSample, ...]:
    """Add up samples with equal K and drop empty ones; the result is sorted by K."""
    sums: dict[float, tuple[int, int]] = {}
    for c in components:
        n, S = sums.get(c.K, (0, 0))
        sums[c.K] = (n + c.n, S + c.S)
    pooled = [BinomialSample(K, n, S) for K, (n, S) in sorted(sums.items()) if n]
    return tuple(pooled)


def information(component: BinomialSample, A: float) -> float:
    """Return a sample's Fisher information about A, n/((A + K − 2)(1 − A)), the inverse of Eq. 3.

    Parameters
    ----------
    component
        The sample; the number of successes is not used.
    A
        Accuracy at which to evaluate, 0 < A < 1 (for K > 2 also A = 0).

    Raises
    ------
    EstimateError
        If the information is infinite or undefined, for A = 1, or A = 0 with K = 2.
    """
    scale = (A + component.K - 2) * (1 - A)
    if not scale > 0:
        raise EstimateError(f"A must lie inside (0, 1) for the information to be finite, is {A!r}")
    return component.n / scale


def closed_form(K: float, S_o: int, n_o: int, S_c: int, n_c: int) -> float:
    """Return A_ML of one ordinary and one complementary sample (Eq. 9), in [0, 1].

    With T = n − S, N = n_o + n_c, β = (K−2)(T_o+T_c) + (K−3)S_o − S_c and γ = −(K−2)S_o, it is the
    positive root of N A² + β A + γ. For β > 0 the published formula −β + √(β² − 4Nγ) loses precision by
    cancellation, so the same root is computed as 2|γ|/(β + √(β² + 4N|γ|)).

    Special cases: n_c = 0 gives A_ord; n_o = 0 gives max(0, A_comp), not A_comp as the paper states, because
    the likelihood is defined on [0, 1]; K = 2 gives (S_o + S_c)/N.

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
    """Return A_ML of any number of samples, in [0, 1].

    It has a closed form if at most one K other than 2 occurs; otherwise it is found by Newton's method.

    Raises
    ------
    EstimateError
        If all samples are empty.

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
    """Solve f(A) = N of the module docstring by Newton's method from the left.

    The method cannot overshoot, because f is convex.
    """
    N = sum(p.n for p in parts)
    S_o = next((p.S for p in parts if p.K == 2), 0)
    if S_o == 0 and sum(p.S / success_probability(p.K, 0.0) for p in parts if p.K > 2) <= N:
        return 0.0
    A = S_o / N  # f(A) ≥ N here, because the term with K = 2 alone is N
    for _ in range(_MAX_STEPS):
        terms = [(p, success_probability(p.K, A)) for p in parts if p.S]
        slope = sum(p.S / (q * q * (p.K - 1)) for p, q in terms)
        step = (sum(p.S / q for p, q in terms) - N) / slope
        A += step
        if step <= 1e-15:
            break
    return min(1.0, max(0.0, A))


def log_likelihood(components: tuple[BinomialSample, ...], A: float) -> float:
    """Return the log likelihood ℓ(A) of (★) up to a constant; −inf if the data are impossible at A."""
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
    """Clip A to [1/(2N), 1 − 1/(2N)], where information and variances are finite and positive."""
    edge = 1 / (2 * N)
    return min(1 - edge, max(edge, A))


def published_se(K: float, A: float, n_o: int, S_c: int, n_c: int) -> float:
    """Return the paper's standard error of A_ML, to reproduce its tables; 0 if a term is infinite.

    It is [n_o/(A(1 − A)) + n_c/((K − 1)² q̂(1 − q̂))]^(−1/2). The ordinary term uses A_ML, and the
    complementary term the observed share q̂ = S_c/n_c. The paper's digits show that the factors are n and not
    n − 1.

    """
    q_hat = S_c / n_c if n_c else 0.5
    v_o, v_c = A * (1 - A), (K - 1) ** 2 * q_hat * (1 - q_hat)
    if (n_o and v_o <= 0) or (n_c and v_c <= 0):
        return 0.0
    return 1 / math.sqrt((n_o / v_o if n_o else 0.0) + (n_c / v_c if n_c else 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point estimate of the accuracy A from one stratum.

    Attributes
    ----------
    value
        Estimate of A, which may lie outside [0, 1].
    se
        Standard error; None if it is undefined, which happens only for published formulas if a sample has
        only one label.
    components
        Samples that the estimate uses.
    weights
        Weight w_j of each component: `value` is Σ w_j A_j with the unbiased estimates A_j of the components
        (for ML, clipped to [0, 1]).
    parts, peak
        Components pooled by K, and their A_ML, for intervals that invert a test.
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
    """Return A_ord with the standard error √(A(1−A)/n_o); if `published`, n_o − 1 replaces n_o."""
    check_positive("n_o", hits.n, "the ordinary estimator")
    return _mixture((hits,), (1.0,), published=published)


def complementary_point(
    _hits: BinomialSample, misses: tuple[BinomialSample, ...], *, published: bool
) -> Point:
    """Return A_comp with the square root of Eq. 3 as standard error; if `published`, n_c − 1 replaces n_c."""
    groups = pool_samples(misses)
    return _mixture(groups, moment_weights(groups), published=published)


def ivw_point(hits: BinomialSample, misses: tuple[BinomialSample, ...], *, published: bool) -> Point:
    """Return A_IVW with the weight of Eq. 7.

    If a sample does not vary and `published` is false, the weight uses the variances at A_ML instead.
    """
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
    """Return the maximum-likelihood estimate A_ML of equation (★).

    The weight of a sample is its share of the information at A_ML (Appendix C).
    """
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
    """Return the mixture w A_ord + (1 − w) A_comp."""
    check_positive("n_o", hits.n, "the ordinary estimator")
    groups = pool_samples(misses)
    weights = (w, *((1 - w) * share for share in moment_weights(groups)))
    point = _mixture((hits, *groups), weights, published=published)
    return replace(point, notes=tuple(sorted(point.notes, key=lambda note: note.kind.name)))


def _mixture(samples: tuple[BinomialSample, ...], weights: tuple[float, ...], *, published: bool) -> Point:
    """Return the estimate Σ w_j A_j; A_j is the Eq. 2 estimate of sample j, for K = 2 its share S/n."""
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
    """Return the standard error of the accuracy that is estimated from this sample alone.

    If the sample does not vary, the share of successes is moved by half a trial from 0 or 1. If `published`,
    the denominator is n − 1, and the result is None for n = 1; the digits of the paper's tables show this
    (GPQA, Ord: 4.39; n gives 4.375).
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
        "ivw_half": partial(_weighted, w=0.5),  # the paper's baseline IVW-0.5
        "ivw": ivw_point,
        "ml": likelihood_point,
    }
)


def make_point(
    name: str, hits: BinomialSample, misses: tuple[BinomialSample, ...], *, published: bool = False
) -> Point:
    """Compute a point estimate from one stratum.

    Parameters
    ----------
    name
        Name of the estimator, a key of `POINTS`.
    hits
        Sample of labels that decide whether the prediction is right (K = 2).
    misses
        Samples of refused options, one per effective K.
    published
        Whether to use the paper's conventions: denominators n − 1, q̂ as observed, and the weights of Eq. 7
        even if a sample does not vary.

    Raises
    ------
    EstimateError
        If the name is unknown or the estimator is undefined for these counts.
    """
    check_known("estimator", name, POINTS)
    return POINTS[name](hits, misses, published=published)
