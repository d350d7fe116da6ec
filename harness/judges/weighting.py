"""Combine several judges and votes into one distribution over each item's options, with learned weights.

A conditional logit P(y = k) ∝ exp(offset_k + Σ_f θ_f x_fk) over the options of an item (McFadden 1974, in:
Frontiers in Econometrics) combines the judges' probabilities and the model's own prediction into one working
distribution per item. Its parameters are fitted to answers about items of the other folds (cross-fitting), so
bad parameters can widen intervals but not make them invalid. A judge is used only if it sufficiently improves
the likelihood of the other folds' answers, so a bad judge widens intervals very little. If no judge is used,
the distribution depends only on the model's prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate import (
    OptionLogit,
    RoutedSample,
    WorkingMaker,
    cross_fit,
    heard_working,
    score_ranks,
)
from oversight.harness.judges.probabilities import JudgeProbabilities

FLAT = 0.02
"""Weight of the uniform distribution in a working distribution."""
_LEAST = 20
"""Smallest number of answers for using judges."""
_SEVERAL = 6
"""Largest number of judges that are used together: those with the largest gains in log-likelihood."""
_OF_JUDGE = 2
"""Number of features per judge."""
_GAIN = 3.0
"""Gain in log-likelihood above which a judge is used; one in twenty uninformative judges reaches it."""
_VOTE = 2.0
_OWN, _SLOPE, _SCORE = (0.0, 2.0), (0.5, 1.0), (0.0, 1.0)
"""Mean and standard deviation of the priors of parameters: own prediction, log-probability, rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionUtilities(OptionLogit):
    """Features of all options of N items, for the conditional logit.

    Attributes
    ----------
    x
        Shape (N, K, F): features.
    offset
        Shape (N, K): constant term of each option; −∞ in columns k ≥ the item's number of options.
    """

    x: FloatArray
    offset: FloatArray

    def take(self, items: IntArray, features: Sequence[int]) -> OptionUtilities:
        """Return the options' utilities for the given items, computed from only the given features."""
        chosen = list(features)
        return OptionUtilities(
            x=self.x[items][:, :, chosen],
            offset=self.offset[items],
            center=self.center[chosen],
            spread=self.spread[chosen],
        )

    def probabilities(self, parameters: FloatArray) -> FloatArray:
        """Return the probability of every option, shape (N, K)."""
        total = self.offset + self.x @ parameters
        weight = np.exp(total - total.max(axis=1, keepdims=True))
        found: FloatArray = weight / weight.sum(axis=1, keepdims=True)
        return found

    def slopes(self, every: FloatArray, asked: IntArray) -> FloatArray:
        """Return the derivative of log p of each asked option by each parameter, shape (N, F)."""
        return np.asarray(self.x[np.arange(len(asked)), asked] - np.einsum("nk,nkf->nf", every, self.x))


def weigh_judges(judges: Sequence[JudgeProbabilities]) -> WorkingMaker:
    """Return a function that combines the judges' probabilities into one distribution per item.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judge
    >>> from oversight.harness.estimate import RoutedSample
    >>> p, judge, asked = example_judge()
    >>> data = RoutedSample(asked.item, asked.option, asked.answer, np.tile([1.0, 0.0], (200, 1)))
    >>> weigh_judges([judge])(asked.item, asked.option, data).shape
    (200, 2)
    """
    return heard_working(judges, judges_working)


def judges_working(
    predicted: IntArray, data: RoutedSample, judges: Sequence[JudgeProbabilities]
) -> FloatArray:
    """Compute cross-fitted probabilities of every item's options, shape (N, K).

    Parameters
    ----------
    predicted
        Shape (N,): the model's prediction; −1 if unreadable.
    data
        Answers about the N items. Items of one cluster share a fold.
    judges
        The judges' probabilities for the same items.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judge
    >>> from oversight.harness.estimate import RoutedSample
    >>> p, judge, asked = example_judge()
    >>> data = RoutedSample(asked.item, asked.option, asked.answer, np.tile([1.0, 0.0], (200, 1)))
    >>> judges_working(asked.option, data, [judge])[:2].round(2).tolist()
    [[0.92, 0.08], [0.68, 0.32]]
    """
    every = describe_judges(predicted, judges, data.n_options, data.propensities.shape[1])

    def learn(rows: IntArray) -> Callable[[IntArray], FloatArray]:
        chosen, parameters = _learn(every, data.item[rows], data.asked[rows], data.answer[rows])
        return lambda here: every.take(here, chosen).probabilities(parameters)

    return cross_fit(data, learn, FLAT)


def describe_judges(
    predicted: IntArray, judges: Sequence[JudgeProbabilities], n_options: IntArray, width: int
) -> OptionUtilities:
    """Compute the features of all options: the model's own prediction, then two features per judge.

    A judge's features are the logarithm of its probability and, only for the option that the model predicts,
    the normal score of this probability's rank among all items. The rank does not depend on the judge's
    calibration. A judge that only votes has one feature, which marks the option that it names.
    """
    n, rows = len(n_options), np.arange(len(n_options))
    x = np.zeros((n, width, 1 + _OF_JUDGE * len(judges)))
    own = np.flatnonzero(predicted >= 0)
    x[own, predicted[own], 0] = 1.0
    valid = np.arange(width) < n_options[:, None]
    offset = np.where(valid, x[:, :, 0] * np.log(np.maximum(n_options - 1, 1))[:, None], -np.inf)
    for j, judge in enumerate(judges):
        column = 1 + _OF_JUDGE * j
        if judge.stated:
            said = np.log(np.where(valid, _widen(judge.shares, width), 1.0))
            x[:, :, column] = np.where(judge.speaks[:, None], said, 0.0)
            told = own[judge.speaks[own]]
            x[told, predicted[told], column + 1] = score_ranks(said[told, predicted[told]])
        else:
            named = judge.named
            x[rows, np.maximum(named, 0), column] = np.where(named >= 0, _VOTE, 0.0)
    priors = np.array([_OWN, *[_SLOPE, _SCORE] * len(judges)])
    return OptionUtilities(x=x, offset=offset, center=priors[:, 0], spread=priors[:, 1])


def _widen(shares: FloatArray, width: int) -> FloatArray:
    found = np.full((len(shares), width), 1.0)
    found[:, : shares.shape[1]] = np.maximum(shares[:, :width], 1e-9)
    return found


def _learn(
    every: OptionUtilities, item: IntArray, asked: IntArray, answer: FloatArray
) -> tuple[list[int], FloatArray]:
    """Select the feature of the model's own prediction, and the features of judges that improve the fit.

    Returns the selected features and their parameters.
    """
    own, judges = [0], range((every.x.shape[2] - 1) // _OF_JUDGE)
    parameters, base = every.take(item, own).fit(asked, answer)
    if len(item) < _LEAST:
        return own, parameters
    gains = {}
    for j in judges:
        gain = every.take(item, [0, *_features_of(j)]).fit(asked, answer)[1] - base
        if gain > _GAIN:
            gains[j] = gain
    best = sorted(gains, key=lambda j: -gains[j])[:_SEVERAL]
    if not best:
        return own, parameters
    chosen = [0, *(feature for j in best for feature in _features_of(j))]
    return chosen, every.take(item, chosen).fit(asked, answer)[0]


def _features_of(judge: int) -> range:
    return range(1 + _OF_JUDGE * judge, 1 + _OF_JUDGE * (judge + 1))
