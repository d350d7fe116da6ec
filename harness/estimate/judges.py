"""Working distributions of every item's true option, from judges' probabilities and the model's prediction.

A judge is a model that was asked about the same items. Its probabilities become features of the options
(`describe_options`): which option it names, how confident it is, and which judges agree. Confidence enters as
the rank among the judge's own answers and as log odds, so that a meaningless scale (all at .99, or a share of
five samples) does no harm. The weights of rank and log odds are learned from experts' answers.

**Conditional logit.** P(y = k) ∝ exp(offset_k + Σ_f θ_f x_fk) over the options of an item (McFadden 1974, in:
Frontiers in Econometrics). An answer about option k is yes with probability p_k, whatever rule chose k from
earlier information, so "yes" and "no" answers enter one likelihood. The parameters have a normal prior, so a
few answers change them little. They are learned from answers about the items of the other folds
(cross-fitting, as in `oversight.harness.estimate.routed_means`). A logit that fits badly widens the interval
but does not make it invalid.

**Guesses before any answer** (`guess_by_judges`). Draws use the probability that a model is right on an item.
The value of the judges is learned from the present answers about other items, or comes from the prior if
there are too few answers. A bad guess does no harm, because the probabilities of the draw are recorded and
estimates are weighted by them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from oversight.harness.arrays import AnyIntArray, FloatArray, IntArray
from oversight.harness.columns import PredictionColumns
from oversight.harness.estimate.routed_sample import RoutedSample, flat_posterior

_STEPS, _HALVINGS, _SMALL = 25, 12, 1e-6
_PORTION = 10_000
"""Number of items processed at a time, to limit memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionFeatures:
    """F features of N items; each feature refers to one option of the item.

    Attributes
    ----------
    option
        Shape (N, F): the option to which the feature refers, −1 for none.
    value
        Shape (N, F): value of the feature for this option; 0 if it refers to no option.
    n_options
        Shape (N,): number of options of every item, K.
    center, spread
        Shape (F,): mean and standard deviation of the normal prior of every parameter.
    """

    option: IntArray
    value: FloatArray
    n_options: IntArray
    center: FloatArray
    spread: FloatArray

    def take(self, rows: IntArray) -> OptionFeatures:
        """Select items by position, in the given order; an item may occur several times."""
        return OptionFeatures(
            option=self.option[rows],
            value=self.value[rows],
            n_options=self.n_options[rows],
            center=self.center,
            spread=self.spread,
        )


def option_probabilities(features: OptionFeatures, parameters: FloatArray, width: int) -> FloatArray:
    """Compute the probability of every option, shape (N, width), 0 beyond the item's options.

    An option to which a feature refers has the offset log(K − 1). So if all parameters are 0 and features
    refer to only one option, this option is as likely as all other options together.
    """
    found = np.empty((len(features.n_options), width))
    for start in range(0, len(found), _PORTION):
        part = features.take(np.arange(start, min(start + _PORTION, len(found))))
        found[start : start + _PORTION] = _softmax(part, parameters, width)
    return found


def fit_parameters(
    features: OptionFeatures, item: IntArray, asked: IntArray, answer: FloatArray, width: int
) -> FloatArray:
    """Fit the maximum a posteriori parameters, shape (F,), by Fisher scoring.

    With few answers, the prior means are returned.

    Parameters
    ----------
    features
        Features of all N items.
    item, asked, answer
        Shape (n,): position of the item, option asked about, and answer (1 yes, 0 no).
    width
        Largest number of options.
    """
    if item.size < _LEAST:
        return features.center
    features = features.take(item)
    rows, hit = np.arange(len(asked)), (features.option == asked[:, None]).astype(np.float64)

    def look(parameters: FloatArray) -> tuple[FloatArray, Callable[[], FloatArray]]:
        every = _softmax(features, parameters, width)
        return every[rows, asked], lambda: (hit - every[rows[:, None], features.option]) * features.value

    return fit_answers(look, answer, features.center, features.spread)[0]


def fit_answers(
    look: Callable[[FloatArray], tuple[FloatArray, Callable[[], FloatArray]]],
    answer: FloatArray,
    center: FloatArray,
    spread: FloatArray,
) -> tuple[FloatArray, float]:
    """Fit a conditional logit by Fisher scoring.

    Returns the maximum a posteriori parameters, shape (F,), and their log-likelihood.

    Parameters
    ----------
    look
        Function of the parameters. It returns P(yes) of every answer, shape (n,), and a function that returns
        the derivatives of the logarithm of P(yes), shape (n, F).
    answer
        Shape (n,): 1 for yes, 0 for no.
    center, spread
        Shape (F,): mean and standard deviation of the normal prior of each parameter.

    Examples
    --------
    >>> def look(parameters):
    ...     p = np.repeat(1 / (1 + np.exp(-parameters)), 4)
    ...     return p, lambda: (1 - p)[:, None]
    >>> answer = np.array([1.0, 1.0, 1.0, 0.0])
    >>> float(fit_answers(look, answer, np.zeros(1), np.ones(1))[0].round(2)[0])
    0.51
    """
    precision = spread**-2.0

    def weigh(parameters: FloatArray) -> tuple[float, float, FloatArray, Callable[[], FloatArray]]:
        p, slope = look(parameters)
        p = np.clip(p, _SMALL, 1 - _SMALL)
        likelihood = float(np.log(np.where(answer > 0, p, 1 - p)).sum())
        return likelihood - float(precision @ (parameters - center) ** 2) / 2, likelihood, p, slope

    parameters = center.copy()
    best, likelihood, p, slope = weigh(parameters)
    for _ in range(_STEPS):
        slopes = slope()
        gradient = slopes.T @ ((answer - p) / (1 - p)) - precision * (parameters - center)
        information = (slopes * (p / (1 - p))[:, None]).T @ slopes + np.diag(precision)
        step = np.linalg.solve(information, gradient)
        for _ in range(_HALVINGS):
            found = weigh(parameters + step)
            if found[0] >= best:
                break
            step = step / 2
        else:
            break
        parameters, gain = parameters + step, found[0] - best
        best, likelihood, p, slope = found
        if gain < _SMALL:
            break
    return parameters, likelihood


def _softmax(features: OptionFeatures, parameters: FloatArray, width: int) -> FloatArray:
    """Compute the probability of every option, shape (N, width)."""
    rows, K = np.arange(len(features.n_options)), features.n_options
    # index −1 is the extra last column, which collects features that refer to no option
    named, utility = np.zeros((2, len(rows), width + 1))
    for option, value, parameter in zip(features.option.T, features.value.T, parameters, strict=True):
        named[rows, option] = 1.0
        utility[rows, option] += value * parameter
    total = utility[:, :width] + named[:, :width] * np.log(K - 1)[:, None]
    total[np.arange(width) >= K[:, None]] = -np.inf
    weight = np.exp(total - total.max(axis=1, keepdims=True))
    probability: FloatArray = weight / weight.sum(axis=1, keepdims=True)
    return probability


_NAMED = (1.0, 2.0)
"""Prior mean and standard deviation of a judge's parameter; 1 means that the judge is right with p = .73."""
_SURE = (0.5, 1.0)
_ODDS = (0.5, 1.0)
_OWN = (0.0, 2.0)
_AGREED = (0.0, 1.0)
_EDGE = 0.01
"""Judges' probabilities are clipped to [.01, .99], because a judge may be certain and wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOpinion:
    """One judge's opinion on N items.

    Attributes
    ----------
    option
        Shape (N,): the option that the judge names, −1 for none.
    rank, odds
        Shape (N,): the judge's confidence as a normal score of its rank among all answers of the judge, and
        as log odds standardised to mean 0 and variance 1; 0 if the confidence is missing.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> JudgeOpinion.of(predicted).option[:5].tolist()
    [1, 0, 0, 0, 0]
    """

    option: IntArray
    rank: FloatArray
    odds: FloatArray

    @classmethod
    def of(cls, judge: PredictionColumns) -> JudgeOpinion:
        """Make the opinion from the judge's predictions, whose confidence may be missing."""
        option = np.maximum(judge.option, -1).astype(np.int64)
        rank, odds = np.zeros(len(option)), np.zeros(len(option))
        if judge.confidence is not None:
            said = (option >= 0) & ~np.isnan(judge.confidence)
            sure = judge.confidence[said]
            rank[said] = score_ranks(sure)
            p = np.clip(sure, _EDGE, 1 - _EDGE)
            odds[said] = _standardise(np.log(p / (1 - p)))
        return cls(option=option, rank=rank, odds=odds)

    def take(self, items: IntArray) -> JudgeOpinion:
        """Select items by position."""
        return JudgeOpinion(option=self.option[items], rank=self.rank[items], odds=self.odds[items])


def describe_options(
    predicted: IntArray, judges: Sequence[JudgeOpinion], n_options: IntArray
) -> OptionFeatures:
    """Compute features of options from the model's prediction, the judges' options, and their agreement.

    Parameters
    ----------
    predicted
        Shape (N,): the model's prediction, −1 for unreadable.
    judges
        Judges' opinions on these items; an option ≥ K counts as none.
    n_options
        Shape (N,): number of options of every item, K.
    """
    n = len(n_options)
    none, ones = np.full(n, -1), np.ones(n)
    columns = list[tuple[IntArray, FloatArray, tuple[float, float]]]()
    heard = np.zeros(n, dtype=np.bool_)
    for judge in judges:
        option = np.where(judge.option < n_options, judge.option, -1)
        heard |= option >= 0
        columns += [(option, ones, _NAMED), (option, judge.rank, _SURE), (option, judge.odds, _ODDS)]
        columns += [(np.where(option == predicted, option, -1), ones, _AGREED)]
    columns += [(predicted, ones, _OWN), (np.where(heard, none, predicted), ones, _AGREED)]
    options, values, priors = zip(*columns, strict=True)
    center, spread = np.array(priors).T
    option = np.stack(options, axis=1)
    return OptionFeatures(
        option=option,
        value=np.where(option >= 0, np.stack(values, axis=1), 0.0),
        n_options=n_options,
        center=center,
        spread=spread,
    )


def judge_probabilities(judges: Sequence[PredictionColumns], n_options: IntArray) -> FloatArray:
    """Compute judges' probability of every option before any answer; shape (N, K), rows sum to 1.

    The result is the mean of the judges' distributions. A judge's probability of its own option (½ if
    unknown) is clipped to [.01, .99], and the remaining probability is spread evenly over the other options.
    If no judge names an option, the distribution is uniform. The result only decides which questions are
    asked, so it cannot bias an estimate.

    Parameters
    ----------
    judges
        Predictions of at least one judge, on the same N items.
    n_options
        Shape (N,): number of options of every item; the largest is the number of columns.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> judge_probabilities([predicted], np.full(80, 4))[0].round(2).tolist()
    [0.17, 0.5, 0.17, 0.17]
    """
    most = int(n_options.max(initial=2))
    n, own = len(n_options), np.arange(most) < n_options[:, None]
    flat = own / n_options[:, None]
    total, heard = np.zeros((n, most)), np.zeros(n)
    for judge in judges:
        rows = np.flatnonzero((judge.option >= 0) & (judge.option < n_options))
        sure = np.full(n, np.nan) if judge.confidence is None else judge.confidence
        given = np.clip(np.nan_to_num(sure[rows], nan=0.5), _EDGE, 1 - _EDGE)
        others = np.maximum(n_options[rows] - 1, 1)
        spread = own[rows] * ((1 - given) / others)[:, None]
        spread[np.arange(rows.size), judge.option[rows]] = given
        total[rows] += spread
        heard[rows] += 1
    return np.where(heard[:, None] > 0, total / np.maximum(heard, 1)[:, None], flat)


def score_ranks(values: FloatArray) -> FloatArray:
    """Compute normal scores of ranks; ties share their mean rank. Scores are 0 if all values are equal.

    Examples
    --------
    >>> score_ranks(np.array([0.2, 0.9, 0.2])).round(2).tolist()
    [-0.43, 0.97, -0.43]
    """
    kinds, place, number = np.unique(values, return_inverse=True, return_counts=True)
    if kinds.size < 2:
        return np.zeros(len(values))
    middle = np.cumsum(number) - number / 2
    scores: FloatArray = ndtri(middle / len(values))[place]
    return scores


def _standardise(values: FloatArray) -> FloatArray:
    spread = values.std() if values.size else 0.0
    return (values - values.mean()) / spread if spread > 1e-9 else np.zeros(len(values))


FLAT = 0.05
"""Weight of the uniform distribution in the working distribution: a judge may be certain and wrong."""
_FOLDS = 5
_LEAST = 20
"""Smallest number of answers from which parameters are learned; with fewer, they are the prior means."""
_MOST = 5_000
"""Largest number of answers from which parameters are learned."""


def working_distribution(
    predicted: IntArray,
    data: RoutedSample,
    judges: Sequence[JudgeOpinion],
    *,
    cluster: IntArray | None = None,
) -> FloatArray:
    """Compute cross-fitted probabilities of options, shape (N, K), from judges and the model's prediction.

    The row of an item does not depend on answers about the item or its cluster. Every row is mixed with the
    uniform distribution with weight .05 (`FLAT`).

    Parameters
    ----------
    predicted
        Shape (N,): the model's prediction, −1 for unreadable.
    data
        The answers about N items.
    judges
        Judges' opinions on these items.
    cluster
        Shape (N,): cluster number of the item; None if items are independent.
    """
    n, width = data.propensities.shape
    features = describe_options(predicted, judges, data.n_options)
    fold = split_items_evenly(data, cluster, _FOLDS, 0)
    found = np.empty((n, width))
    for part in range(_FOLDS):
        here = np.flatnonzero(fold == part)
        others = np.flatnonzero(fold[data.item] != part)[:_MOST]
        said = data.item[others], data.asked[others], data.answer[others]
        parameters = fit_parameters(features, *said, width)
        found[here] = option_probabilities(features.take(here), parameters, width)
    return (1 - FLAT) * found + FLAT * flat_posterior(data.n_options, width)


def split_items_evenly(data: RoutedSample, cluster: IntArray | None, parts: int, seed: int) -> IntArray:
    """Split items into parts at random; return the part of every item, shape (N,), from 0.

    Items of one cluster are in the same part. Without clusters, items with an answer are spread evenly over
    parts.

    Examples
    --------
    >>> from oversight.harness.estimate import RoutedSample
    >>> data = RoutedSample(np.arange(4), np.zeros(4, int), np.ones(4), np.full((4, 2), 0.5))
    >>> sorted(split_items_evenly(data, None, 2, seed=1).tolist())
    [0, 0, 1, 1]
    """
    rng, n = np.random.default_rng(seed), len(data.propensities)
    if cluster is not None:
        return (rng.permutation(int(cluster.max()) + 1) % parts)[cluster]
    answered = np.zeros(n, dtype=np.bool_)
    answered[data.item] = True
    order = np.concatenate([rng.permutation(np.flatnonzero(answered == drawn)) for drawn in (True, False)])
    part = np.empty(n, np.int64)
    part[order] = np.arange(n) % parts
    return part


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersSoFar:
    """Experts' n answers about items of a pool.

    Attributes
    ----------
    item, asked
        Shape (n,): position of the item, and option asked about.
    answer
        Shape (n,): 1 for yes, 0 for no.
    """

    item: IntArray
    asked: IntArray
    answer: FloatArray


def guess_by_judges(
    predicted: AnyIntArray,
    judges: Sequence[JudgeOpinion],
    n_options: IntArray,
    answers: AnswersSoFar | None = None,
) -> FloatArray:
    """Estimate the probability that each model is right on each item, shape (N, M); 0 without a prediction.

    Parameters
    ----------
    predicted
        Shape (N, M): predicted options, −1 for none.
    judges
        Opinions of at least one judge on the same N items.
    n_options
        Shape (N,): number of options of every item.
    answers
        Answers from which the judges' quality is learned. An answer changes the probability of its own item
        only through this quality.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> right = guess_by_judges(predicted.option[:, None], [JudgeOpinion.of(predicted)], np.full(80, 4))
    >>> right[:2].round(2).tolist()
    [[0.71], [0.71]]
    """
    options, width = np.asarray(predicted, dtype=np.int64), int(n_options.max(initial=2))
    found, rows = np.zeros(options.shape), np.arange(len(options))
    flat = flat_posterior(n_options, width)
    for column, option in enumerate(options.T):
        features = describe_options(option, judges, n_options)
        parameters = features.center
        if answers is not None:
            parameters = fit_parameters(features, answers.item, answers.asked, answers.answer, width)
        p = (1 - FLAT) * option_probabilities(features, parameters, width) + FLAT * flat
        found[:, column] = np.where(option >= 0, p[rows, np.maximum(option, 0)], 0.0)
    return found
