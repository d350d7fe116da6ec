"""Decide which items to ask about: strata by agreement, unequal probabilities, second questions.

Strata of items by how models agree on them: known before an expert is asked, and right or not, harmless.

Models that name the same option are more often right. Without any label, each model's accuracy is guessed
by how often the others side with it, and votes weigh by it in turn; this settles within some rounds (Dawid &
Skene 1979, Appl. Stat. 28, tempered and with one rate a model). An item's row of guesses, one a model under
test, is split again and again where that takes most of its variance (a regression tree: Breiman et al. 1984).

An item is drawn with the same probability whatever its stratum, so that a bad guess costs exactness only.

Items drawn with unequal, recorded chances: in proportion to how unsure one is of them beforehand.

Of all ways to draw n items, chances ∝ the standard deviation of what is not known of each make the sum of
what was found, each item weighed by one over its chance, most exact (Neyman 1934, J. R. Stat. Soc. 97). A
share `EVEN` of the draw is spread evenly, whatever is thought: no item weighs more than 1/`EVEN` times what
it would in an even draw, so that a wrong guess costs width and nothing else.

Of several draws one after the other, `oversight.harness.columns.weigh_draws` says what each item stands for.
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
"""Items drawn of a stratum, and strata: finer ones tell hardly more, and how they vary gets uncertain."""
_FINEST = 3
"""The smallest stratum is to that of average size as 1 to this."""
_LOOKED_AT = 20_000
"""Items of a stratum that are looked at for a cut, evenly spaced."""
_NOTHING = 1e-9
DIGITS = 9
"""Digits of guesses that count: processors differ in the last ones, which may not show in what is drawn."""


def guess_right(predicted: AnyIntArray, n_options: IntArray) -> FloatArray:
    """Estimate the probability that each model is right on each item from all models' votes.

    Parameters
    ----------
    predicted
        Shape (N, M): negative if a model names no option.
    n_options
        Shape (N,): K of every item.

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
    """Number of every item's stratum, from 0; neighbouring strata are similar.

    Parameters
    ----------
    right
        Shape (N, M): the estimated probabilities of the models under test.
    drawn
        Number of items to draw. There are fewer strata if items do not differ.
    each
        Mean number of drawn items per stratum; strata with one item only serve as an order.

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
    """Largest reduction of the sum of squares by one cut, and the items below the cut."""
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
    """Positions of items drawn without replacement, each with probability `number` / N; in order.

    A systematic draw from the items in the order of their strata, and of `within` inside each, with ties
    shuffled. Every stratum and every range of neighbouring strata gets its share of items, give or take
    one. Differences in `within` make the draw more precise than variances within strata suggest.

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
"""Share of a draw that goes to all items alike."""


def chances_by_deviation(deviation: FloatArray, number: int, *, most: float = 1.0) -> FloatArray:
    """Probability that each remaining item is drawn, shape (N,); they sum to `number`.

    Parameters
    ----------
    deviation
        Shape (N,), ≥ 0: standard deviation of the unknown part of each item.
    number
        Number of items to draw, at most N.
    most
        Largest probability, at least number/N; `oversight.harness.columns.share_of_draw`, so that no item
        has a weight below 1.

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
    """Positions of the drawn items, in order: item i has probability `chance`; these sum to an integer.

    A systematic draw (Madow 1949, Ann. Math. Stat. 20) from the items in the given order, ties shuffled:
    groups of items that are neighbours in it get their share, give or take one.

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
"""Share of the draw of an option that is flat over all that are left, and share of the working posterior."""
_SECOND_EVEN = 0.5
"""Added to every item's size, in means of all: no weight is far above others, and later models are scored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondRates:
    """Probabilities with which N items answered no are drawn and their options asked about.

    Attributes
    ----------
    chance
        Shape (N,): ρ, within (0, 1]; sums to the number of questions.
    shares
        Shape (N, K): q of each option that is left, 0 of all others; rows sum to 1.
    narrower
        Factor by which the models' standard errors are expected to fall if votes are right, in (0, 1].
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
    """Probabilities ρ ∝ the spread of a second answer's information (Neyman), and q ∝ √(n_k p_k (1 − p_k)).

    Parameters
    ----------
    predicted
        Shape (N, M), −1 for unreadable; M may be 0, and every option then tells as much.
    posterior
        Shape (N, K): probabilities of all options by the models' votes.
    left
        Shape (N, K): options that are not known to be false.
    number
        Number of questions, at most N.
    first
        Each model's variances over all items with a first answer, shape (M,): Σ V₀ and Σ v
        (`two_phase_score`).

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
            f"{number} second questions need {number} items, and each of the {n} items given must have at "
            "least two options left"
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
    """Variance with second answers divided by that without, for one model (`two_phase_score`)."""
    top = (c * p).sum(axis=1)
    left = float((top * (1 - top)).sum())
    noise = max(float((variance / chance).sum()), left)
    mixed = max(0.0, plain - known)
    share = mixed / (mixed + noise - left) if mixed > 0 else 0.0
    return min(1.0, 1 - share * mixed / max(plain, 1e-12))
