"""Draw the items to ask about: strata by agreement, unequal probabilities, second questions.

**Strata by the models' agreement** (`split_by_agreement`) use no answers. Models that name the same option
are right more often. Without any label, each model's accuracy is estimated from how often the other models
agree with it, and votes are weighted by this accuracy; the iteration converges in a few rounds
(`guess_right`; Dawid & Skene 1979, Appl. Stat. 28, tempered and with one rate per model). An item has one
guess per evaluated model. Items are split repeatedly, each time at the cut that most reduces the guesses'
variance (a regression tree: Breiman et al. 1984). Every item is drawn with the same probability in all
strata, so a bad guess only widens the interval.

**Unequal, recorded probabilities** (`draw_with_chances`) are proportional to the uncertainty about each item
before the draw. Among all ways to draw n items, probabilities in proportion to the standard deviation of each
item's unknown part give the smallest variance of the inverse-probability sum (Neyman 1934, J. R. Stat. Soc.
97). A share `EVEN` of the draw is uniform, so no item has more than 1/`EVEN` times the weight of a uniform
draw, and a bad guess only widens the interval. `oversight.harness.columns.weigh_draws` gives the weights of
items after several successive draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import AnyIntArray, BoolArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.routed_sample import (
    accuracy_target,
    item_variance,
    neyman_rates,
    vote_posterior,
)

_ROUNDS = 10
_EACH, _MOST = 4, 60
"""Mean number of drawn items per stratum, and largest number of strata.

Finer strata would hardly reduce the variance, and the variance within them could not be estimated well.
"""
_FINEST = 3
"""A stratum has at least 1/3 of the average number of items per stratum."""
_LOOKED_AT = 20_000
"""Approximate largest number of items among which a cut is searched; larger strata are thinned out evenly."""
_NOTHING = 1e-9
DIGITS = 9
"""Decimals to which guesses are rounded, because further digits differ between CPU types and affect draws."""


def guess_right(predicted: AnyIntArray, n_options: IntArray) -> FloatArray:
    """Estimate, from all models' votes, the probability that each model is right on each item.

    Parameters
    ----------
    predicted
        Shape (N, M): predicted options, negative if a model names no option.
    n_options
        Shape (N,): number of options of every item.

    Returns
    -------
    array
        Shape (N, M), in [0, 1]; 0 if a model names no option.

    Examples
    --------
    >>> guess_right(np.array([[0, 0, 1], [2, 2, 2]]), np.array([4, 4])).round(2).tolist()
    [[0.99, 0.99, 0.0], [1.0, 1.0, 1.0]]
    """
    options = np.maximum(np.asarray(predicted, dtype=np.int64), -1)
    width, accuracy, rows = int(n_options.max()), None, np.arange(len(options))[:, None]
    right = np.zeros(options.shape)
    for _ in range(_ROUNDS):
        posterior = vote_posterior(options, n_options, width, accuracy=accuracy)
        right = np.where(options >= 0, posterior[rows, np.maximum(options, 0)], 0.0)
        accuracy = right.mean(axis=0)
    return right


def split_by_agreement(right: FloatArray, drawn: int, *, each: int = _EACH) -> IntArray:
    """Split items into strata; return the stratum number of every item, from 0, shape (N,).

    Strata with neighbouring numbers are similar.

    Parameters
    ----------
    right
        Shape (N, M): estimated probability that each model under test is right on the item.
    drawn
        Number of items to draw, which limits the number of strata. There are fewer strata if items hardly
        differ.
    each
        Mean number of drawn items per stratum; 1 gives strata that only define an order for a systematic
        draw.

    Examples
    --------
    >>> right = np.array([[0.9], [0.2], [0.9], [0.2], [0.9], [0.2], [0.9], [0.2]])
    >>> split_by_agreement(right, 8).tolist()
    [1, 0, 1, 0, 1, 0, 1, 0]
    """
    right = np.round(right, DIGITS)
    n, most = len(right), max(1, min(_MOST * _EACH // each, drawn // each))
    least = max(1, n // (_FINEST * most))
    strata: list[IntArray] = [np.arange(n)]
    cuts = [_find_cut(right, least)]
    while len(strata) < most:
        best = int(np.argmax(np.round([gain for gain, _ in cuts], DIGITS)))
        gain, is_low = cuts[best]
        if gain <= _NOTHING:
            break
        items = strata[best]
        parts: list[IntArray] = [items[is_low], items[~is_low]]
        strata[best : best + 1] = parts
        cuts[best : best + 1] = [_find_cut(right[part], least) for part in parts]
    number = np.zeros(n, np.int64)
    for place, items in enumerate(strata):
        number[items] = place
    return number


def _find_cut(values: FloatArray, least: int) -> tuple[float, BoolArray]:
    """Find the column and the cut point in it that most reduce the sum of squares over all columns.

    Returns the reduction and a mask, shape (n,), of the items below the cut. `values` has shape (n, M); each
    side of the cut has at least `least` items.
    """
    step = max(1, len(values) // _LOOKED_AT)
    seen, least = values[::step], max(1, least // step)
    n, best, below = len(seen), 0.0, np.zeros(len(values), np.bool_)
    if n < 2 * least:
        return best, below
    number, total = np.arange(1, n)[:, None], seen.sum(axis=0)
    for column, whole in zip(seen.T, values.T, strict=True):
        order = np.argsort(column, kind="stable")
        low, edges = np.cumsum(seen[order], axis=0)[:-1], column[order]
        gain = (low**2 / number + (total - low) ** 2 / (n - number) - total**2 / n).sum(axis=1)
        gain[edges[:-1] == edges[1:]] = 0.0
        gain[: least - 1] = gain[n - least :] = 0.0
        cut = int(np.round(gain, DIGITS).argmax())
        if gain[cut] * step > best + _NOTHING:
            best, below = float(gain[cut]) * step, whole <= edges[cut]
    return best, below


def draw_in_proportion(
    stratum: IntArray, number: int, rng: np.random.Generator, *, within: IntArray | None = None
) -> IntArray:
    """Draw `number` of N items without replacement, each with probability `number` / N; return positions.

    This is a systematic draw from the items ordered by stratum, then by `within`, with ties shuffled. Every
    stratum, and every range of neighbouring strata, gets a number of items in proportion to its size, up to a
    difference of one. Ordering by `within` makes estimates more precise than the variances within strata
    suggest.

    Parameters
    ----------
    stratum, within
        Shape (N,): stratum number of the item, and order within the stratum (random if None).
    number
        Number of items to draw.
    rng
        Random generator.

    Returns
    -------
    array
        Shape (number,): positions in ascending order.

    Examples
    --------
    >>> stratum = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> stratum[draw_in_proportion(stratum, 4, np.random.default_rng(1))].tolist()
    [0, 0, 1, 1]
    """
    n = len(stratum)
    order = np.lexsort((rng.random(n), np.zeros(n) if within is None else within, stratum))
    ticks = np.floor((np.arange(number) + rng.random()) * (n / number)).astype(np.int64)
    return np.sort(order[np.minimum(ticks, n - 1)])


EVEN = 0.25
"""Share of a draw that is uniform over all items."""


def chances_by_deviation(deviation: FloatArray, number: int, *, most: float = 1.0) -> FloatArray:
    """Compute the probability with which each of N remaining items is drawn, shape (N,), with sum `number`.

    Parameters
    ----------
    deviation
        Shape (N,), ≥ 0: standard deviation of the unknown part of each item.
    number
        Number of items to draw, at most N.
    most
        Upper limit of the probabilities, at least number/N. If it is the result of
        `oversight.harness.columns.share_of_draw`, no item gets a weight below 1.

    Examples
    --------
    >>> chances_by_deviation(np.array([0.1, 0.2, 0.1]), 2).round(2).tolist()
    [0.54, 0.92, 0.54]
    """
    n, even = len(deviation), number / len(deviation)
    most = min(1.0, max(most, even))
    if number >= n or not deviation.any():
        return np.full(n, even)
    least = EVEN * even
    chance: FloatArray = np.full(n, most)
    free: BoolArray = np.ones(n, dtype=np.bool_)
    while free.any():
        total = float(deviation[free].sum())
        left = number - most * np.count_nonzero(~free) - least * np.count_nonzero(free)
        share = deviation[free] / total if total > 0 else np.full(np.count_nonzero(free), 1 / free.sum())
        chance[free] = least + left * share
        above = free & (chance > most)
        if not above.any():
            break
        chance[above], free = most, free & ~above
    return chance


def draw_with_chances(chance: FloatArray, order: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw items without replacement with unequal probabilities; return their positions, ascending.

    This is a systematic draw (Madow 1949, Ann. Math. Stat. 20) from the items sorted by `order`, with ties
    shuffled. The number of drawn items in any range of this order differs from its expectation by at most
    one.

    Parameters
    ----------
    chance
        Shape (N,): probability with which each item is drawn; the sum is an integer, the number of drawn
        items.
    order
        Shape (N,): sort key.
    rng
        Random generator.

    Examples
    --------
    >>> chance, order = np.array([1.0, 0.5, 0.5]), np.arange(3.0)
    >>> len(draw_with_chances(chance, order, np.random.default_rng(1)))
    2
    """
    line = np.lexsort((rng.random(len(chance)), np.round(order, DIGITS)))
    ends = np.cumsum(chance[line])
    number = round(float(ends[-1]))
    ticks = (np.arange(number) + rng.random()) * (float(ends[-1]) / number)
    return np.sort(line[np.minimum(np.searchsorted(ends, ticks, side="right"), len(chance) - 1)])


_SECOND_FLAT = 0.1
"""Weight of the uniform distribution in the draw of a second option, and in the working posterior."""
_SECOND_EVEN = 0.5
"""Part of the mean deviation that is added to every item's deviation before second questions are drawn.

It limits the weights of items, and makes the answers useful for models that are added later.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondRates:
    """Design of second questions about N items whose first answer was no.

    Attributes
    ----------
    chance
        Shape (N,): probability ρ with which the item is drawn, in (0, 1]; sums to the number of questions.
    shares
        Shape (N, K): probability q with which each option is asked about if the item is drawn; 0 for options
        known to be false; rows sum to 1.
    narrower
        Expected standard error with second answers, divided by the standard error without, in (0, 1]. It is
        the square root of the models' mean variance ratio, and assumes that the votes' posterior is right.
    """

    chance: FloatArray
    shares: FloatArray
    narrower: float


def second_rates(
    predicted: IntArray,
    posterior: FloatArray,
    left: BoolArray,
    number: int,
    *,
    first: tuple[FloatArray, FloatArray],
) -> SecondRates:
    """Compute the probabilities of second questions.

    Item probabilities ρ are proportional to the standard deviation of a second answer's contribution
    (Neyman). Option probabilities are q ∝ √(n_k p_k (1 − p_k)), where n_k models predict option k. Both kinds
    of probabilities are mixed with a uniform distribution.

    Parameters
    ----------
    predicted
        Shape (N, M): predicted options, −1 for unreadable. M may be 0; then all probabilities are uniform.
    posterior
        Shape (N, K): probability of every option by the models' votes.
    left
        Shape (N, K): whether the option is not known to be false.
    number
        Number of questions, at most N.
    first
        Σ V₀ and Σ v over all items with a first answer, each of shape (M,), as defined in
        `oversight.harness.estimate.second`.

    Raises
    ------
    EstimateError
        If there are fewer items than questions, or an item has fewer than two options left.

    Examples
    --------
    >>> posterior = np.array([[0.0, 0.8, 0.2], [0.0, 0.5, 0.5]])
    >>> none = np.zeros(1)
    >>> found = second_rates(np.array([[1], [1]]), posterior, posterior > 0, 1, first=(none, none))
    >>> found.chance.round(2).tolist()
    [0.47, 0.53]
    """
    n, models = predicted.shape
    if not 1 <= number <= n or (left.sum(axis=1) < 2).any():
        raise EstimateError(
            f"{number} second questions need at least {number} items, and {n} were given; every given item "
            "must have at least two options that can still be asked about"
        )
    flat = left / left.sum(axis=1, keepdims=True)
    p = posterior * left
    p = (1 - _SECOND_FLAT) * p / np.maximum(p.sum(axis=1, keepdims=True), 1e-300) + _SECOND_FLAT * flat
    p /= p.sum(axis=1, keepdims=True)
    targets = [accuracy_target(column, left.shape[1]) * left for column in predicted.T]
    counts = np.sum(targets, axis=0) if models else np.zeros_like(flat)
    weight = np.sqrt(counts * p * (1 - p))
    total = weight.sum(axis=1, keepdims=True)
    shares = (1 - _SECOND_FLAT) * np.divide(
        weight, total, out=flat.copy(), where=total > 0
    ) + _SECOND_FLAT * flat
    variances = np.array([item_variance(c, np.where(left, shares, 1.0), p) for c in targets])
    size = np.sqrt(variances.sum(axis=0)) if models else np.ones(n)
    size = size + _SECOND_EVEN * max(float(size.mean()), 1e-12)
    chance = neyman_rates(size, number, floor=min(1e-6, number / n))
    narrower = 1.0
    if models:
        each = zip(variances, targets, *first, strict=True)
        told = [_expected(v, p, c, chance, plain, known) for v, c, plain, known in each]
        narrower = float(np.sqrt(np.mean(told)))
    return SecondRates(chance=chance * (number / chance.sum()), shares=shares, narrower=narrower)


def _expected(
    variance: FloatArray, p: FloatArray, c: FloatArray, chance: FloatArray, plain: float, known: float
) -> float:
    """Return one model's expected ratio of the variance with second answers to the variance without."""
    top = (c * p).sum(axis=1)
    left = float((top * (1 - top)).sum())
    noise = max(float((variance / chance).sum()), left)
    mixed = max(0.0, plain - known)
    share = mixed / (mixed + noise - left) if mixed > 0 else 0.0
    return min(1.0, 1 - share * mixed / max(plain, 1e-12))
