"""Working distributions from judges: features of options, the logit, and guesses before any answer.

Which option is true, by what is said of it: a conditional logit, learned from experts' yes and no.

P(y = k) ∝ exp(offset_k + Σ_f θ_f x_fk) over the options of an item (McFadden 1974, in: Frontiers in
Econometrics). An answer about option k is yes with probability p_k, whatever rule chose k by what was known
before, so yes and no have one likelihood. The parameters have a normal prior: a few answers move them
little. The result serves as a working distribution, so a model that does not fit costs width, never validity.

Judges' probabilities as features of the options: whom they name, how sure they are, who agrees.

A judge is a model that was asked the same items. How sure it is counts by rank among its own answers and by
its logarithmic odds, so that a scale which means nothing (all at .99, a share of five samples) does no harm;
what either is worth, experts' answers tell (`oversight.harness.estimate.judges`).

The working distribution of every item's true option, from judges and the model's own prediction.

Its parameters (`oversight.harness.estimate.judges`) are learned from experts' answers about the
items of the other folds: cross-fitting, as in `oversight.harness.estimate.routed_means`.

How likely models are right on each item by what judges say, before an expert is asked about it.

A guess for draws: whatever it is worth, chances are recorded and estimates weigh by them. The judges' value
is learned from the present answers about other items; until there are enough, it is what the prior says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from oversight.harness.arrays import AnyIntArray, FloatArray, IntArray
from oversight.harness.columns import PredictionColumns
from oversight.harness.estimate.routed_sample import RoutedSample, flat_posterior

_STEPS, _HALVINGS, _SMALL = 25, 12, 1e-6
_PORTION = 10_000
"""Items at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionFeatures:
    """F features of the options of N items, each about one option of an item.

    Attributes
    ----------
    option
        Shape (N, F): the option that the feature refers to, −1 for none.
    value
        Shape (N, F): value of the feature; 0 if it refers to no option.
    n_options
        Shape (N,): K.
    center, spread
        Shape (F,): mean and standard deviation of the prior of every parameter.
    """

    option: IntArray
    value: FloatArray
    n_options: IntArray
    center: FloatArray
    spread: FloatArray

    def take(self, rows: IntArray) -> OptionFeatures:
        """Select items in this order; an item may occur several times."""
        return OptionFeatures(
            option=self.option[rows],
            value=self.value[rows],
            n_options=self.n_options[rows],
            center=self.center,
            spread=self.spread,
        )


def option_probabilities(features: OptionFeatures, parameters: FloatArray, width: int) -> FloatArray:
    """Probability of every option, shape (N, width), 0 beyond an item's own options.

    An option that a feature speaks of has the offset log(K − 1): at parameters of 0 it is as likely as all
    options together of which nothing is said.
    """
    found = np.empty((len(features.n_options), width))
    for start in range(0, len(found), _PORTION):
        part = features.take(np.arange(start, min(start + _PORTION, len(found))))
        found[start : start + _PORTION] = _softmax(part, parameters, width)
    return found


def fit_parameters(features: OptionFeatures, asked: IntArray, answer: FloatArray, width: int) -> FloatArray:
    """Maximum a posteriori parameters, shape (F,), by Fisher scoring.

    Parameters
    ----------
    features
        Features of the n items asked about, one row per answer.
    asked, answer
        Shape (n,): the option asked about; 1 for yes, 0 for no.
    width
        Largest K.
    """
    rows, precision = np.arange(len(asked)), features.spread**-2.0
    hit = (features.option == asked[:, None]).astype(np.float64)

    def look(parameters: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Log posterior, and p of the asked options and of those that features refer to."""
        every = _softmax(features, parameters, width)
        p = np.clip(every[rows, asked], _SMALL, 1 - _SMALL)
        likelihood = float(np.log(np.where(answer > 0, p, 1 - p)).sum())
        off = parameters - features.center
        return likelihood - 0.5 * float(precision @ off**2), p, every[rows[:, None], features.option]

    parameters = features.center.copy()
    best, p, named = look(parameters)
    for _ in range(_STEPS):
        slope = (hit - named) * features.value
        gradient = slope.T @ ((answer - p) / (1 - p)) - precision * (parameters - features.center)
        information = (slope * (p / (1 - p))[:, None]).T @ slope + np.diag(precision)
        step = np.linalg.solve(information, gradient)
        for _ in range(_HALVINGS):
            value, new_p, new_named = look(parameters + step)
            if value >= best:
                break
            step = step / 2
        else:
            break
        parameters, gain = parameters + step, value - best
        best, p, named = value, new_p, new_named
        if gain < _SMALL:
            break
    return parameters


def _softmax(features: OptionFeatures, parameters: FloatArray, width: int) -> FloatArray:
    """Probability of every option, shape (N, width)."""
    rows, K = np.arange(len(features.n_options)), features.n_options
    # the last column takes features that refer to no option
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
"""Mean and standard deviation of the prior: a judge is right more often than not (.73)."""
_SURE = (0.5, 1.0)
_ODDS = (0.5, 1.0)
_OWN = (0.0, 2.0)
_AGREED = (0.0, 1.0)
_EDGE = 0.01
"""Probabilities that are taken from a judge end here: it may be sure, and wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOpinion:
    """One judge's opinion on N items.

    Attributes
    ----------
    option
        Shape (N,): the option that it names, −1 for none.
    rank, odds
        Shape (N,): how sure it is by rank among its answers, as a normal score, and by logarithmic odds,
        with mean 0 and variance 1; 0 where it does not say.

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
        """Make it from predictions, whose confidence may be missing."""
        option = np.maximum(judge.option, -1).astype(np.int64)
        rank, odds = np.zeros(len(option)), np.zeros(len(option))
        if judge.confidence is not None:
            said = (option >= 0) & ~np.isnan(judge.confidence)
            sure = judge.confidence[said]
            rank[said] = _score_ranks(sure)
            p = np.clip(sure, _EDGE, 1 - _EDGE)
            odds[said] = _standardise(np.log(p / (1 - p)))
        return cls(option=option, rank=rank, odds=odds)

    def take(self, items: IntArray) -> JudgeOpinion:
        """Select the opinion on some items."""
        return JudgeOpinion(option=self.option[items], rank=self.rank[items], odds=self.odds[items])


def describe_options(
    predicted: IntArray, judges: Sequence[JudgeOpinion], n_options: IntArray
) -> OptionFeatures:
    """Features of N items' options: the model's prediction, the judges' options, and agreement of both.

    Parameters
    ----------
    predicted
        Shape (N,): the model's prediction, −1 for unreadable.
    judges
        Judges' opinions on these items; an option that an item does not have counts as none.
    n_options
        Shape (N,).
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
    """Judges' probability of every option before any answer; shape (N, K), rows sum to 1.

    For every item this is the mean of the judges' distributions. A judge's probability of its option (½ if
    unknown) is clipped to [.01, .99], and the rest is spread evenly. If no judge names an option, all are
    equal. Used for routing; no estimate depends on it.

    Parameters
    ----------
    judges
        At least one, on the same N items.
    n_options
        Shape (N,): K of every item; their largest is the number of columns.

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
    found: FloatArray = np.where(heard[:, None] > 0, total / np.maximum(heard, 1)[:, None], flat)
    return found


def _score_ranks(values: FloatArray) -> FloatArray:
    """Normal scores of ranks, ties share the mean rank; all 0 if all values are equal."""
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
"""Share of the working distribution that is left flat, so that sure judges leave room for surprise."""
_FOLDS = 5
_LEAST = 20
"""Answers from which on the parameters are learned; below, they are those of the prior."""
_MOST = 5_000
"""Answers that parameters are learned from, at most."""


def working_distribution(
    predicted: IntArray,
    data: RoutedSample,
    judges: Sequence[JudgeOpinion],
    *,
    cluster: IntArray | None = None,
) -> FloatArray:
    """Cross-fitted probabilities of every item's options, shape (N, K), from judges and prediction.

    A row does not use the answer about its item, or about others of its cluster; one twentieth of it is
    uniform.
    """
    n, width = data.propensities.shape
    features = describe_options(predicted, judges, data.n_options)
    fold = split_items_evenly(data, cluster, _FOLDS, 0)
    found = np.empty((n, width))
    for part in range(_FOLDS):
        here = np.flatnonzero(fold == part)
        others = np.flatnonzero(fold[data.item] != part)[:_MOST]
        said = data.item[others], data.asked[others], data.answer[others]
        parameters = learn_parameters(features, *said, width)
        found[here] = option_probabilities(features.take(here), parameters, width)
    working: FloatArray = (1 - FLAT) * found + FLAT * flat_posterior(data.n_options, width)
    return working


def split_items_evenly(data: RoutedSample, cluster: IntArray | None, parts: int, seed: int) -> IntArray:
    """Part of every item, shape (N,); items of a cluster share one, and answers are spread evenly.

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


def learn_parameters(
    features: OptionFeatures, item: IntArray, asked: IntArray, answer: FloatArray, width: int
) -> FloatArray:
    """Parameters of the logit from answers, shape (F,); those of the prior if there are few answers.

    Parameters
    ----------
    features
        Features of all N items.
    item, asked, answer
        Shape (n,): place of the item, option asked about, 1 for yes and 0 for no.
    width
        Largest K.
    """
    if item.size < _LEAST:
        return features.center
    return fit_parameters(features.take(item), asked, answer, width)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersSoFar:
    """n answers of experts about items of a pool.

    Attributes
    ----------
    item, asked
        Shape (n,): place of the item, and the option asked about.
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
    """Probability that each model is right on each item, shape (N, M); 0 if it predicts no option.

    Parameters
    ----------
    predicted
        Shape (N, M): options, −1 for none.
    judges
        One or more judges of the same N items.
    n_options
        Shape (N,): K.
    answers
        Answers from which the judges' quality is learned; they are not used as evidence about their own
        items.

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
            parameters = learn_parameters(features, answers.item, answers.asked, answers.answer, width)
        p = (1 - FLAT) * option_probabilities(features, parameters, width) + FLAT * flat
        found[:, column] = np.where(option >= 0, p[rows, np.maximum(option, 0)], 0.0)
    return found
