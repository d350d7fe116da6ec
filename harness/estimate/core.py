"""Foundations of all estimators: argument checks, roots, effective sample sizes, binomial samples, p-values.

**Binomial samples** (`BinomialSample`). Labels of every kind give S successes in n trials with the success
probability q(A) = (A + K − 2)/(K − 1). A is the accuracy. K, which may be fractional, depends on the label:

* The label decides whether the prediction is right: K = 2, so q = A.
* The expert refused one option, which means answered no about it (complementary label). The trial succeeds if
  the model did not predict this option (Eq. 2). K is the item's number of options.
* Experts refused m of the item's K options. The trial succeeds if the model predicted none of them, which has
  the probability (K − 1 − m)/(K − 1) if the prediction is wrong and the refused options are a uniform sample
  of the wrong ones. So K' = 1 + (K − 1)/m replaces K. If m = K − 1, only one option is left, and K' = 2.

Source: "Towards Scalable Oversight via Partitioned Human Supervision", section 2; the fractional K' is this
project's derivation.

An interval of q becomes an interval of A by A = (K−1)q − (K−2), clipped to [0, 1]. Sources: `wilson`:
Wilson 1927; `jeffreys`: Brown, Cai & DasGupta 2001, with the lower end 0 if no success was observed, and the
upper end 1 if no failure was observed; `clopper_pearson`: Clopper & Pearson 1934.

`blaker` is exact too, and shorter than `clopper_pearson`. The acceptability of q is γ(q) = t + t', where t is
the smaller of P(X ≥ S) and P(X ≤ S), and t' the largest probability of an opposite tail that is at most t.
The interval is the hull of {q: γ(q) > 1 − level}. It covers with probability ≥ level and lies within Clopper
& Pearson's (Blaker 2000, Canad. J. Statist. 28). Below the estimate γ(q) = P(X ≥ S) + P(X ≤ k), where k
increases with q. γ jumps up with k, and between jumps it first decreases and then increases, so the first
crossing is searched piece by piece.

**p-values.** `binomial_at_least` is exact. `chernoff_low` and `chernoff_high` are upper bounds of one-sided
p-values for a mean m; they are valid for any number of independent variables in [0, 1].

**Studentised range**: the range of M standard normals, divided by √(χ²_ν/ν) (`range_tail`, `range_quantile`).
Joint intervals of all pairs use it. It is integrated by the midpoint rule, because loading scipy's
studentized range takes longer than most commands.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, bdtrc, betainc, betaincinv, chdtrc, gammaln, ndtr, ndtri, rel_entr

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError, NotIdentified


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number; a Boolean is not."""
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)


def check_level(level: float | str) -> None:
    """Refuse a confidence level outside (0, 1).

    Raises
    ------
    EstimateError
        If `level` is not strictly between 0 and 1.

    Examples
    --------
    >>> check_level(95)
    Traceback (most recent call last):
        ...
    oversight.harness.errors.EstimateError: level must lie in (0, 1), is 95
    """
    if not (is_number(level) and 0.0 < level < 1.0):
        raise EstimateError(f"level must lie in (0, 1), is {level!r}")


def check_unit(name: str, value: float) -> None:
    """Refuse a weight or probability outside [0, 1].

    Raises
    ------
    EstimateError
        If `value` is not a number between 0 and 1.

    Examples
    --------
    >>> check_unit("positive", 1.5)
    Traceback (most recent call last):
        ...
    oversight.harness.errors.EstimateError: positive must lie in [0, 1], is 1.5
    """
    if not (is_number(value) and 0.0 <= value <= 1.0):
        raise EstimateError(f"{name} must lie in [0, 1], is {value!r}")


def check_least(name: str, value: float, least: int) -> None:
    """Refuse a number that is too small.

    Raises
    ------
    EstimateError
        If `value` is not a finite number, or is below `least`.

    Examples
    --------
    >>> check_least("points", 0, 1)
    Traceback (most recent call last):
        ...
    oversight.harness.errors.EstimateError: points must be at least 1, is 0
    """
    if not (is_number(value) and value >= least):
        raise EstimateError(f"{name} must be at least {least}, is {value!r}")


def check_known(name: str, value: str, known: Collection[str]) -> None:
    """Refuse an unknown value of a named argument.

    Raises
    ------
    EstimateError
        If `value` is not in `known`.

    Examples
    --------
    >>> check_known("test", "z", ("paired", "sign"))
    Traceback (most recent call last):
        ...
    oversight.harness.errors.EstimateError: test must be one of paired, sign, is 'z'
    """
    if value not in known:
        raise EstimateError(f"{name} must be one of {', '.join(known)}, is {value!r}")


def check_rows(name: str, values: Any, good: BoolArray, rule: str) -> None:
    """Refuse an array with invalid values.

    Parameters
    ----------
    name, values
        Name and values of the array.
    good
        Whether each value is valid; shape of `values`.
    rule
        What every value must satisfy, for the message, for example "be at least 0".

    Raises
    ------
    EstimateError
        If a value is invalid; the message names the first such row.

    Examples
    --------
    >>> values = np.array([0.5, -0.1])
    >>> check_rows("variance", values, values >= 0, "be at least 0")
    Traceback (most recent call last):
        ...
    oversight.harness.errors.EstimateError: variance[1] must be at least 0, is -0.1
    """
    for row in np.flatnonzero(~good)[:1]:
        raise EstimateError(f"{name}[{row}] must {rule}, is {values[row]}")


def check_options(K: float) -> None:
    """Refuse fewer than two options, because with one option every prediction is right.

    K = 2 is allowed, although the paper requires K ≥ 3: a "no" to one of two options shows that the other is
    true.

    Raises
    ------
    EstimateError
        If `K` is not a finite number, or is below 2.
    """
    check_least("K, the number of options,", K, 2)


def check_count(name: str, value: int) -> None:
    """Refuse a negative or fractional number of labels.

    Raises
    ------
    EstimateError
        If `value` is not a whole number ≥ 0.
    """
    if not (is_number(value) and value >= 0 and value == int(value)):
        raise EstimateError(f"{name} must be a whole number ≥ 0, is {value!r}")


def check_successes(name: str, S: int, n_name: str, n: int) -> None:
    """Refuse counts that no sample can have.

    Raises
    ------
    EstimateError
        If `n` or `S` is not a whole number ≥ 0, or `S` exceeds `n`.
    """
    check_count(n_name, n)
    check_count(name, S)
    if n < S:
        raise EstimateError(f"{name} must be at most {n_name} = {n}, is {S}")


def check_positive(name: str, n: int, needed_for: str) -> None:
    """Refuse an estimate from an empty sample.

    Raises
    ------
    EstimateError
        If `n` is below 1.
    """
    check_count(name, n)
    if n < 1:
        raise EstimateError(f"{name} must be at least 1 for {needed_for}, is {n}")


def check_items(n: int) -> None:
    """Refuse fewer than two items, from which no variance can be estimated.

    Raises
    ------
    EstimateError
        If `n` is below 2.
    """
    if n < 2:
        raise EstimateError(f"a variance needs at least 2 items, there are {n}")


def check_counts(K: float, S_o: int, n_o: int, S_c: int, n_c: int) -> None:
    """Refuse impossible counts: S_o successes of n_o ordinary labels, S_c of n_c complementary labels.

    Raises
    ------
    EstimateError
        If K < 2, a count is negative, there are more successes than labels, or there is no label at all.
    """
    check_options(K)
    check_successes("S_o", S_o, "n_o", n_o)
    check_successes("S_c", S_c, "n_c", n_c)
    if n_o + n_c == 0:
        raise EstimateError("n_o + n_c must be at least 1, is 0: without a label nothing can be estimated")


HALVINGS = 48


def find_root(
    falling: Callable[[float], float],
    left: float,
    right: float,
    ends: tuple[float, float] | None = None,
    *,
    halvings: int = HALVINGS,
) -> float:
    """Find a root by the ITP method, which needs at most as many steps as bisection.

    The error is at most (right − left)/2^(halvings + 1), or floating-point precision. Source: Oliveira &
    Takahashi 2020, ACM Trans. Math. Softw. 47, with κ₁ = .2/(b − a), κ₂ = 2, n₀ = 1.

    Parameters
    ----------
    falling
        Function that is positive left of the root and negative right of it. If it is zero on a range, the
        leftmost zero is found.
    left, right
        Ends of the interval to search.
    ends
        Values of the function at `left` and `right`; computed if None.

    Examples
    --------
    >>> round(find_root(lambda x: 2 - x * x, 0, 2), 6)
    1.414214
    """
    at_left, at_right = ends or (falling(left), falling(right))
    near = (right - left) / 2 ** (halvings + 1)
    radius, truncation = 2 * (right - left), 0.2 / (right - left)
    while right - left > 2 * near:
        radius /= 2
        half, width = (left + right) / 2, right - left
        if not left < half < right:  # no floating-point number lies between the ends
            break
        fall = at_left - at_right
        secant = (at_left * right - at_right * left) / fall if fall > 0 else half
        step = min(truncation * width**2, abs(half - secant))
        towards = secant + math.copysign(step, half - secant)
        reach = max(0.0, radius - width / 2)
        middle = towards if abs(towards - half) <= reach else half - math.copysign(reach, half - secant)
        value = falling(middle)
        if value > 0:
            left, at_left = middle, value
        else:  # at a zero, move the right end, so that the leftmost zero is found
            right, at_right = middle, value
    return (left + right) / 2


def find_edge(holds: Callable[[float], bool], inside: float, end: float) -> float:
    """Return the last point at which a condition holds on the way from `inside` to `end`."""
    if holds(end):
        return end
    for _ in range(_BISECTIONS):
        middle = (inside + end) / 2
        inside, end = (middle, end) if holds(middle) else (inside, middle)
    return inside


_BISECTIONS = 60
FEWEST_EFFECTIVE = 4.0
"""Smallest number of `effective_clusters` for an interval; with fewer, a single cluster would decide it."""


def count_effective(weight: FloatArray) -> float:
    """Return the effective number of units (Σw)²/Σw².

    A mean over this number of equally weighted units has the same precision.

    Parameters
    ----------
    weight
        Shape (N,): weight of every unit, at least 0, not all 0.

    Examples
    --------
    >>> count_effective(np.array([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    return float(weight.sum() ** 2 / (weight**2).sum())


def effective_clusters(cluster: IntArray, weight: FloatArray | None = None) -> float:
    """Return the effective number of clusters (Σm)²/Σm², where m are the clusters' sizes.

    It is the number of clusters if all have the same size, and nearly 1 if one cluster has nearly all items.
    Source: Kish 1965, Survey Sampling, for clusters whose items are all right or all wrong.

    Parameters
    ----------
    cluster
        Shape (N,), N ≥ 1: cluster number of every item, 0 or more; numbers may be skipped.
    weight
        Shape (N,): weight of every item; a cluster's size is then the sum of its weights. Default 1.

    Examples
    --------
    >>> effective_clusters(np.array([0, 0, 1, 1]))
    2.0
    >>> round(effective_clusters(np.array([0] * 10 + [1, 2])), 2)
    1.41
    """
    return count_effective(np.bincount(cluster, weight).astype(np.float64))


def check_clusters(cluster: IntArray, weight: FloatArray | None = None) -> None:
    """Refuse fewer than `FEWEST_EFFECTIVE` effective clusters.

    If every item has its own cluster, any number of items is allowed.

    Parameters
    ----------
    cluster, weight
        As in `effective_clusters`.

    Raises
    ------
    NotIdentified
        If there are fewer effective clusters; the message gives the number of clusters and the largest
        cluster's share.

    Examples
    --------
    >>> check_clusters(np.array([0, 1, 2, 3]))
    >>> check_clusters(np.array([0, 0, 0, 1]))
    Traceback (most recent call last):
        ...
    oversight.harness.errors.NotIdentified: 2 clusters, the largest with 75% of the items, ...
    """
    size = np.bincount(cluster, weight)
    effective = effective_clusters(cluster, weight)
    if np.bincount(cluster).max() > 1 and effective < FEWEST_EFFECTIVE - 1e-9:
        what = "items" if weight is None else "items' weight"
        raise NotIdentified(
            f"{np.count_nonzero(size)} clusters, the largest with {size.max() / size.sum():.0%} of the "
            f"{what}, count as {effective:.1f} clusters of equal size, but an interval needs "
            f"at least {FEWEST_EFFECTIVE:g}: label items of more clusters"
        )


@dataclass(frozen=True, slots=True)
class BinomialSample:
    """S successes in n trials; each succeeds with probability (A + K − 2)/(K − 1) for a model of accuracy A.

    Attributes
    ----------
    K
        Effective number of options, ≥ 2; 2 if the labels decide whether the prediction is right.
    n
        Number of trials, ≥ 0.
    S
        Number of successes, 0 ≤ S ≤ n.

    Examples
    --------
    >>> from oversight.harness.estimate import maximum_likelihood
    >>> maximum_likelihood((BinomialSample(K=2, n=20, S=16), BinomialSample(K=4, n=60, S=56)))
    0.8
    """

    K: float
    n: int
    S: int

    def __post_init__(self) -> None:
        check_options(self.K)
        check_successes("S", self.S, "n", self.n)


def effective_options(K: int, m: int) -> float:
    """Return K' = 1 + (K − 1)/m for an item of which m options were refused, 1 ≤ m ≤ K − 1."""
    return 1 + (K - 1) / m


def success_probability(K: float, A: float) -> float:
    """Return q(A) = (A + K − 2)/(K − 1), the probability that a refused option is not predicted (Eq. 2)."""
    return (A + K - 2) / (K - 1)


def z_value(level: float) -> float:
    """Return the normal quantile of a two-sided interval, for example 1.96 at the level 0.95.

    Raises
    ------
    EstimateError
        If `level` is outside (0, 1).
    """
    check_level(level)
    return float(ndtri(0.5 + level / 2))


def wilson(S: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval {q: |q̂ − q| ≤ z √(q(1−q)/n)}.

    Its coverage is near `level` on average, and lower for q near 0 or 1.

    Raises
    ------
    EstimateError
        If n < 1, S > n or the level is outside (0, 1).
    """
    check_successes("S", S, "n", n)
    check_positive("n", n, "an interval")
    z2 = z_value(level) ** 2
    centre = (S + z2 / 2) / (n + z2)
    half = math.sqrt(z2 * (S * (n - S) / n + z2 / 4)) / (n + z2)
    return (0.0 if S == 0 else centre - half, 1.0 if n == S else centre + half)


def jeffreys(S: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the equal-tailed posterior interval under the prior Beta(½, ½).

    The lower end is 0 for S = 0, the upper end 1 for S = n.

    Raises
    ------
    EstimateError
        If n < 1, S > n or the level is outside (0, 1).
    """
    return _beta_interval(S, n, level, 0.5)


def clopper_pearson(S: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the ends of the Clopper–Pearson interval for S successes in n trials; coverage ≥ level.

    It contains every probability q that neither exact one-sided binomial test rejects at (1 − level)/2.

    Raises
    ------
    EstimateError
        If n < 1, S > n or the level is outside (0, 1).

    Examples
    --------
    >>> tuple(round(end, 3) for end in clopper_pearson(8, 10))
    (0.444, 0.975)
    """
    return _beta_interval(S, n, level, 0.0)


def _beta_interval(S: int, n: int, level: float, prior: float) -> tuple[float, float]:
    check_successes("S", S, "n", n)
    check_positive("n", n, "an interval")
    check_level(level)
    return share_interval(S, n, level, prior)


def share_interval(m: float, n: float, level: float, prior: float = 0.0) -> tuple[float, float]:
    """Return the Clopper–Pearson interval of the share m/n; m and n may be fractional.

    The ends are quantiles of Beta(m + a, n − m + 1 − a) and Beta(m + 1 − a, n − m + a), where a is
    `prior`: 0, or ½ for Jeffreys's interval.
    """
    tail = (1 - level) / 2
    low = 0.0 if m <= 0 else float(betaincinv(m + prior, n - m + 1 - prior, tail))
    return low, 1.0 if m >= n else float(betaincinv(m + 1 - prior, n - m + prior, 1 - tail))


_MANY = 5_000
"""Number of trials above which Blaker's and Clopper and Pearson's ends differ by < 0.1 % of the width."""


def blaker(S: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return Blaker's exact interval of a success probability q, with ends rounded outwards.

    S is the number of successes in n trials. With more than 5,000 trials, Clopper and Pearson's interval is
    returned instead.

    Raises
    ------
    EstimateError
        If n < 1, S > n or the level is outside (0, 1).
    """
    low, high = clopper_pearson(S, n, level)
    if n > _MANY:
        return low, high
    alpha = 1 - level
    return _lower_end(S, n, low, alpha), 1 - _lower_end(n - S, n, 1 - high, alpha)


def _lower_end(S: int, n: int, start: float, alpha: float) -> float:
    """Return the smallest q ≥ `start` with γ(q) > alpha.

    γ is the acceptability (see the module docstring); `start` is the lower end of Clopper & Pearson.
    """
    if S == 0:
        return 0.0

    def upper(q: float) -> float:
        return float(bdtrc(S - 1, n, q))

    left = start
    k = bisect_right(range(S), upper(left), key=lambda j: float(bdtr(j, n, start))) - 1
    while True:

        def gamma(q: float, k: int = k) -> float:
            return upper(q) + (float(bdtr(k, n, q)) if k >= 0 else 0.0)

        if gamma(left) > alpha:
            return left
        right = S / n
        if k + 1 < S:
            right = find_edge(lambda q, k=k: upper(q) <= bdtr(k + 1, n, q), left, right)  # type: ignore[misc]
        if gamma(right) > alpha:
            return find_edge(lambda q: gamma(q) <= alpha, left, right)
        left, k = right, k + 1


def mover_sum(
    values: ArrayLike,
    lows: ArrayLike,
    highs: ArrayLike,
    weights: ArrayLike,
    *,
    between: float = 0.0,
    correlation: FloatArray | None = None,
) -> tuple[float, float]:
    """Return an interval of Σ w_h θ_h from estimates θ̂_h and their intervals [l_h, u_h].

    For independent parts low = θ̂ − √(Σ w_h²(θ̂_h − l_h)² + between), and high likewise. A negative weight
    swaps the ends of its part.

    Parameters
    ----------
    values, lows, highs, weights
        Shape (H,): estimates, ends of their intervals (low ≤ value ≤ high), and weights.
    between
        z² Σ w_h(θ̂_h − θ̂)²/N if the weights are shares that were estimated from N sampled items; 0 if the
        weights are known.
    correlation
        Shape (H, H): correlations of the w_h θ̂_h; None if the parts are independent.
    """
    v, low, high, w = (np.asarray(x, dtype=np.float64) for x in (values, lows, highs, weights))
    rho = np.eye(len(w)) if correlation is None else correlation
    below = w * (v - np.where(w > 0, low, high))
    above = w * (np.where(w > 0, high, low) - v)
    less, more = (math.sqrt(max(0.0, x @ rho @ x) + between) for x in (below, above))
    value = float(w @ v)
    return value - less, value + more


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Share of successes in independent trials, with the Clopper–Pearson interval of their probability.

    Examples
    --------
    >>> rate = Rate.of_outcomes([True] * 9 + [False])
    >>> print(f"{rate.value} [{rate.low:.3f}, {rate.high:.3f}]")
    0.9 [0.555, 0.997]
    """

    successes: int
    of: int
    value: float
    low: float
    high: float

    @classmethod
    def of_outcomes(cls, outcomes: Sequence[bool], level: float = 0.95) -> Self:
        """Make the rate from a sequence of outcomes, each of which is True for a success.

        Raises
        ------
        EstimateError
            If there is no outcome.
        """
        x, n = sum(outcomes), len(outcomes)
        low, high = clopper_pearson(x, n, level)
        return cls(successes=x, of=n, value=x / n, low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateChange:
    """Change of a rate, `last` minus `first`, with its interval.

    Examples
    --------
    >>> change = compare_rates([True] * 9 + [False], [True] * 4 + [False] * 6)
    >>> change.first.value, change.last.value, round(change.value, 2)
    (0.9, 0.4, -0.5)
    """

    value: float
    low: float
    high: float
    first: Rate
    last: Rate


def compare_rates(first: Sequence[bool], last: Sequence[bool], level: float = 0.95) -> RateChange:
    """Return the change of a rate between two independent samples.

    The interval is Newcombe's (1998, Statistics in Medicine 17, method 10) with Clopper–Pearson limits
    instead of Wilson's: d − √((p₂ − l₂)² + (u₁ − p₁)²) and d + √((u₂ − p₂)² + (p₁ − l₁)²), d = p₂ − p₁.

    Raises
    ------
    EstimateError
        If a sample is empty.

    Examples
    --------
    >>> change = compare_rates([True] * 9 + [False], [True] * 4 + [False] * 6)
    >>> print(f"{change.value:.1f} [{change.low:.2f}, {change.high:.2f}]")
    -0.5 [-0.80, -0.02]
    """
    one, two = Rate.of_outcomes(first, level), Rate.of_outcomes(last, level)
    change = two.value - one.value
    lows, highs = (two.low, one.low), (two.high, one.high)
    low, high = mover_sum((two.value, one.value), lows, highs, (1, -1))
    return RateChange(value=change, low=max(-1.0, low), high=min(1.0, high), first=one, last=two)


def two_sided(z: float) -> float:
    """Return P(|N(0,1)| ≥ |z|)."""
    return float(2 * ndtr(-abs(z)))


def chi2_tail(statistic: float, df: int) -> float:
    """Return P(χ²_df ≥ statistic)."""
    return float(chdtrc(df, statistic))


def z_of_sum(observed: float, expected: float, variance: float) -> float:
    """Return (observed − expected)/√variance.

    For variance 0, return 0 if `observed` equals `expected`, else ±inf.
    """
    if variance > 0:
        return (observed - expected) / math.sqrt(variance)
    return 0.0 if observed == expected else math.copysign(math.inf, observed - expected)


def binomial_at_least(successes: int, n: int, p: float) -> float:
    """Return P(Bin(n, p) ≥ successes), which is 0 for `successes` = n + 1.

    Examples
    --------
    >>> round(binomial_at_least(9, 10, 0.5), 4)
    0.0107
    """
    if n < 1 or not 0 <= successes <= n + 1:
        raise EstimateError(
            f"n must be at least 1, and successes an integer from 0 to n + 1, but n = {n} and "
            f"successes = {successes}"
        )
    if successes == 0:
        return 1.0
    return float(betainc(successes, n - successes + 1, p)) if successes <= n else 0.0


def kl(p: float, q: float) -> float:
    """Return the divergence KL(p‖q) of two Bernoulli distributions, in nats.

    It is infinite if q is 0 or 1 and p is different.
    """
    return max(0.0, float(rel_entr(p, q) + rel_entr(1 - p, 1 - q)))


def chernoff_low(mean: float, n: int, m: float) -> float:
    """Return an upper bound on P(X̄ ≤ mean) if E X ≥ m: exp(−n KL(mean‖m)) if mean < m, otherwise 1.

    X̄ is the mean of n independent variables in [0, 1]. Source: Chernoff; Hoeffding 1963.

    Examples
    --------
    >>> round(chernoff_low(0.3, 50, 0.5), 4)
    0.0163
    """
    return math.exp(-n * kl(mean, m)) if mean < m else 1.0


def chernoff_high(mean: float, n: int, m: float) -> float:
    """Return an upper bound on P(X̄ ≥ mean) if E X ≤ m: exp(−n KL(mean‖m)) if mean > m, otherwise 1.

    Examples
    --------
    >>> round(chernoff_high(0.7, 50, 0.5), 4)
    0.0163
    """
    return math.exp(-n * kl(mean, m)) if mean > m else 1.0


def bonferroni(p_values: ArrayLike) -> FloatArray:
    """Multiply each of m p-values by m, and replace results above 1 by 1.

    The probability of one or more false rejections is then at most the significance level.
    """
    p = _p_values(p_values)
    return np.minimum(1.0, p * len(p))


def holm(p_values: ArrayLike) -> FloatArray:
    """Return m p-values, adjusted by Holm's method (1979, Scand. J. Stat. 6), in the order of the input.

    The i-th smallest becomes max_{j ≤ i} min(1, (m − j + 1) p_(j)), where p_(j) is the j-th smallest. Each is
    at most Bonferroni's p-value, with the same guarantee.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    p = _p_values(p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, stepped)
    return adjusted


def _p_values(p_values: ArrayLike) -> FloatArray:
    p = np.asarray(p_values, dtype=np.float64)
    check_rows("p_values", p, (p >= 0) & (p <= 1), "lie in [0, 1]")
    return p


def sign_p_value(n_10: int, n_01: int) -> float:
    """Return the exact two-sided p-value of the sign test for n_10 against n_01 discordant pairs.

    It is P(|X − m/2| ≥ |n_10 − m/2|) for X ~ Binomial(m, ½) with m = n_10 + n_01, and 1 for m = 0.
    """
    check_count("n_10", n_10)
    check_count("n_01", n_01)
    m = n_10 + n_01
    return 1.0 if m == 0 else min(1.0, 2 * float(bdtr(min(n_10, n_01), m, 0.5)))


_NODES, _SCALES = 400, 64
_LARGEST = 1e5


def range_tail(q: float, models: int, df: float = math.inf) -> float:
    """Return P(range ≥ q) for `models` ≥ 2 independent normals, studentised with `df` degrees of freedom.

    With `df` = ∞ the scale is known to be 1.

    Examples
    --------
    >>> round(range_tail(4.387, 9), 3)
    0.05
    """
    if q <= 0:
        return 1.0
    if not math.isfinite(df):
        return float(_tail(np.array([q]), models)[0])
    # integrate over u = ln s with s = √(χ²/ν); the nodes follow the density, which is narrow for large ν
    centre, reach = -0.5 / df, 9 / math.sqrt(df) + 4 / df
    u = centre + reach * (2 * (np.arange(_SCALES) + 0.5) / _SCALES - 1)
    log_density = df * u - df / 2 * np.exp(2 * u) + math.log(2) + df / 2 * math.log(df / 2) - gammaln(df / 2)
    weight = np.exp(log_density) * 2 * reach / _SCALES
    return float(min(1.0, weight @ _tail(q * np.exp(u), models) / weight.sum()))


def range_quantile(level: float, models: int, df: float = math.inf) -> float:
    """Return the value that the range of `models` standard normals exceeds with probability 1 − level.

    If `df` is finite, the range is studentised with `df` degrees of freedom.
    """
    return find_root(lambda q: range_tail(q, models, df) - (1 - level), 0.0, _LARGEST)


def _tail(q: FloatArray, models: int) -> FloatArray:
    """Return P(range ≥ q) for the range of M = `models` independent standard normal variables.

    It is M ∫ φ(z) [1 − (1 − Φ(−q − z)/Φ(−z))^(M−1)] Φ(−z)^(M−1) dz.
    """
    width = 18.0 / _NODES
    z = -9 + width * (np.arange(_NODES) + 0.5)
    above, beyond = ndtr(-z), ndtr(-z - q[:, None])
    share = np.clip(beyond / above, 0.0, 1 - 1e-15)
    lost = -np.expm1((models - 1) * np.log1p(-share)) * above ** (models - 1)
    tail: FloatArray = np.minimum(1.0, models * (lost @ np.exp(-(z**2) / 2)) * width / math.sqrt(2 * math.pi))
    return tail
