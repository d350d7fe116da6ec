"""Tests of the estimators' assumptions on the data.

**Draws.** The options asked about are compared with the recorded propensities. A question is evidence about
the draw whether it was answered or not, so these checks use questions if they are known. A model's own
prediction must have been asked about as often as its propensities say.

**Experts.** No expert should say yes much more rarely or more often than others, or make the same errors as a
model. Experts judge different classes, and a model may be far better on one class than on another. So an
expert fails only if the odds of a yes are more than `TOLERATED` times those of other experts on similar
questions, after allowing for chance and for how often models predict the options. Experts of the same class
are asked at random, so the tolerance for them is `TOLERATED_ALIKE`.

**Clusters.** Options are drawn independently for every item, so tests of the draw are valid for clustered
items. Tests that depend on the truth are corrected (`deflate_for_clusters`).

All tests of all models of a study are one family (`CheckInput.level`). At least one test fails in at most
5 % of studies if every assumption holds, no model is worse than guessing, and experts' true odds are within
the tolerances. No test can prove the assumptions; experts who err equally often in both directions pass all
of them. Some checks are voiding: if such a check fails, the data contradict an assumption of the estimate,
and the estimate's interval does not hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import variance
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, ndtr, ndtri

from oversight.harness.arrays import UNKNOWN, AnyIntArray, BoolArray, FloatArray, IntArray
from oversight.harness.columns import (
    ABSTAINED,
    YES,
    AnyLabels,
    AnyPredictions,
    ItemValues,
    LabelColumns,
    PredictionColumns,
    QuestionColumns,
    align_models,
    mark,
)
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import (
    FEWEST_EFFECTIVE,
    binomial_at_least,
    check_clusters,
    chi2_tail,
    effective_clusters,
    sign_p_value,
    two_sided,
    z_of_sum,
)
from oversight.harness.estimate.decoding import UNIFORM_CHECKS
from oversight.harness.estimate.estimators import information, inside, make_point
from oversight.harness.estimate.evidence import estimate_by_design, find_hidden, find_unequal
from oversight.harness.estimate.intervals import effective_size
from oversight.harness.estimate.routed_sample import read_item_answers, vote_posterior
from oversight.harness.estimate.tallies import (
    Strata,
    Tallies,
    check_labels,
    estimate_tallies,
    find_strata,
    tally_columns,
)
from oversight.harness.types import Estimate

NEGLIGIBLE = 0.1
"""Largest shift of an estimate by missing data that counts as negligible, in half-widths of its interval."""


def is_negligible(least: float, value: float, most: float, width: float) -> bool:
    """Whether missing data leave the coverage of an interval almost unchanged.

    Parameters
    ----------
    least, value, most
        `value` is the estimate; `least` and `most` are the smallest and largest value that it could have if
        no data were missing.
    width
        Width of the interval. A shift by a tenth of half the width lowers a coverage of 95 % to 94.6 %.

    Examples
    --------
    >>> is_negligible(0.718, 0.72, 0.722, 0.1), is_negligible(0.70, 0.72, 0.74, 0.1)
    (True, False)
    """
    return max(value - least, most - value) <= NEGLIGIBLE * width / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Result of one check.

    Attributes
    ----------
    name
        Name of the check.
    passed
        False if the data contradict an assumption of the estimates; None if there were no data to check.
    statistic, p_value
        Statistic and p-value of the test; None if the check computes none.
    message
        One line: the finding and its meaning, or the reason why nothing was checked.

    Examples
    --------
    >>> Check.not_made("gold_errors", "there are no gold questions").state
    'not made'
    """

    name: str
    passed: bool | None
    statistic: float | None
    p_value: float | None
    message: str

    @property
    def state(self) -> str:
        """``"passed"``, ``"failed"`` or ``"not made"``."""
        return "not made" if self.passed is None else "passed" if self.passed else "failed"

    @classmethod
    def of(cls, name: str, found: CheckOutcome, alpha: float) -> Check:
        """Make the result of a check from its finding. A test fails if its p-value is below `alpha`."""
        p = found.p_value
        passed = found.passed if p is None else p >= alpha
        message = found.text if passed else found.text + found.odd
        return cls(name=name, passed=passed, statistic=found.statistic, p_value=p, message=message)

    @classmethod
    def not_made(cls, name: str, why: str) -> Check:
        """Make the result of a check that had no data, with the reason as its message."""
        return cls(name=name, passed=None, statistic=None, p_value=None, message=why)


class CheckOutcome(NamedTuple):
    """Finding of one check, before its level is applied.

    Attributes
    ----------
    statistic, p_value
        Statistic and p-value of the test; None if the check computes none.
    text, odd
        The finding, and what is appended to it if the check fails.
    passed
        Whether a check without a p-value passed.
    """

    statistic: float | None
    p_value: float | None
    text: str
    odd: str = ""
    passed: bool = True


OF_STUDY = ("yes_rate", "yes_rate_by_expert", "agreement")
"""Tests whose outcome is the same for every model of a study."""
OF_MODEL = ("asked_predicted", "hausman", "propensities", "coin", "seen_answers", "readability")
"""Tests that are run once per model."""
OPTIONS_ALPHA = 1e-3
"""Level of `asked_options`, whose χ² approximation is rough."""
GOLD_ALPHA = 0.01
"""Joint level of the `gold_errors` tests of all models of a study."""
_STUDY_ALPHA, _MODEL_ALPHA = 0.019, 0.02
"""Joint levels of the tests in `OF_STUDY`, and of those in `OF_MODEL`. All four levels sum to 5 %."""


@dataclass(frozen=True)
class CheckInput:
    """Input of the checks of one model, and quantities that are derived from it on first use.

    Attributes
    ----------
    predictions, labels, strata
        The model's predictions, the labels, and the stratum of every item.
    others
        Predictions of the study's other models.
    names
        Names of the checks that apply to the study's protocol.
    """

    predictions: PredictionColumns
    labels: LabelColumns
    strata: ItemValues | None
    others: Sequence[PredictionColumns]
    names: Collection[str]

    def level(self, name: str) -> float:
        """Return the level of a test.

        The joint level of `OF_STUDY` is split among its tests, and that of `OF_MODEL` among its tests and all
        models.
        """
        models = 1 + len(self.others)
        for group, alpha, times in ((OF_STUDY, _STUDY_ALPHA, 1), (OF_MODEL, _MODEL_ALPHA, models)):
            if name in group:
                return alpha / (max(1, sum(other in self.names for other in group)) * times)
        return OPTIONS_ALPHA

    @cached_property
    def tallies(self) -> Tallies:
        """Counts of the model's hits and misses."""
        return tally_columns(self.predictions, self.labels, self.strata)

    @cached_property
    def drawn(self) -> DrawnOptions:
        """The items with exactly one question, answered or not, and a prediction that did not fail."""
        drawn = self.labels.questions if self.labels.drawn is None else self.labels.drawn
        number = np.bincount(drawn.item, minlength=self.labels.index.size)
        rows = np.flatnonzero((number[drawn.item] == 1) & self.predictions.ran[drawn.item])
        predicted = self.predictions.option[drawn.item[rows]].astype(np.int64)
        return DrawnOptions(asked=drawn.take(rows), predicted=predicted)

    @property
    def votes(self) -> ModelVotes:
        """Predictions of all models. Raises EstimateError if questions were drawn for further models."""
        models = frozenset([self.predictions, *self.others])
        votes = _gather_votes(models, self.labels, self.level("yes_rate"))
        if votes.lacks_models:
            raise EstimateError("questions were also drawn for models that are not given here")
        return votes


def deflate_for_clusters(p: float, values: FloatArray, cluster: IntArray | None, alpha: float) -> float:
    """Return the p-value of a test that took clustered items as independent, corrected for the clusters.

    The normal quantile of `p` is multiplied by √(n_eff/n) (`effective_size`). Tests of
    whether options were drawn at random need no correction, because every item's draw is independent.

    Parameters
    ----------
    p
        Uncorrected p-value.
    values, cluster
        Shape (n,): contributions of the items to the test statistic, and cluster number of each item; `p` is
        returned unchanged if `cluster` is None.
    alpha
        Level of the test.

    Raises
    ------
    NotIdentified
        If there are fewer than `FEWEST_EFFECTIVE` effective clusters.

    Examples
    --------
    >>> values = np.repeat([0.5, -0.5], 100)
    >>> round(deflate_for_clusters(1e-6, values, np.arange(200) // 10, 0.01), 2)
    0.12
    """
    if cluster is None:
        return p
    code = np.unique(cluster, return_inverse=True)[1]
    check_clusters(code)
    largest = float(np.abs(values).max(initial=_NEAR))
    share = effective_size(values / largest, code, 1 - alpha) / len(values)
    return 2 * float(ndtr(float(ndtri(max(p, 1e-300) / 2)) * math.sqrt(min(1.0, share))))


_EQUAL = 1e-6


def uniform_single(labels: LabelColumns) -> BoolArray:
    """Return whether each label is the only one about its item and has propensity 1/K, shape (L,)."""
    alone = np.bincount(labels.item)[labels.item] == 1
    chosen: BoolArray = alone & (
        np.abs(labels.questions.propensity * labels.questions.n_options - 1) < _EQUAL
    )
    return chosen


def asked_predicted(data: CheckInput) -> CheckOutcome:
    """Test that predicted options were asked about with probability 1/K, as under uniform routing.

    A failure means that questions followed the model's predictions. The z-test counts all questions, answered
    or not. With 300 questions, its power to detect a rate that is 10 points too high is .98.
    """
    check_labels(data.predictions, data.labels)
    text = "the predicted option was asked about {hits} times, expected {expected:.1f}"
    own = data.predictions.option[data.labels.item]
    return _one_in_k(data.labels, own >= 0, own == data.labels.option, text)


def yes_rate(data: CheckInput) -> CheckOutcome:
    """Test that the share of yes answers is 1/K, as under uniform routing; else see `routed_yes_rate`.

    A failure means that experts too often say no to true options, or too often say yes to false options.
    """
    labels = data.labels
    if not labels.is_uniform:
        return routed_yes_rate(data.votes)
    check_labels(data.predictions, labels)
    text = "{hits} yes among {n} answers, expected {expected:.1f}"
    odd = (
        "; too few mean that experts missed true options, too many that they said yes to false ones, "
        "which biases ord and ml"
    )
    return _one_in_k(labels, labels.kind != ABSTAINED, labels.kind == YES, text, odd)


def _one_in_k(
    labels: LabelColumns, usable: BoolArray, hit: BoolArray, text: str, odd: str = ""
) -> CheckOutcome:
    """Test that `hit` has probability 1/K among the `usable` labels that `uniform_single` selects (z-test).

    `odd` is appended to the message of a failed test.
    """
    mine = uniform_single(labels) & usable
    if not mine.any():
        raise EstimateError("no item with one uniformly drawn question")
    share = 1 / labels.questions.n_options[mine]
    hits, expected = int(np.count_nonzero(hit[mine])), float(share.sum())
    z = z_of_sum(hits, expected, float((share * (1 - share)).sum()))
    return CheckOutcome(z, two_sided(z), text.format(hits=hits, n=share.size, expected=expected), odd)


def asked_options(data: CheckInput) -> CheckOutcome:
    """Test by χ² that every option was asked about equally often, as under uniform routing.

    The test has Σ(K − 1) degrees of freedom. It does not detect questions that were chosen by difficulty;
    `asked_predicted` does.
    """
    check_labels(data.predictions, data.labels)
    mine, n_options = uniform_single(data.labels), data.labels.questions.n_options
    statistic, df = 0.0, 0
    for K in np.unique(n_options).tolist():
        counts = np.bincount(data.labels.option[mine & (n_options == K)], minlength=K)
        expected = counts.sum() / K
        if expected >= 5:
            statistic += float(((counts - expected) ** 2).sum() / expected)
            df += K - 1
    if df == 0:
        raise EstimateError("fewer than 5 uniformly drawn questions per option")
    text = f"options asked about: χ² = {statistic:.1f} on {df} df"
    return CheckOutcome(statistic, chi2_tail(statistic, df), text)


_ODD = "; the recorded propensities differ from those of the draw, or some options could not be drawn"
_NOTHING = "no item has one question whose option was drawn with unequal chances"
_NO_VOTES = "no item has a single answer and predictions of all models"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnOptions:
    """Items with exactly one question, and the model's predictions for them.

    Attributes
    ----------
    asked
        The n questions, one per item.
    predicted
        Shape (n,): the predicted option of each item, −1 for unreadable.
    """

    asked: QuestionColumns
    predicted: IntArray

    def take(self, rows: AnyIntArray) -> DrawnOptions:
        """Return the items at these rows."""
        return DrawnOptions(asked=self.asked.take(rows), predicted=self.predicted[rows])

    @property
    def is_hit(self) -> BoolArray:
        """Whether the question is about the prediction, shape (n,)."""
        return np.asarray(self.asked.option == self.predicted)

    @property
    def own(self) -> FloatArray:
        """Propensity of the predicted option, shape (n,); requires that all items are `readable`."""
        return self.asked.offered.of_option(self.predicted)

    def __len__(self) -> int:
        return len(self.asked)

    @property
    def recorded(self) -> BoolArray:
        """Whether the propensities of all options are recorded, shape (n,)."""
        return np.asarray(self.asked.offered.number > 0)

    @property
    def readable(self) -> BoolArray:
        """Whether the propensities of all options are recorded and the prediction is readable, shape (n,)."""
        return self.recorded & (self.predicted >= 0)


def propensities(data: CheckInput) -> CheckOutcome:
    """Test that options were drawn with the recorded propensities, by two z-tests at half the level each.

    ŷ is the prediction for an item, and π the recorded propensity of an option. If options were drawn with
    these propensities, Σ (1{asked = ŷ} − π_ŷ) has mean 0 and variance Σ π_ŷ (1 − π_ŷ), and 1/(K π) of the
    option asked about has the mean (number of options with π > 0)/K.
    """
    recorded = data.drawn.take(np.flatnonzero(data.drawn.recorded))
    impossible = int(np.count_nonzero(recorded.asked.offered.of_option(recorded.asked.option) <= 0))
    if impossible:
        text = f"{impossible} questions ask about options whose recorded propensity is 0"
        return CheckOutcome(math.inf, 0.0, text)
    if not len(recorded):
        return _weights_alone(data.drawn)
    spread = recorded.asked.offered.greatest - recorded.asked.offered.least
    chance = recorded.take(np.flatnonzero((spread > _EQUAL) & (spread < 1 - _EQUAL)))
    n = len(chance)
    if n < 2:
        raise EstimateError(_NOTHING)
    told = chance.take(np.flatnonzero(chance.readable))
    pi = told.own
    hits, expected = int(np.count_nonzero(told.is_hit)), math.fsum(pi.tolist())
    z = z_of_sum(hits, expected, math.fsum((pi * (1 - pi)).tolist())) if pi.size else 0.0
    weight, mean, variance_of_weight = _sum_weights(chance.asked)
    z_weight = z_of_sum(weight, mean, variance_of_weight) if variance_of_weight > _EQUAL else 0.0
    worst = max(z, z_weight, key=abs)
    text = (
        f"the predicted option was asked about {hits} times, expected {expected:.1f}; mean of 1/(K π) is "
        f"{weight / n:.3f}, expected {mean / n:.3f}"
    )
    return CheckOutcome(worst, min(1.0, 2 * two_sided(worst)), text, _ODD)


def _sum_weights(chance: QuestionColumns) -> tuple[float, float, float]:
    """Return Σ 1/(K π) over the asked options, and its mean and variance under the recorded propensities."""
    k, values, start = chance.n_options, chance.offered.values, chance.offered.start[:-1]
    able = np.add.reduceat((values > 0).astype(np.int64), start)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
    # summed in extended precision, because the terms differ by orders of magnitude
    each = np.add.reduceat(inverse.astype(np.longdouble), start).astype(np.float64)
    spread = each / k**2 - (able / k) ** 2
    weight = 1 / (k * chance.offered.of_option(chance.option))
    return _add(weight), _add(able / k), _add(spread)


def _add(values: FloatArray) -> float:
    """Return the sum of the values, added one after the other."""
    return float(np.cumsum(values)[-1])


def _weights_alone(drawn: DrawnOptions) -> CheckOutcome:
    """Test that the mean of 1/(K π) is 1, using only the propensities of the asked options.

    The test uses the observed variance of the values 1/(K π).
    """
    uneven = np.abs(drawn.asked.propensity * drawn.asked.n_options - 1) >= _EQUAL
    pi = drawn.asked.propensity[uneven]
    if pi.size < 2 or pi.min() >= 1 - _EQUAL:
        raise EstimateError(_NOTHING)
    weight = (1 / (drawn.asked.n_options[uneven] * pi)).tolist()
    mean = math.fsum(weight) / pi.size
    z = z_of_sum(mean, 1.0, variance(weight) / pi.size)
    text = f"mean of 1/(K π) over the options asked about is {mean:.3f}, expected 1"
    return CheckOutcome(z, two_sided(z), text, _ODD)


def routed_for(data: CheckInput) -> CheckOutcome:
    """Check whether the questions were drawn with knowledge of this model's predictions.

    If a draw follows the predictions of some models, an option that none of them predicts has the smallest
    propensity, ε/K. If this model predicts options with that propensity, the draw did not follow this model.
    Few of its predictions are then asked about, and the answers about them have large weights.
    """
    readable = data.drawn.take(np.flatnonzero(data.drawn.readable))
    n, offered = len(readable), readable.asked.offered
    if not n:
        raise EstimateError("no readable prediction has a question")
    own, floor = readable.own, float((offered.number * offered.least).min())
    is_least = (offered.number * own <= floor + _EQUAL) & (own < offered.greatest - _EQUAL)
    at_floor = int(np.count_nonzero(is_least))
    share = at_floor / n
    text = f"{at_floor} of {n} predictions ({share:.0%}) had the least propensity of all options"
    odd = ": the questions were drawn for other models, and tell less about this model"
    return CheckOutcome(share, None, text, odd, passed=at_floor == 0)


def coin(data: CheckInput) -> CheckOutcome:
    """Test that a fair coin decided which of two models' predictions was asked about: exact binomial test."""
    readable = data.drawn.take(np.flatnonzero(data.drawn.readable))
    tossed = readable.take(np.flatnonzero(np.abs(readable.own - 0.5) < _EQUAL))
    n = len(tossed)
    if not n:
        raise EstimateError("no question was drawn by a coin toss between two predictions")
    heads = int(np.count_nonzero(tossed.is_hit))
    text = f"this model's prediction was asked about {heads} of {n} times, expected {n / 2:g}"
    odd = "; the coin was not fair, or the predictions differ from those used in the draw"
    return CheckOutcome(float(heads), sign_p_value(heads, n - heads), text, odd)


_NEAR = 1e-9


@dataclass(frozen=True, eq=False)
class ModelVotes:
    """Predictions of all models of a study, and the experts' answers about the same N items.

    Attributes
    ----------
    models
        Predictions of the models; their order does not matter.
    labels
        Experts' answers about these items, as L labels.
    level
        Level of each test.
    """

    models: Sequence[PredictionColumns]
    labels: LabelColumns
    level: float

    @cached_property
    def all_ran(self) -> BoolArray:
        """Whether every model answered an item, readably or not; shape (N,)."""
        found: BoolArray = np.logical_and.reduce([model.ran for model in self.models])
        return found

    def count_votes(self, item: IntArray, option: IntArray) -> IntArray:
        """Return the number of models that predict `option[i]` on `item[i]`, for every i; shape of `item`."""
        votes = np.zeros(item.size, np.int64)
        for model in self.models:
            votes += model.option[item] == option
        return votes

    @cached_property
    def votes(self) -> IntArray:
        """Number of models that predict the option of each label, shape (L,)."""
        return self.count_votes(self.labels.item, self.labels.option)

    @cached_property
    def is_first(self) -> BoolArray:
        """Whether a label is the first of its item, shape (L,)."""
        first = np.zeros(len(self.labels), np.bool_)
        first[np.unique(self.labels.item, return_index=True)[1]] = True
        return first

    @cached_property
    def usable(self) -> IntArray:
        """Rows of the labels that the tests use, ascending.

        The tests use answers about items that every model answered. Under a sequential protocol, they use
        only the first answer about each item, because later questions depend on earlier answers. Under other
        protocols, they use only items with a single question.
        """
        labels = self.labels
        if labels.is_resolved:
            alone = self.is_first
        else:
            alone = np.bincount(labels.item, minlength=labels.index.size)[labels.item] == 1
        rows: IntArray = np.flatnonzero(alone & (labels.kind != ABSTAINED) & self.all_ran[labels.item])
        return rows

    @cached_property
    def lacks_models(self) -> bool:
        """Whether questions were also drawn for models that are not among `models`.

        This is inferred from a question about an option that none of `models` predicts, although the
        option's propensity is above the smallest propensity of its item.
        """
        if self.labels.is_uniform:
            return False
        rows = self.usable[self.votes[self.usable] == 0]
        asked = self.labels.questions.take(rows)
        least = np.zeros(rows.size)
        known = np.flatnonzero(asked.offered.number)
        if known.size:
            least[known] = asked.offered.take(known).least
        return bool((asked.propensity > least + _NEAR).any())

    @cached_property
    def kappa(self) -> float:
        """Agreement beyond chance of all pairs of models (Cohen's κ), in [0, 1]; 0 for a single model.

        Chance agreement is computed from the frequencies of the predicted options, separately for each K.
        """
        rows, count = self.usable, len(self.models)
        if count < 2 or not rows.size:
            return 0.0
        item, k = self.labels.item[rows], self.labels.questions.n_options[rows]
        agreed, chance = 0.0, 0.0
        for size in np.unique(k).tolist():
            items = item[k == size]
            votes = np.stack([self.count_votes(items, np.full(items.size, o)) for o in range(size)])
            pairs = count * (count - 1)
            agreed += float((votes * (votes - 1)).sum()) / pairs
            chance += items.size * float(((votes.sum(axis=1) / (items.size * count)) ** 2).sum())
        total = float(rows.size)
        return 0.0 if chance >= total else max(0.0, (agreed - chance) / (total - chance))

    def is_yes(self, rows: IntArray) -> BoolArray:
        """Return, for each label in `rows`, whether its answer is yes."""
        return np.asarray(self.labels.kind[rows] == YES)

    def clusters(self, rows: IntArray) -> IntArray | None:
        """Return the cluster number of each label in `rows`; None if items are independent."""
        values = self.labels.cluster
        return None if values is None else values.code[self.labels.item[rows]]

    def base_odds(self) -> FloatArray:
        """Return the odds with which the models predict the option of each label, shape (L,).

        They are computed over all items with the same number of options. One prediction of every option is
        added, so that the odds are finite.
        """
        k, option = self.labels.questions.n_options, self.labels.option
        number = self.labels.n_options
        odds = np.ones(k.size)
        for size in np.unique(k).tolist():
            items = self.labels.places[(number == size) & self.all_ran[self.labels.places]]
            votes = np.array([self.count_votes(items, np.full(items.size, o)).sum() for o in range(size)]) + 1
            mine = k == size
            odds[mine] = (votes / (votes.sum() - votes))[option[mine]]
        return odds


@lru_cache(
    maxsize=1
)  # cached, because the votes and the tests of them are the same for every model of a study
def _gather_votes(models: frozenset[PredictionColumns], labels: LabelColumns, level: float) -> ModelVotes:
    return ModelVotes(tuple(models), labels, level)


@lru_cache(maxsize=1)
def routed_yes_rate(votes: ModelVotes) -> CheckOutcome:
    """Test that yes answers are not too rare (rarer than for guessing models) and not too frequent.

    Exactly one option of an item is true. So the probability of a yes is at most the largest propensity of
    the item's options, whatever the models predict. If questions are about predicted options, and models are
    not worse than guessing, a yes has at least probability 1/K. The number of yes answers is a sum of
    independent outcomes, whose tails are at most those of the binomial with the mean probability (Hoeffding
    1956). The p-value is twice the smaller tail. The lower tail is corrected for clusters; the upper tail
    depends only on the draw.

    If every question was asked with certainty (one model, or items that are asked about until they are
    resolved), the test cannot detect experts who always say yes, because perfect models would give the same
    answers.
    """
    rows, labels = votes.usable, votes.labels
    n = rows.size
    if not n:
        raise EstimateError(_NO_VOTES)
    yes = int(np.count_nonzero(votes.is_yes(rows)))
    least = float((1 / labels.questions.n_options[rows]).mean())
    most = _greatest_propensity(labels.take(rows))
    p_low = 1.0
    if yes <= n * least - 1:
        p_low = float(bdtr(yes, n, least))
        is_yes = votes.is_yes(rows).astype(np.float64)
        p_low = deflate_for_clusters(p_low, is_yes, votes.clusters(rows), votes.level)
    p_high = binomial_at_least(yes, n, most) if yes >= n * most + 1 else 1.0
    text = f"{yes} yes among {n} answers, expected {n * least:.1f} if models guess, at most {n * most:.1f}"
    odd = "; experts say yes to false options"
    if yes < n * least:
        odd = "; experts miss the truth, or models are worse than guesses"
    return CheckOutcome(yes / n, min(1.0, 2 * min(p_low, p_high)), text, odd)


def _greatest_propensity(labels: LabelColumns) -> float:
    """Return the mean over labels of the largest propensity of the item's options; 1 if not recorded."""
    offered = labels.questions.offered
    if labels.is_resolved or not (offered.number > 0).all():
        return 1.0
    return float(np.minimum(1.0, offered.greatest).mean())


LEAST_SLOPE = 0.1
"""Smallest accepted association of answers with votes, as a share of that expected for independent models."""


@lru_cache(maxsize=1)
def agreement(votes: ModelVotes) -> CheckOutcome:
    """Test that experts confirm an option more often if more models predict it.

    It is a one-sided score test of Σ (yes − mean) (v − mean), where v is the number of models that predict
    the option asked about. The means are those of all questions with the same K. With one model, the test
    fails if predicted options are confirmed significantly less often than other options. With several models
    that agree beyond chance, the test also fails if the sum is significantly below `LEAST_SLOPE` times its
    expected value for independent models with the same agreement.
    """
    rows = votes.usable
    if not rows.size:
        raise EstimateError(_NO_VOTES)
    k, yes = votes.labels.questions.n_options[rows], votes.is_yes(rows).astype(np.float64)
    if yes.min() == yes.max():
        raise EstimateError("all answers are alike")
    v = _centre(votes.votes[rows].astype(np.float64), k)
    if float(v @ v) < _NEAR:
        raise EstimateError("every option asked about is predicted by the same number of models")
    spread = _centre(yes, k)
    size = len(yes) - np.unique(k).size
    variance = float(v @ v) * float(spread @ spread) / max(1, size)
    seen, implied = float(v @ yes), _implied(votes, rows, v)
    z = z_of_sum(seen, LEAST_SLOPE * max(0.0, implied), variance)
    p = float(ndtr(z))
    if z < 0:
        p = deflate_for_clusters(p, v * spread, votes.clusters(rows), votes.level)
    more, fewer = (float(yes[side].mean()) if side.any() else math.nan for side in (v > 0, v <= 0))
    text = f"yes to {more:.0%} of the options that more models predict, and to {fewer:.0%} of the others"
    odd = "; answers are unrelated to the models' agreement, so they may belong to other items or options"
    return CheckOutcome(z, p, text, odd)


def _centre(values: FloatArray, k: IntArray) -> FloatArray:
    """Subtract from each value the mean of all values with the same number of options `k`."""
    which = np.unique(k, return_inverse=True)[1]
    means = np.bincount(which, values) / np.bincount(which)
    found: FloatArray = values - means[which]
    return found


def _implied(votes: ModelVotes, rows: IntArray, v: FloatArray) -> float:
    """Return the expected value of Σ yes · v for independent models with the observed agreement.

    It is 0 if models do not agree beyond chance, and for a single model. `v` is the number of models that
    predict the option asked about, minus its mean.
    """
    if votes.kappa <= 0:
        return 0.0
    asked, item = votes.labels.questions.take(rows), votes.labels.item[rows]
    K = asked.n_options
    accuracy = float((1 / K + (1 - 1 / K) * math.sqrt(votes.kappa)).mean())
    predicted = np.stack([model.option[item] for model in votes.models], axis=1).astype(np.int64)
    guesses = [accuracy] * predicted.shape[1]
    posterior = vote_posterior(np.maximum(predicted, -1), K, int(K.max()), accuracy=guesses, temper=1.0)
    return float(v @ posterior[np.arange(rows.size), asked.option])


def seen_answers(data: CheckInput) -> CheckOutcome:
    """Test that the model has not seen the experts' answers, for uniformly drawn options.

    Let ŷ be the prediction of the model. A uniform draw uses neither predictions nor truth. So the events "ŷ
    is asked about" and "the answer is yes" have probability 1/K each, whatever the models predict. A model
    that has seen answers predicts confirmed options, which many other models predict too, and avoids refused
    options, which few predict. Then both events become more frequent where other models share the prediction.

    The test is a one-sided z-test of Σ g (1{asked = ŷ} + 1{yes} − 2/K). g is centred: it is the number of
    other models that predict ŷ, minus the number of other models that predict the option most frequent among
    them. With one model the test has no power; with several models it has power only in large studies.
    """
    if not data.others:
        raise EstimateError(
            "no other model to compare with; the estimate assumes that the model has seen none of the answers"
        )
    asked = data.drawn.asked
    ran = np.logical_and.reduce([model.ran[asked.item] for model in data.others])
    even = np.abs(asked.propensity * asked.n_options - 1) < _EQUAL
    one = data.drawn.take(np.flatnonzero(ran & even & (data.drawn.predicted >= 0)))
    if not len(one):
        raise EstimateError("no item with one uniformly drawn question has predictions of all models")
    pi, hit = 1 / one.asked.n_options, one.is_hit
    support = _support(one, data.others)
    g = support - support.mean()
    score = hit - pi + _excess_of_yes(one, data.labels)
    variance = float((g**2) @ score**2)
    if variance < _NEAR:
        raise EstimateError("every prediction is shared by the same number of other models")
    z = z_of_sum(float(g @ score), 0.0, variance)
    shared, alone = (int(np.count_nonzero(hit & side)) for side in (g > 0, g <= 0))
    expected = float(pi[g > 0].sum()), float(pi[g <= 0].sum())
    text = (
        f"predictions that more models share were asked about {shared} times, expected {expected[0]:.1f}; "
        f"those that fewer share {alone} times, expected {expected[1]:.1f}"
    )
    odd = "; this model, or one it is compared with, may have seen the experts' answers"
    return CheckOutcome(z, float(ndtr(-z)), text, odd)


def _support(drawn: DrawnOptions, others: Sequence[PredictionColumns]) -> FloatArray:
    """Return how many other models predict ŷ, minus how many predict those models' most frequent option.

    ŷ is the prediction of the model to check; the result has shape (n,).
    """
    n, item = len(drawn), drawn.asked.item
    width = int(drawn.asked.n_options.max(initial=2))
    votes = np.zeros((width + 1) * n, np.int64)  # n numbers for unreadable predictions, then n per option
    place = n + np.arange(n)
    for model in others:
        votes[place + n * np.clip(model.option[item], -1, width - 1).astype(np.int64)] += 1
    own = votes[place + n * drawn.predicted.astype(np.int64)]
    found: FloatArray = (own - votes[n:].reshape(width, n).max(axis=0, initial=0)).astype(np.float64)
    return found


def _excess_of_yes(drawn: DrawnOptions, labels: LabelColumns) -> FloatArray:
    """Return 1{yes} − 1/K for answered items and 0 for other items; shape (n,)."""
    said = np.full(labels.index.size, ABSTAINED)
    said[labels.item] = labels.kind
    kind = said[drawn.asked.item]
    found: FloatArray = np.where(kind == ABSTAINED, 0.0, (kind == YES) - 1 / drawn.asked.n_options)
    return found


TOLERATED, TOLERATED_ALIKE = 10.0, 3.0
_LEAST = 10


@dataclass(frozen=True, slots=True)
class _Cells:
    """Answers by combination (cell) of question kind, option and expert.

    Attributes
    ----------
    kind, option, expert, n, yes, odds
        Shape (cells,): the combination, its number of answers and of yes answers, and the odds with which the
        models predict the option.
    cell, said, cluster
        Shape (answers,): cell of every answer, whether the answer is yes, and its cluster; `cluster` is None
        if items are independent.
    """

    kind: IntArray
    option: IntArray
    expert: IntArray
    n: IntArray
    yes: IntArray
    odds: FloatArray
    cell: IntArray
    said: BoolArray
    cluster: IntArray | None


@lru_cache(maxsize=1)
def yes_rate_by_expert(votes: ModelVotes) -> CheckOutcome:
    """Test that every expert says yes about as often as other experts do on questions of the same kind.

    Two questions are of the same kind if they agree in four respects: K, the quarter of [0, 1] that contains
    the propensity, the third of [0, 1] that contains the share of models that predict the option, and whether
    the question is the first about its item. The test of an expert is exact, given the number of yes answers
    of all experts (`odds_p_value`). It tolerates odds of yes that differ by a factor of up to `TOLERATED`, or
    `TOLERATED_ALIKE` among experts asked about the same option. An option that models predict more often than
    other options is probably true more often. So the factor tolerated in that direction is multiplied by the
    ratio of the odds with which models predict the options. The test is corrected for clusters. The smallest
    p-value is multiplied by the number of tests (Bonferroni).
    """
    labels = votes.labels
    rows = np.flatnonzero(labels.kind != ABSTAINED)
    names, who = _name_experts(labels, rows)
    cells = _count_cells(votes, rows, who)
    separate, level = _judge_few_options(cells, len(names)), votes.level / (2 * max(1, len(names)))
    found = [
        test for expert in range(len(names)) for test in _test_expert(cells, expert, level, separate=separate)
    ]
    if not found:
        clusters = "" if cells.cluster is None else f", each from {FEWEST_EFFECTIVE:g} clusters of equal size"
        raise EstimateError(
            f"needs {_LEAST} answers of one expert and {_LEAST} of others to questions of the same "
            f"kind{clusters}"
        )
    p, expert, yes, n, others = min(found)
    own = f"furthest off: {names[expert]}, {yes} yes of {n} comparable answers"
    text = f"{own}; others say yes to {others:.0%}"
    odd = (
        "; the expert's answers may be unrelated to the items, or models may never be right about the "
        "expert's class"
    )
    return CheckOutcome(yes / n, min(1.0, p * len(found)), text, odd)


def _name_experts(labels: LabelColumns, rows: IntArray) -> tuple[list[str], IntArray]:
    """Return the names of the experts who answered, and for each answer the index of its expert's name.

    Answers without a named expert are grouped by option, as if each option had an expert.
    """
    asked, (person, people) = labels.questions, labels.questions.answering
    own = len(people)
    named = np.array([bool(name) for name in people], np.bool_)[person[rows]]
    codes = np.where(named, person[rows], own + asked.option[rows])
    known, who = np.unique(codes, return_inverse=True)
    names = [people[code] if code < own else f"option {code - own}" for code in known.tolist()]
    return names, who.astype(np.int64)


def _count_cells(votes: ModelVotes, rows: IntArray, who: IntArray) -> _Cells:
    """Count answers by kind of question, option and expert."""
    labels, asked = votes.labels, votes.labels.questions
    quarter = np.minimum((4 * asked.propensity[rows]).astype(np.int64), 3)
    third = np.ceil(3 * (votes.votes[rows] / len(votes.models))).astype(np.int64)
    kind = ((asked.n_options[rows] * 4 + quarter) * 4 + third) * 2 + votes.is_first[rows]
    option = labels.option[rows]
    sizes = int(option.max(initial=0)) + 1, int(who.max(initial=0)) + 1
    codes = (kind * sizes[0] + option) * sizes[1] + who
    code, first, which = np.unique(codes, return_index=True, return_inverse=True)
    of_option, expert = np.divmod(code, sizes[1])
    said = votes.is_yes(rows)
    return _Cells(
        kind=of_option // sizes[0],
        option=of_option % sizes[0],
        expert=expert,
        n=np.bincount(which),
        yes=np.bincount(which[said], minlength=code.size),
        odds=votes.base_odds()[rows[first]],
        cell=which.astype(np.int64),
        said=said,
        cluster=votes.clusters(rows),
    )


def _judge_few_options(cells: _Cells, n_experts: int) -> bool:
    """Whether experts are specialised: on average, an expert's answers cover at most half of the options."""
    pairs = np.unique(np.stack([cells.expert, cells.option]), axis=1).shape[1]
    return bool(pairs <= n_experts * np.unique(cells.option).size / 2)


def _test_expert(
    cells: _Cells, expert: int, alpha: float, *, separate: bool
) -> list[tuple[float, int, int, int, float]]:
    """Return, per test: p-value, expert, number of yes, number of answers, and other experts' share of yes.

    `separate` adds a test against only those experts who answered about the same options. `alpha` is the
    level of each test.
    """
    mine, found = cells.expert == expert, []
    by_kind = [cells.kind == kind for kind in np.unique(cells.kind[mine]).tolist()]
    tests = [(by_kind, TOLERATED)]
    if separate:
        options = np.unique(cells.option[mine]).tolist()
        tests.append(([k & (cells.option == o) for k in by_kind for o in options], TOLERATED_ALIKE))
    for groups, tolerated in tests:
        pairs = [(group & mine, group & ~mine) for group in groups]
        pairs = [(own, rest) for own, rest in pairs if cells.n[own].sum() and cells.n[rest].sum() >= _LEAST]
        table = np.array(
            [[values[side].sum() for side in pair for values in (cells.yes, cells.n)] for pair in pairs]
        ).reshape(-1, 4)
        if table[:, 1].sum() < _LEAST or not _has_clusters(cells, pairs):
            continue
        yes, n, *_ = table.sum(axis=0).tolist()
        others = float(table[:, 1] @ (table[:, 2] / table[:, 3])) / n
        p = odds_p_value(table, tolerated, [_base_ratio(cells, *pair) for pair in pairs])
        found.append((_deflate(p, cells, pairs, alpha), expert, yes, n, others))
    return found


_Pairs = Sequence[tuple[BoolArray, BoolArray]]
"""Per kind of question: the cells of the tested expert, and those of the other experts."""


def _base_ratio(cells: _Cells, own: BoolArray, rest: BoolArray) -> float:
    """Return how often models predict one expert's options, compared with other experts' options.

    The result is a ratio of odds.
    """
    share = cells.odds / (1 + cells.odds)
    mine, others = (float(np.average(share[side], weights=cells.n[side])) for side in (own, rest))
    return mine / (1 - mine) / (others / (1 - others))


def _has_clusters(cells: _Cells, pairs: _Pairs) -> bool:
    """Whether an expert's answers, and also the other experts' answers, have enough clusters for a test."""
    if cells.cluster is None:
        return True
    sides = (np.logical_or.reduce(side)[cells.cell] for side in zip(*pairs, strict=True))
    return all(effective_clusters(cells.cluster[side]) >= FEWEST_EFFECTIVE for side in sides)


def _deflate(p: float, cells: _Cells, pairs: _Pairs, alpha: float) -> float:
    """Return the p-value of one expert, corrected for clusters.

    Every pair compares the expert's answers with other experts' answers to questions of the same kind. An
    answer contributes to the statistic its difference from the share of yes among the answers on its side of
    the pair, with opposite signs on the two sides.
    """
    if cells.cluster is None:
        return p
    value, used = np.zeros(cells.said.size), np.zeros(cells.said.size, np.bool_)
    for pair in pairs:
        sizes = [float(cells.n[side].sum()) for side in pair]
        for side, weight in zip(pair, (sizes[1], -sizes[0]), strict=True):
            rows = side[cells.cell]
            value[rows] = weight / sum(sizes) * (cells.said[rows] - cells.said[rows].mean())
            used |= rows
    return deflate_for_clusters(p, value[used], cells.cluster[used], alpha)


def odds_p_value(table: IntArray, tolerated: float, expected: Sequence[float] = ()) -> float:
    """Return the exact p-value of "the odds of two groups differ by a factor of at most `tolerated`".

    Given the total number of yes answers in a stratum, the first group's number has Fisher's noncentral
    hypergeometric distribution. The distribution of its sum over strata is the convolution. The p-value is
    twice the smaller of the lower tail at the odds ratio 1/`tolerated` and the upper tail at `tolerated`. An
    expected odds ratio above 1 multiplies the upper limit `tolerated`; one below 1 multiplies the lower
    limit.

    Parameters
    ----------
    table
        Shape (strata, 4): yes answers and all answers of the first group, then of the second.
    tolerated
        Odds ratio, at least 1. If it is 1, the p-value for a single stratum is twice a tail of Fisher's exact
        test.
    expected
        Odds ratio expected in every stratum, above 0; if empty, 1 is expected in all strata.

    Examples
    --------
    >>> round(odds_p_value(np.array([[0, 10, 10, 10]]), tolerated=1.0), 6)
    1.1e-05
    """
    yes, n, others_yes, others = np.asarray(table, np.int64).T
    total = yes + others_yes
    low, high = np.maximum(0, total - others), np.minimum(n, total)
    rows = list(zip(*(side.tolist() for side in (low, high, n, others, total)), strict=True))
    place, size = int((yes - low).sum()), 1 + int((high - low).sum())
    ratio = np.ones(len(rows)) if not len(expected) else np.asarray(expected)
    few, many = (
        _convolve([_noncentral(*row, odds=r) for row, r in zip(rows, odds.tolist(), strict=True)], size)
        for odds in (np.minimum(1, ratio) / tolerated, np.maximum(1, ratio) * tolerated)
    )
    return min(1.0, 2 * float(min(few[: place + 1].sum(), many[place:].sum())))


def _convolve(parts: Sequence[FloatArray], size: int) -> FloatArray:
    """Return the distribution of a sum of independent variables, shape (size,), by Fourier transforms."""
    if len(parts) == 1:
        return parts[0]
    spectrum = np.prod([np.fft.rfft(part, size) for part in parts], axis=0)
    found: FloatArray = np.maximum(0.0, np.fft.irfft(spectrum, size))
    return found


def _noncentral(low: int, high: int, n: int, others: int, total: int, *, odds: float) -> FloatArray:
    """Return the probability of each number of yes answers in the first group, from `low` to `high`.

    It is Fisher's noncentral hypergeometric distribution, with odds ratio `odds`.
    """
    x = np.arange(low, high, dtype=np.float64)
    step = np.log(odds * (n - x) * (total - x)) - np.log((x + 1) * (others - total + x + 1))
    log_weight = np.concatenate([[0.0], np.cumsum(step)])
    weight = np.exp(log_weight - log_weight.max())
    found: FloatArray = weight / weight.sum()
    return found


_SUPPOSED = "; the correction assumes that experts err equally often whatever the model predicts"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldAnswer:
    """An answer to a question about a gold item.

    Attributes
    ----------
    about_truth
        Whether the question is about the true option.
    is_right
        Whether the answer is right.
    is_predicted
        Whether the question is about the option that the model predicts.
    cluster
        Number of the item's cluster; None if items are independent.

    Examples
    --------
    >>> fooled = [GoldAnswer(about_truth=False, is_right=j > 5, is_predicted=j < 12) for j in range(40)]
    >>> gold_errors(fooled).passed
    False
    """

    about_truth: bool
    is_right: bool
    is_predicted: bool
    cluster: int | None = None


def gold_errors(answers: Sequence[GoldAnswer], n_models: int = 1) -> Check:
    """Test that experts err equally often about options that the model predicts and about other options.

    The two-sided p-value of Fisher's exact test is computed for questions about true options and for
    questions about false options, and corrected for clusters. The result is twice the smaller of these two
    p-values. If experts err unequally, the correction by gold items is biased, for example by 7 points if
    they confirm a quarter of the model's wrong options.

    Parameters
    ----------
    answers
        Answers about gold items with a prediction of the model.
    n_models
        Number of models whose checks share the level.

    Raises
    ------
    NotIdentified
        If the items are in fewer than `FEWEST_EFFECTIVE` effective clusters.

    Examples
    --------
    >>> fooled = [GoldAnswer(about_truth=False, is_right=j > 5, is_predicted=j < 12) for j in range(40)]
    >>> gold_errors(fooled).passed
    False
    """
    name, tests, alpha = "gold_errors", [], GOLD_ALPHA / n_models
    for truth, what in ((True, "true"), (False, "false")):
        mine = [a for a in answers if a.about_truth is truth]
        is_wrong = np.array([not a.is_right for a in mine], np.bool_)
        is_own = np.array([a.is_predicted for a in mine], np.bool_)
        n, n_other = int(is_own.sum()), int((~is_own).sum())
        if n and n_other:
            wrong, wrong_other = int(is_wrong[is_own].sum()), int(is_wrong[~is_own].sum())
            p = odds_p_value(np.array([[wrong, n, wrong_other, n_other]]), tolerated=1.0)
            value = (is_wrong - is_wrong.mean()) * (is_own - is_own.mean())
            numbers = [a.cluster for a in mine if a.cluster is not None]
            p = deflate_for_clusters(p, value, np.array(numbers) if numbers else None, alpha)
            own, other = f"{wrong} of {n}", f"{wrong_other} of {n_other}"
            tests.append((p, f"wrong answers about {what} options: {own} if predicted, {other} if not"))
    if not tests:
        text = "gold answers must include options that the model predicts and other options"
        return Check.not_made(name, text + _SUPPOSED)
    p = min(1.0, 2 * min(p for p, _ in tests))
    return Check.of(name, CheckOutcome(None, p, "; ".join(told for _, told in tests), _SUPPOSED), alpha)


def readability(data: CheckInput) -> CheckOutcome:
    """Test that unreadable predictions are equally common among labelled and other items.

    A failure suggests that questions were asked only where the model named an option. Unreadable predictions,
    which count as wrong, are then missing, and the estimate is the accuracy of readable predictions only.
    """
    predictions, labels, inside = data.predictions, data.labels, data.labels.labelled
    n, bad = (
        [int(np.count_nonzero(x & side)) for side in (~inside, inside)]
        for x in (predictions.ran, predictions.is_unreadable)
    )
    if not sum(bad) or not all(n):
        raise EstimateError("every prediction is readable, or every item has a label")
    share = sum(bad) / sum(n)
    z = z_of_sum(bad[1] / n[1] - bad[0] / n[0], 0.0, share * (1 - share) * (1 / n[0] + 1 / n[1]))
    text = f"unreadable: {bad[1]} of {n[1]} predictions with labels, {bad[0]} of {n[0]} without"
    ran = predictions.ran
    value = (predictions.is_unreadable[ran] - share) * (inside[ran] - n[1] / sum(n))
    cluster = None if labels.cluster is None else labels.cluster.code[ran]
    p = deflate_for_clusters(two_sided(z), value, cluster, data.level("readability"))
    return CheckOutcome(z, p, text)


def resolution(data: CheckInput) -> CheckOutcome:
    """Check that every item asked about is resolved for the model, or that an expert abstained on it."""
    predictions, labels = data.predictions, data.labels
    items = np.flatnonzero(predictions.ran & labels.asked_items)
    if not items.size:
        raise EstimateError("no item asked about has a prediction")
    options = predictions.option[items].astype(np.int64)[:, None]
    unknown = read_item_answers(labels).correctness(options, items)[:, 0] == UNKNOWN
    silent = mark(labels.item[labels.kind == ABSTAINED], labels.index.size)[items]
    open_items, waiting = (int(np.count_nonzero(x)) for x in (unknown, unknown & ~silent))
    share = 1 - open_items / items.size
    text = f"{items.size - open_items} of {items.size} items are resolved ({share:.0%})"
    if open_items > waiting:
        text += f"; on {open_items - waiting} an expert abstained"
    if waiting:
        text += f"; on {waiting} the next question is open"
    return CheckOutcome(share, None, text, passed=not waiting)


LEAST_IN_STRATUM = 30


def run_checks(
    predictions: AnyPredictions,
    labels: AnyLabels,
    *,
    strata: Strata = None,
    others: Sequence[AnyPredictions] | None = None,
    only: Collection[str] | None = None,
) -> tuple[Check, ...]:
    """Run the checks on one model's predictions and the labels.

    Parameters
    ----------
    predictions, labels, strata
        As in `accuracy`.
    others
        Predictions of the study's other models; if None, the predictions stored with the labels are used.
        Some checks compare models, and the level of the tests is split among all models.
    only
        Names of the checks to run; None for all.

    Returns
    -------
    tuple of Check
        Results in the order of `CHECKS`. The protocol of the labels determines which checks apply; for a
        plain list of labels they are `UNIFORM_CHECKS` and ``propensities``. If data are missing or
        contradictory, the state of a check is ``"not made"`` and its message gives the reason.

    Examples
    --------
    >>> from oversight.harness.types import Label, LabelKind, Prediction
    >>> model = [Prediction(f"i{j}", 0) for j in range(60)]
    >>> said = [Label(f"i{j}", j % 4, LabelKind.COMPLEMENTARY, 4, 0.25) for j in range(60)]
    >>> [check.name for check in run_checks(model, said) if check.state == "failed"]
    ['yes_rate']
    """
    if others is None and isinstance(labels, LabelColumns):
        others = [model for model in labels.models if model is not predictions]
    (predicted, *rest), said = align_models([predictions, *(others or ())], labels)
    names = said.statement.checks if said.statements else (*UNIFORM_CHECKS, "propensities")
    data = CheckInput(predicted, said, find_strata(predicted, said, strata), rest, names)
    found = []
    for name, check in CHECKS.items():
        if name in names and (only is None or name in only):
            try:
                found.append(Check.of(name, check(data), data.level(name)))
            except EstimateError as error:
                found.append(Check.not_made(name, str(error)))
    return tuple(found)


def abstention(data: CheckInput) -> CheckOutcome:
    """Check that unanswered questions cannot move the estimate far.

    The check passes if an interval of at most `WIDEST` times the width covers the estimates that the missing
    answers could lead to. Estimates assume that a missing answer is unrelated to the truth, which no data can
    test.
    """

    def make(labels: LabelColumns) -> Estimate:
        if labels.is_even and labels.cluster is None:
            return estimate_tallies(tally_columns(data.predictions, labels, data.strata))
        return estimate_by_design(data.predictions, labels, level=0.95, gold=None)

    now = make(data.labels)
    hidden = find_hidden(now, make, data.predictions, data.labels)
    if hidden is None:
        return CheckOutcome(0.0, None, "every question was answered")
    passed = hidden.allow_for(now) is not None
    text = str(hidden) + "; the interval allows for that" * passed
    return CheckOutcome(hidden.missing / hidden.of, None, text, passed=passed)


def hausman(data: CheckInput) -> CheckOutcome:
    """Test that ordinary and complementary labels lead to the same accuracy.

    The statistic Σ_h (A_ord − A_comp)²/(v_o + v_c) over strata h is χ². Variances are taken at A_ML. Experts
    who say no to true options bias A_comp, experts who say yes to false options bias A_ord, and questions
    that follow predictions bias both.
    """
    statistic, df, text = 0.0, 0, []
    for t in data.tallies.strata:
        if not (t.n_o and t.n_c):
            continue
        o, c, ml = (make_point(name, t.hits, t.misses) for name in ("ord", "comp", "ml"))
        at = inside(ml.value, t.n_readable)
        v = math.fsum(
            w * w / information(sample, at)
            for point in (o, c)
            for w, sample in zip(point.weights, point.components, strict=True)
        )
        statistic += (o.value - c.value) ** 2 / v
        df += 1
        text.append(f"{t}: ord {o.value:.3f}, comp {c.value:.3f}")
    if df == 0:
        raise EstimateError("no stratum has both ordinary and complementary labels")
    return CheckOutcome(statistic, chi2_tail(statistic, df), "; ".join(text))


def small_strata(data: CheckInput) -> CheckOutcome:
    """Check that every stratum has the 30 labelled items that an interval over strata needs."""
    least, strata = LEAST_IN_STRATUM, data.tallies.strata
    small = [t for t in strata if t.n_labelled < least]
    smallest = min((t.n_labelled for t in strata), default=0)
    text = f"the smallest stratum has {smallest} labelled items"
    if small:
        text = f"fewer than {least} labelled items in " + "; ".join(f"{t} ({t.n_labelled})" for t in small)
    return CheckOutcome(smallest, None, text, passed=not small)


CHECKS: Mapping[str, Callable[[CheckInput], CheckOutcome]] = MappingProxyType(
    {
        "asked_predicted": asked_predicted,
        "yes_rate": yes_rate,
        "hausman": hausman,
        "asked_options": asked_options,
        "yes_rate_by_expert": lambda data: yes_rate_by_expert(data.votes),
        "agreement": lambda data: agreement(data.votes),
        "propensities": propensities,
        "routed_for": routed_for,
        "coin": coin,
        "seen_answers": seen_answers,
        "resolution": resolution,
        "abstention": abstention,
        "readability": readability,
        "small_strata": small_strata,
    }
)
"""Name → check; an EstimateError says why it cannot be made. A protocol lists the checks of its labels."""

VOIDING_CHECKS = {*OF_STUDY, *OF_MODEL} - {"readability"}
ERROR_CHECKS = ("yes_rate", "hausman")
"""Checks that fail if experts err. Their failure does not void estimates corrected for experts' errors."""
EQUAL_RATES = ("asked_predicted", "yes_rate", "hausman")
"""Checks that assume equal answering rates; ignored if rates differ, because estimates allow for that."""


def explain_failures(
    predictions: PredictionColumns, labels: LabelColumns, *, corrected: bool = False, bounded: bool = True
) -> str:
    """Return names and messages of the failed checks that make an estimate invalid; empty if none failed.

    Parameters
    ----------
    predictions, labels
        Data from which the estimate of a model is computed; labels as returned by `collected_part`.
    corrected
        Whether the estimate is corrected for experts' errors.
    bounded
        Whether the caller allows for unanswered questions (`find_hidden`); if not, the check ``abstention``
        is included.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> explain_failures(predicted, said)
    ''
    """
    spared = ERROR_CHECKS * corrected
    spared += EQUAL_RATES * (find_unequal(labels, predictions.is_there) is not None)
    if all(model is predictions for model in labels.models):
        # a single model may truly be worse than guessing, so a negative association refutes nothing
        spared += ("agreement",)
    failed = [check for check in _find_failed(predictions, labels, bounded) if check.name not in spared]
    return "; ".join(f"check {check.name!r} failed: {check.message}" for check in failed)


_MANY_FAILED = 0.02
"""Largest accepted share of failed calls."""


def explain_failed_calls(*models: PredictionColumns, found: tuple[float, float, float] | None = None) -> str:
    """Return a reason to doubt an estimate if calls failed on more than 2 % of the items; otherwise "".

    Items with failed calls are left out, and are perhaps not a random part of all items: for example, calls
    may fail on long texts.

    Parameters
    ----------
    found
        Value and interval of the accuracy, or of a difference of two accuracies. If given, "" is also
        returned if the items left out can hardly change the value.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> explain_failed_calls(align(model, labels)[0])
    ''
    """
    failed = np.logical_or.reduce([model.has_failed for model in models])
    there = np.logical_and.reduce([model.is_there for model in models])
    number, of = np.count_nonzero(failed), np.count_nonzero(there)
    if number <= _MANY_FAILED * of:
        return ""
    if found is not None:
        value, low, high = found
        share = number / of
        least = (1 - share) * value - share * (len(models) > 1)
        if is_negligible(least, value, (1 - share) * value + share, high - low):
            return ""
    told = f"calls failed on {number} of {of} items, and the items left out may be the hard ones"
    return f"{told}; see: oversight run --retry-errors"


@lru_cache(maxsize=4)
def _find_failed(predictions: PredictionColumns, labels: LabelColumns, bounded: bool) -> tuple[Check, ...]:  # noqa: FBT001  cached
    """Return failed checks that invalidate estimates; cached, because all estimates of a model use them."""
    if not len(labels):
        return ()
    more = () if bounded else ("abstention",)
    found = run_checks(predictions, labels, only={*VOIDING_CHECKS, *more})
    return tuple(check for check in found if check.passed is False)
