"""Which options of which items were asked about, with what probability, and the answers.

The input of the estimators for routed questions, checked once: items are rows of a pool, answers
point into it, and every option of every item has the probability with which it was asked about.
Targets, the quantities to estimate, are matrices of the same shape.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.types import Counts


@dataclass(frozen=True, slots=True)
class RoutedSample:
    """What was asked of a pool of N items, and what came back: n answers.

    Parameters
    ----------
    item, asked, answer
        Shape (n,): row of the item in the pool, option asked about (from 0), 1 for yes and 0 for
        no. Abstentions are missing data and do not belong here: leave out the item, and count it.
    propensities
        Shape (N, K), in [0, 1]: π_k, the probability that option k of the item is asked about, as
        known before the answers. A row sums to the expected number of questions on the item: 1 for
        one question, m for m drawn without replacement, ρ where the item itself was sampled with
        probability ρ, 0 where nothing was asked on purpose.
    n_options
        Shape (N,) or a number, in 2..K; columns beyond an item's number are ignored. Default K.
    posterior
        Shape (N, K), rows sum to 1 over the item's options; default flat. It must not have been
        fitted with the same item's answers.
    sampled
        True if items were themselves drawn (row sums are then not numbers of questions). If False,
        every row must have exactly as many answers as its propensities sum up to.
    error_free
        False if experts may err, so that two yes on one item are possible.

    Raises
    ------
    EstimateError
        Naming the first row and value that break a bound, including two answers to one question
        and two yes on one item.
    """

    item: IntArray
    asked: IntArray
    answer: FloatArray
    propensities: FloatArray
    n_options: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    posterior: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    sampled: bool = False
    error_free: bool = True

    def __post_init__(self) -> None:
        pi = np.atleast_2d(np.asarray(self.propensities, dtype=np.float64))
        n, width = pi.shape
        options = np.asarray(self.n_options, dtype=np.int64)
        options = np.full(n, width) if options.size == 0 else np.broadcast_to(options, (n,))
        posterior = np.asarray(self.posterior, dtype=np.float64)
        if posterior.size == 0:
            posterior = flat_posterior(options, width)
        values = {
            "item": np.asarray(self.item, dtype=np.int64).ravel(),
            "asked": np.asarray(self.asked, dtype=np.int64).ravel(),
            "answer": np.asarray(self.answer, dtype=np.float64).ravel(),
            "propensities": pi,
            "n_options": options,
            "posterior": posterior,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        _check_pool(self)
        _check_answers(self)

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Shape (N, K): which columns are options of the item."""
        return np.arange(self.propensities.shape[1]) < self.n_options[:, None]

    @property
    def counts(self) -> Counts:
        """Yes and no among the answers."""
        yes = int(self.answer.sum())
        return Counts(ordinary=yes, complementary=len(self.answer) - yes)

    @property
    def by_item(self) -> tuple[IntArray, FloatArray]:
        """Option asked about, −1 for none, and answer of every item, both (N,); of several the last."""
        asked, yes = np.full(len(self.propensities), -1), np.zeros(len(self.propensities))
        asked[self.item], yes[self.item] = self.asked, self.answer
        return asked, yes

    def take(self, items: IntArray) -> RoutedSample:
        """Some of the items, in this order, with their answers."""
        place = np.full(len(self.propensities), -1)
        place[items] = np.arange(len(items))
        answers = np.flatnonzero(place[self.item] >= 0)
        return RoutedSample(
            item=place[self.item[answers]],
            asked=self.asked[answers],
            answer=self.answer[answers],
            propensities=self.propensities[items],
            n_options=self.n_options[items],
            posterior=self.posterior[items],
            sampled=self.sampled,
            error_free=self.error_free,
        )


def flat_posterior(n_options: ArrayLike, width: int) -> FloatArray:
    """p_k = 1/K over each item's own options: shape (N, width), zero beyond them."""
    options = np.asarray(n_options, dtype=np.int64)
    return np.where(np.arange(width) < options[:, None], 1.0 / options[:, None], 0.0)


def accuracy_target(predicted: ArrayLike, width: int) -> FloatArray:
    """c_k = 1{k = ŷ}, shape (N, width).

    ``predicted`` has shape (N,); −1 is an unreadable prediction, whose row is all zero: it is wrong
    whatever the truth.

    Raises
    ------
    EstimateError
        If a prediction lies outside −1..width−1.
    """
    predicted = np.asarray(predicted, dtype=np.int64)
    bad = np.flatnonzero((predicted < -1) | (predicted >= width))
    if bad.size:
        raise EstimateError(
            f"predicted[{bad[0]}] must lie in -1..{width - 1} (-1: unreadable), is {predicted[bad[0]]}"
        )
    target: FloatArray = (np.arange(width) == predicted[:, None]).astype(np.float64)
    return target


def settled_sample(option: IntArray, right: IntArray, n_options: IntArray) -> RoutedSample:
    """Items known right or wrong, shape (N,), as if each had been asked about its prediction for certain.

    Of an unreadable prediction, −1, there is no answer; its item's K does not matter.
    """
    asked = np.flatnonzero(option >= 0)
    width = int(max(n_options.max(initial=2), option.max(initial=-1) + 1))
    return RoutedSample(
        item=asked,
        asked=option[asked],
        answer=right[asked].astype(np.float64),
        propensities=accuracy_target(option, width),
        n_options=np.where(option < 0, width, n_options),
    )


def difference_target(first: ArrayLike, second: ArrayLike, width: int) -> FloatArray:
    """c_k = 1{k = ŷ_a} − 1{k = ŷ_b}: zero throughout where the two agree, so nothing need be asked."""
    return accuracy_target(first, width) - accuracy_target(second, width)


def check_predicted(predicted: IntArray, data: RoutedSample) -> None:
    """Require shape (N,) and every prediction in −1..K−1 of its own item."""
    if predicted.shape != data.n_options.shape:
        raise EstimateError(f"predicted must have shape {data.n_options.shape}, has {predicted.shape}")
    for row in np.flatnonzero((predicted < -1) | (predicted >= data.n_options)):
        raise EstimateError(
            f"predicted[{row}] must lie in -1..{data.n_options[row] - 1}, is {predicted[row]}"
        )


def _check_pool(data: RoutedSample) -> None:
    pi, p, options = data.propensities, data.posterior, data.n_options
    if pi.shape[1] < 2 or pi.shape[0] == 0:
        raise EstimateError(f"propensities must have shape (N >= 1, K >= 2), has {pi.shape}")
    if p.shape != pi.shape:
        raise EstimateError(f"posterior must have shape {pi.shape}, has {p.shape}")
    for row in np.flatnonzero((options < 2) | (options > pi.shape[1])):
        raise EstimateError(f"n_options[{row}] must lie in 2..{pi.shape[1]}, is {options[row]}")
    for row, k in np.argwhere(~((pi >= 0) & (pi <= 1 + 1e-9)) | (~data.valid & (pi != 0))):
        raise EstimateError(f"propensities[{row}, {k}] must lie in [0, 1] (0 beyond K), is {pi[row, k]}")
    for row, k in np.argwhere(~((p >= 0) & (p <= 1 + 1e-9)) | (~data.valid & (p != 0))):
        raise EstimateError(f"posterior[{row}, {k}] must lie in [0, 1] (0 beyond K), is {p[row, k]}")
    for row in np.flatnonzero(np.abs(p.sum(axis=1) - 1) > 1e-6):
        raise EstimateError(f"posterior[{row}] must sum to 1, sums to {p[row].sum()}")


def _check_answers(data: RoutedSample) -> None:
    item, asked, answer = data.item, data.asked, data.answer
    n, width = data.propensities.shape
    if not item.shape == asked.shape == answer.shape:
        raise EstimateError(f"item, asked, answer differ in length: {len(item)}, {len(asked)}, {len(answer)}")
    for j in np.flatnonzero((item < 0) | (item >= n)):
        raise EstimateError(f"item[{j}] must lie in 0..{n - 1}, is {item[j]}")
    for j in np.flatnonzero((asked < 0) | (asked >= data.n_options[item])):
        raise EstimateError(f"asked[{j}] must lie in 0..{data.n_options[item[j]] - 1}, is {asked[j]}")
    for j in np.flatnonzero((answer != 0) & (answer != 1)):
        raise EstimateError(f"answer[{j}] must be 0 or 1, is {answer[j]}")
    for j in np.flatnonzero(data.propensities[item, asked] <= 0):
        raise EstimateError(f"answer {j}: item {item[j]} was asked about option {asked[j]} of propensity 0")
    times = np.bincount(item * width + asked, minlength=n * width)
    for cell in np.flatnonzero(times > 1):
        raise EstimateError(f"item {cell // width} has {times[cell]} answers about option {cell % width}")
    for row in np.flatnonzero((np.bincount(item, answer, minlength=n) > 1) & data.error_free):
        raise EstimateError(f"item {row} has two yes-answers; exactly one option is true")
    expected, got = data.propensities.sum(axis=1), np.bincount(item, minlength=n)
    for row in np.flatnonzero((np.abs(expected - got) > 1e-6) & (not data.sampled)):
        raise EstimateError(
            f"propensities[{row}] sum to {expected[row]:.6g}, but the item has {got[row]} answer(s); "
            "leave out items whose expert abstained, or say sampled=True if items were drawn"
        )
