"""Basics of all estimators: argument checks, roots, effective numbers, binomial samples, p-values.

Messages of the checks name the argument, the bound and the value.

Binomial samples that tell something about the accuracy A, and intervals of their proportion q.

Every kind of label an estimator here uses is a count of successes S among n trials with success
probability q(A) = (A + K − 2)/(K − 1) for some K, possibly fractional:

* a checked prediction (the label settles whether it is right): K = 2, q = A;
* a refused option of a K-option item, success = "not the predicted option" (Eq. 2): K;
* m refused options of one item, success = "none is the predicted option": K' = 1 + (K − 1)/m,
  because P(no hit | wrong) = (K − 1 − m)/(K − 1) under uniform wrong options; m = K − 1 leaves
  one option standing, K' = 2, which is a checked prediction again.

Source: "Towards Scalable Oversight via Partitioned Human Supervision", section 2; the fractional K' is
this project's derivation.

An interval of q is one of A by A = (K−1)q − (K−2), cut to [0, 1] (`intervals` does that): Wilson 1927; Brown,
Cai & DasGupta 2001 (Jeffreys with the ends put to 0 and 1 where no success or no failure was seen); Clopper &
Pearson 1934.

Blaker's interval is exact and shorter. The acceptability of q is γ(q) = t + t', t the smaller of P(X ≥ S)
and P(X ≤ S), t' the largest probability of an opposite tail that does not exceed t; the interval is the
hull of {q: γ(q) > 1 − level}. It covers with probability ≥ level and lies within Clopper & Pearson's.
Source: Blaker 2000, Canad. J. Statist. 28. Below the estimate γ(q) = P(X ≥ S) + P(X ≤ k), k growing with q:
it jumps up where k does, and between jumps falls before it rises, so that its first crossing is found piece
by piece.

p-values: of a normal or χ² statistic, of a bounded mean, and of many tests adjusted as one family.

`binomial_at_least`, `chernoff_low` and `chernoff_high` are exact or upper bounds, hence valid at any
sample size: X_n in [0, 1], independent, one-sided tests that the mean is m.

The range of M independent standard normals over √(χ²_ν/ν): what joint intervals of all pairs are made of.

Numerical integrals by the midpoint rule; scipy's own take longer to load than most verbs compute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, bdtrc, betainc, betaincinv, chdtrc, gammaln, ndtr, ndtri

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError, NotIdentified


def check_level(level: float) -> None:
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
    if not 0.0 < level < 1.0:
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
    if not 0.0 <= value <= 1.0:
        raise EstimateError(f"{name} must lie in [0, 1], is {value!r}")


def check_least(name: str, value: float, least: int) -> None:
    """Refuse a number that is too small.

    Raises
    ------
    EstimateError
        If `value` is below `least`.

    Examples
    --------
    >>> check_least("points", 0, 1)
    Traceback (most recent call last):
        ...
    oversight.harness.errors.EstimateError: points must be at least 1, is 0
    """
    if value < least:
        raise EstimateError(f"{name} must be at least {least}, is {value}")


def check_known(name: str, value: str, known: Collection[str]) -> None:
    """Refuse an unknown name of an option.

    Raises
    ------
    EstimateError
        If `value` is none of those known.

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
    """Raise an error if an array contains an invalid value; names the first such row.

    Raises
    ------
    EstimateError
        If `good`, of the array's shape, does not hold everywhere; `rule` says what a value must do.

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
    """Raise an error for fewer than two options, where every prediction is right.

    K = 2 is fine (the paper asks for K ≥ 3): a refused option then names the other one, the
    complementary estimate is the plain share q̂, and nothing divides by zero.

    Raises
    ------
    EstimateError
        If `K` is below 2 or not finite.
    """
    if not (math.isfinite(K) and K >= 2):
        raise EstimateError(f"K, the number of options, must be at least 2, is {K!r}")


def check_count(name: str, value: int) -> None:
    """Refuse a negative or fractional number of labels.

    Raises
    ------
    EstimateError
        If `value` is not a whole number ≥ 0.
    """
    if value < 0 or value != int(value):
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
    """Refuse a variance between fewer than two items.

    Raises
    ------
    EstimateError
        If `n` is below 2.
    """
    if n < 2:
        raise EstimateError(f"a variance needs at least 2 items, there are {n}")


def check_counts(K: float, S_o: int, n_o: int, S_c: int, n_c: int) -> None:
    """Refuse impossible sufficient counts of one stratum.

    Raises
    ------
    EstimateError
        If K < 2, a count is negative, successes exceed their labels, or there is no label at all.
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
    """Root between two ends of opposite signs by the ITP method, which is never slower than bisection.

    Off by at most (right − left)/2^(halvings + 1), or a float. Source: Oliveira & Takahashi 2020,
    ACM Trans. Math. Softw. 47, with κ₁ = .2/(b − a), κ₂ = 2, n₀ = 1.

    Parameters
    ----------
    falling
        Positive left of the root, negative right of it; of several zeros the first is found.
    ends
        Its values at `left` and `right`, if known.

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
        if not left < half < right:  # limit of floating-point precision
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
        else:  # the first of several zeros
            right, at_right = middle, value
    return (left + right) / 2


def find_edge(holds: Callable[[float], bool], inside: float, end: float) -> float:
    """Find the farthest point from `inside` towards `end` up to which a condition holds."""
    if holds(end):
        return end
    for _ in range(_BISECTIONS):
        middle = (inside + end) / 2
        inside, end = (middle, end) if holds(middle) else (inside, middle)
    return inside


_BISECTIONS = 60
FEWEST_EFFECTIVE = 4.0
"""Fewest effective clusters (`effective_clusters`) for an interval; with fewer, one cluster decides it."""


def count_effective(weight: FloatArray) -> float:
    """Number of equally weighted units with the same precision of the mean, (Σw)²/Σw².

    Parameters
    ----------
    weight
        Shape (N,), at least 0, not all 0.

    Examples
    --------
    >>> count_effective(np.array([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    return float(weight.sum() ** 2 / (weight**2).sum())


def effective_clusters(cluster: IntArray) -> float:
    """Number of equal clusters with the same precision of the mean, (Σm)²/Σm² of their sizes m.

    The number of clusters if all have one size; nearly 1 if one cluster holds nearly all items. Source: Kish
    1965, Survey Sampling, with clusters that are right or wrong as a whole.

    Parameters
    ----------
    cluster
        Shape (N,), N ≥ 1: number of every item's cluster, 0 or more; gaps are allowed.

    Examples
    --------
    >>> effective_clusters(np.array([0, 0, 1, 1]))
    2.0
    >>> round(effective_clusters(np.array([0] * 10 + [1, 2])), 2)
    1.41
    """
    return count_effective(np.bincount(cluster).astype(np.float64))


def check_clusters(cluster: IntArray) -> None:
    """Raise an error for fewer than `FEWEST_EFFECTIVE` effective clusters.

    Items that all belong to different clusters pass, however few.

    Parameters
    ----------
    cluster
        As in `effective_clusters`.

    Raises
    ------
    NotIdentified
        If they are fewer; the message gives their effective number and the share of the largest cluster.

    Examples
    --------
    >>> check_clusters(np.array([0, 1, 2, 3]))
    >>> check_clusters(np.array([0, 0, 0, 1]))
    Traceback (most recent call last):
        ...
    oversight.harness.errors.NotIdentified: 2 clusters, the largest with 75% of the items, ...
    """
    size = np.bincount(cluster)
    effective = effective_clusters(cluster)
    if size.max() > 1 and effective < FEWEST_EFFECTIVE - 1e-9:
        raise NotIdentified(
            f"{np.count_nonzero(size)} clusters, the largest with {size.max() / size.sum():.0%} of the "
            f"items, count as {effective:.1f} of equal size; an interval needs {FEWEST_EFFECTIVE:g}: label "
            "more items of other clusters"
        )


@dataclass(frozen=True, slots=True)
class BinomialSample:
    """S successes in n trials, each with probability (A + K − 2)/(K − 1).

    Attributes
    ----------
    K
        Effective number of options, ≥ 2; 2 if the label settles the prediction.
    n
        Trials, ≥ 0.
    S
        Successes, 0 ≤ S ≤ n.

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
    """K' = 1 + (K − 1)/m of an item on which m different options were refused, 1 ≤ m ≤ K − 1."""
    return 1 + (K - 1) / m


def success_probability(K: float, A: float) -> float:
    """Return q(A) = (A + K − 2)/(K − 1), the probability of avoiding the refused option (Eq. 2)."""
    return (A + K - 2) / (K - 1)


def z_value(level: float) -> float:
    """Normal quantile of a two-sided interval: 1.96 at 0.95.

    Raises
    ------
    EstimateError
        If `level` leaves (0, 1).
    """
    check_level(level)
    return float(ndtri(0.5 + level / 2))


def wilson(S: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """{q: |q̂ − q| ≤ z √(q(1−q)/n)}. Coverage near `level` on average, below it for q near 0 or 1.

    Raises
    ------
    EstimateError
        If n < 1, S > n or the level leaves (0, 1).
    """
    check_successes("S", S, "n", n)
    check_positive("n", n, "an interval")
    z2 = z_value(level) ** 2
    centre = (S + z2 / 2) / (n + z2)
    half = math.sqrt(z2 * (S * (n - S) / n + z2 / 4)) / (n + z2)
    return (0.0 if S == 0 else centre - half, 1.0 if n == S else centre + half)


def jeffreys(S: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Equal-tailed posterior interval under Beta(½, ½); end 0 for S = 0, end 1 for S = n.

    Raises
    ------
    EstimateError
        If n < 1, S > n or the level leaves (0, 1).
    """
    return _beta_interval(S, n, level, 0.5)


def clopper_pearson(S: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """All q that neither exact one-sided binomial test rejects at (1 − level)/2; coverage ≥ level.

    Raises
    ------
    EstimateError
        If n < 1, S > n or the level leaves (0, 1).

    Examples
    --------
    >>> tuple(round(end, 3) for end in clopper_pearson(8, 10))
    (0.444, 0.975)
    """
    return _beta_interval(S, n, level, 0.0)


def _beta_interval(S: int, n: int, level: float, a: float) -> tuple[float, float]:
    """Quantiles of Beta(S + a, n − S + 1 − a) below and of Beta(S + 1 − a, n − S + a) above."""
    check_successes("S", S, "n", n)
    check_positive("n", n, "an interval")
    check_level(level)
    tail = (1 - level) / 2
    low = 0.0 if S == 0 else float(betaincinv(S + a, n - S + 1 - a, tail))
    high = 1.0 if n == S else float(betaincinv(S + 1 - a, n - S + a, 1 - tail))
    return low, high


_MANY = 5_000
"""Trials beyond which the two intervals differ by less than a thousandth of their width."""


def blaker(S: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of q from S successes in n trials, its ends rounded outwards.

    Beyond 5,000 trials it is Clopper & Pearson's.

    Raises
    ------
    EstimateError
        If n < 1, S > n or the level leaves (0, 1).
    """
    low, high = clopper_pearson(S, n, level)
    if n > _MANY:
        return low, high
    alpha = 1 - level
    return _lower_end(S, n, low, alpha), 1 - _lower_end(n - S, n, 1 - high, alpha)


def _lower_end(S: int, n: int, start: float, alpha: float) -> float:
    """The smallest q with γ(q) > alpha, from an end of Clopper & Pearson's interval upwards."""
    if S == 0:
        return 0.0

    def upper(q: float) -> float:
        return float(bdtrc(S - 1, n, q))

    left, k = start, -1
    while k + 1 < S and bdtr(k + 1, n, left) <= upper(left):
        k += 1
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
    """Interval of Σ w_h θ_h from estimates and their intervals, of which negative weights swap the ends.

    For independent parts low = θ̂ − √(Σ w_h²(θ̂_h − l_h)² + between), high likewise.

    Parameters
    ----------
    values, lows, highs, weights
        Shape (H,): estimates, ends with low ≤ value ≤ high, and weights.
    between
        z² Σ w_h(θ̂_h − θ̂)²/N where the weights are themselves shares of a sample of N items;
        0 where they are known.
    correlation
        Shape (H, H): correlations of the w_h θ̂_h; by default none.
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
    """Number of successes and trials, and the Clopper–Pearson interval of the probability.

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
        """Count outcomes; at least one is required.

        Raises
        ------
        EstimateError
            If there is none.
        """
        x, n = sum(outcomes), len(outcomes)
        low, high = clopper_pearson(x, n, level)
        return cls(successes=x, of=n, value=x / n, low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateChange:
    """A rate in a later sample minus the same in an earlier one, with its interval.

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
    """Change between two independent samples.

    The ends are Newcombe's (1998, Statistics in Medicine 17, method 10) with Clopper–Pearson limits instead
    of Wilson's: d − √((p₂ − l₂)² + (u₁ − p₁)²) and d + √((u₂ − p₂)² + (p₁ − l₁)²), d = p₂ − p₁.

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
    """P(|N(0,1)| ≥ |z|)."""
    return float(2 * ndtr(-abs(z)))


def chi2_tail(statistic: float, df: int) -> float:
    """P(χ²_df ≥ statistic)."""
    return float(chdtrc(df, statistic))


def z_of_sum(observed: float, expected: float, variance: float) -> float:
    """Standardised sum; ±inf for a difference without variance, 0 if the difference is 0 as well."""
    if variance > 0:
        return (observed - expected) / math.sqrt(variance)
    return 0.0 if observed == expected else math.copysign(math.inf, observed - expected)


def binomial_at_least(successes: int, n: int, p: float) -> float:
    """P(Bin(n, p) ≥ successes); 0 for n + 1.

    Examples
    --------
    >>> round(binomial_at_least(9, 10, 0.5), 4)
    0.0107
    """
    if n < 1 or not 0 <= successes <= n + 1:
        raise EstimateError(f"successes must lie in 0..n + 1 with n >= 1, are {successes} of {n}")
    if successes == 0:
        return 1.0
    return float(betainc(successes, n - successes + 1, p)) if successes <= n else 0.0


def kl(p: float, q: float) -> float:
    """KL(p‖q) of two coins, in nats; infinite where q is certain and p is not."""
    total = 0.0
    for a, b in ((p, q), (1 - p, 1 - q)):
        if a > 0:
            if b <= 0:
                return math.inf
            total += a * math.log(a / b)
    return max(0.0, total)


def chernoff_low(mean: float, n: int, m: float) -> float:
    """Bound of P(X̄ ≤ mean) if E X ≥ m: exp(−n KL(mean‖m)) below m, else 1 (Chernoff; Hoeffding 1963).

    Examples
    --------
    >>> round(chernoff_low(0.3, 50, 0.5), 4)
    0.0163
    """
    return math.exp(-n * kl(mean, m)) if mean < m else 1.0


def chernoff_high(mean: float, n: int, m: float) -> float:
    """Bound of P(X̄ ≥ mean) if E X ≤ m: exp(−n KL(mean‖m)) above m, else 1.

    Examples
    --------
    >>> round(chernoff_high(0.7, 50, 0.5), 4)
    0.0163
    """
    return math.exp(-n * kl(mean, m)) if mean > m else 1.0


def bonferroni(p_values: ArrayLike) -> FloatArray:
    """min(1, m·p): the probability of any false finding among m is at most the level."""
    p = np.asarray(p_values, dtype=np.float64)
    return np.minimum(1.0, p * len(p))


def holm(p_values: ArrayLike) -> FloatArray:
    """Step-down p̃_(i) = max_{j ≤ i} min(1, (m − j + 1) p_(j)) (Holm 1979, Scand. J. Stat. 6).

    Never larger than Bonferroni's, and as safe. Order of the input is kept.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, stepped)
    return adjusted


def sign_p_value(n_10: int, n_01: int) -> float:
    """Two-sided exact P(|X − m/2| ≥ |n_10 − m/2|), X ~ Binomial(m, ½), m = n_10 + n_01; 1 at m = 0."""
    m = n_10 + n_01
    return 1.0 if m == 0 else min(1.0, 2 * float(bdtr(min(n_10, n_01), m, 0.5)))


_NODES, _SCALES = 400, 64
_LARGEST = 1e5


def range_tail(q: float, models: int, df: float = math.inf) -> float:
    """P(range ≥ q) of M ≥ 2 normals with known scale, or scale estimated with df degrees of freedom.

    Examples
    --------
    >>> round(range_tail(4.387, 9), 3)
    0.05
    """
    if q <= 0:
        return 1.0
    if not math.isfinite(df):
        return float(_tail(np.array([q]), models)[0])
    # ln s of s = √(χ²/ν), whose density is narrow for large ν
    centre, reach = -0.5 / df, 9 / math.sqrt(df) + 4 / df
    u = centre + reach * (2 * (np.arange(_SCALES) + 0.5) / _SCALES - 1)
    log_density = df * u - df / 2 * np.exp(2 * u) + math.log(2) + df / 2 * math.log(df / 2) - gammaln(df / 2)
    weight = np.exp(log_density) * 2 * reach / _SCALES
    return float(min(1.0, weight @ _tail(q * np.exp(u), models) / weight.sum()))


def range_quantile(level: float, models: int, df: float = math.inf) -> float:
    """The q that the range of M normals exceeds with probability 1 − level."""
    return find_root(lambda q: range_tail(q, models, df) - (1 - level), 0.0, _LARGEST)


def _tail(q: FloatArray, models: int) -> FloatArray:
    """P(range ≥ q) where the scale is known: M ∫ φ(z) [1 − (1 − Φ(−q − z)/Φ(−z))^(M−1)] Φ(−z)^(M−1) dz."""
    width = 18.0 / _NODES
    z = -9 + width * (np.arange(_NODES) + 0.5)
    above, beyond = ndtr(-z), ndtr(-z - q[:, None])
    share = np.clip(beyond / above, 0.0, 1 - 1e-15)
    lost = -np.expm1((models - 1) * np.log1p(-share)) * above ** (models - 1)
    tail: FloatArray = np.minimum(1.0, models * (lost @ np.exp(-(z**2) / 2)) * width / math.sqrt(2 * math.pi))
    return tail
