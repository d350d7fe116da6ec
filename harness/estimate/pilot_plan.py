"""Number of questions that a half-width needs, estimated from a pilot study.

Each row of a plan uses the variance of the estimate that it names (`side_variances`): the estimate without
side information, or with votes of other models, a judge or a pool of items. Without side information, the
number is as uncertain as the accuracy. With side information, the number is also uncertain because the value
of votes or of a judge was estimated from the pilot's answers. If the pilot has too few answers, the row gives
the reason instead of a number.

**Variance per item of a planned study.** Outcomes vary with the planned draw of options and with the unknown
truth. The interval of `oversight.harness.estimate.tilting` uses outcomes g, whose variance depends on the
draw, on the working distribution and on the truth. But given item x and truth k,

    f_k(x) = Σ_j π_j(x) [g(x, j, 1{j = k}) − A]²

is a number, where π are the planned propensities, and g is computed at the tilt of mean A. So E f is the mean
of Σ_k f_k 1{y = k}, which a pilot estimates like an accuracy, by equation (G) of
`oversight.harness.estimate.routed_means`, for any draw of the pilot's options.

The planned variance is that of the score interval's outcomes (`plan_outcomes`): the larger of the variance
under the working model and the observed one. The working distribution of votes or judges is learned from the
pilot. A proportional draw within strata subtracts the variance between strata: the squared covariance of
being right and the stratum's mean guess, divided by the variance of this guess (a lower bound, corrected for
bias). If a judge's probabilities cover the whole pool, the variance depends mainly on the deviations of drawn
items from their expected values (see `ItemVariance`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from oversight.harness.argument_checks import check_mapping, check_names
from oversight.harness.arrays import UNKNOWN, FloatArray, IntArray, take_rows
from oversight.harness.columns import (
    ABSTAINED,
    AnyLabels,
    AnyPredictions,
    LabelColumns,
    PredictionColumns,
    align_pool,
    keep_drawn,
)
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.combinations import refuse
from oversight.harness.estimate.core import check_level, find_root, z_value
from oversight.harness.estimate.evidence import Evidence, collected_part
from oversight.harness.estimate.intervals import FAR_ITEMS
from oversight.harness.estimate.item_draws import guess_right, split_by_agreement
from oversight.harness.estimate.judges import JudgeOpinion, split_items_evenly, working_distribution
from oversight.harness.estimate.routed_means import pseudo_outcomes, routed_accuracy, t_quantile, weigh_votes
from oversight.harness.estimate.routed_sample import (
    RoutedSample,
    accuracy_target,
    flat_posterior,
    propensities_for,
    questions_asked,
    resolved_correctness,
    settled_sample,
    vote_posterior,
)
from oversight.harness.estimate.sample_size import (
    PARTITIONED,
    REACHED,
    SEQUENTIAL,
    SHARED,
    TARGETED,
    UNIFORM,
    check_sought,
    log_spread,
)
from oversight.harness.estimate.side_information import LEAST_KINDS, Ratio
from oversight.harness.estimate.tilting import outcomes_at, plan_working, tilt_items, tilt_of
from oversight.harness.types import Displayable, HtmlTable, level_text


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotAnswers:
    """One model's n answered items of a pilot study, with the design of the planned study on these items.

    Attributes
    ----------
    option
        Shape (n,): the model's prediction, −1 for unreadable.
    votes
        Shape (n, M): predictions of all voting models, −1 for unreadable.
    judges
        Judges' opinions on the items.
    data
        The pilot's answers.
    planned
        Shape (n, K): propensities of the options in the planned study. Sequential protocols count as asking
        about the model's own prediction with certainty.
    cost
        Shape (n, K): number of questions that the planned study asks about the item if option k is true.
    guess
        Shape (n,): estimated probability that the model is right, averaged over the item's stratum of the
        pool; None if items are not drawn from strata.
    """

    option: IntArray
    votes: IntArray
    judges: tuple[JudgeOpinion, ...]
    data: RoutedSample
    planned: FloatArray
    cost: FloatArray
    guess: FloatArray | None = None

    @property
    def target(self) -> FloatArray:
        """Target c whose mean is the model's accuracy, shape (n, K): 1 at its prediction, otherwise 0."""
        return accuracy_target(self.option, self.data.propensities.shape[1])

    @property
    def settles(self) -> bool:
        """Whether the planned study certainly asks about every readable prediction of the model."""
        rows = np.flatnonzero(self.option >= 0)
        return bool((self.planned[rows, self.option[rows]] > 1 - 1e-9).all())

    def take(self, items: IntArray) -> PilotAnswers:
        """Select the items at these positions."""
        judges = tuple(judge.take(items) for judge in self.judges)
        return replace(take_rows(self, items), judges=judges, data=self.data.take(items))

    def each_mean(self, values: FloatArray, working: FloatArray) -> FloatArray:
        """Return outcomes, shape (n,), whose mean is unbiased for the mean of `values` at the true options.

        Parameters
        ----------
        values
            Shape (n, K): value of every option.
        working
            Shape (n, K): working distribution, which improves precision and need not be right.

        Raises
        ------
        NotIdentified
            If options that the pilot never asks about have different values.
        """
        return pseudo_outcomes(values, replace(self.data, posterior=working))


_MOST_DRAWN = 240
"""Number of drawn items above which strata are not made finer."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PilotStudy:
    """A study with its answers so far, used as the pilot for planning another study.

    Attributes
    ----------
    models, judges
        Predictions by name, over the index of the labels.
    labels
        Labels of the pilot.
    voters
        Model name → predictions, for all models whose votes serve as side information.
    asked_for
        Names of the models whose predictions determine the questions of the planned study.
    protocol
        Protocol of the planned study.
    epsilon
        With several models, the share ε of targeted propensities that is spread uniformly over the options.
    n_options
        Shape (N,): number of options of every item; None if it is known only from labels.
    """

    models: Mapping[str, PredictionColumns]
    judges: Mapping[str, PredictionColumns]
    labels: LabelColumns
    voters: Mapping[str, PredictionColumns]
    asked_for: Sequence[str]
    protocol: str
    epsilon: float = 0.1
    n_options: IntArray | None = None
    _strata: dict[tuple[bytes, int], tuple[FloatArray, IntArray]] = field(default_factory=dict)

    def gather(self, name: str) -> tuple[PilotAnswers, IntArray, float]:
        """Collect one model's answered items.

        Returns
        -------
        PilotAnswers, array, float
            The answered items, their positions in the index, and the share of questions with a yes or no.

        Raises
        ------
        EstimateError
            If there are no answers about items with a prediction of the model, or no prediction is readable.
        NotIdentified
            If items have several questions, or the planned study does not ask about this model.
        """
        if self.protocol == SEQUENTIAL and name not in self.asked_for:
            raise NotIdentified(f"the {SEQUENTIAL} questions are about predictions of other models only")
        predictions = _keep_pilot(self.models[name], self.labels)
        read = self._read_resolved if self.labels.is_resolved else self._read_routed
        data, option, items, share = read(predictions)
        if not (option >= 0).any():
            n = len(option)
            raise EstimateError(f"cannot be planned: all {n} predictions for answered items are unreadable")
        seen = np.stack([np.maximum(p.option[items], -1) for p in self.voters.values()], axis=1)
        looked_at = _columns([self.voters[n] for n in self.asked_for], items)
        planned, cost = self._draw(option, looked_at, data.n_options, data.propensities.shape[1])
        if self.labels.is_resolved:
            asked = np.bincount(self.labels.item, minlength=self.labels.index.size)[items]
            cost = np.tile(asked[:, None], cost.shape[1]).astype(np.float64)
        pilot = PilotAnswers(
            option=option,
            votes=seen.astype(np.int64),
            judges=tuple(JudgeOpinion.of(judge).take(items) for judge in self.judges.values()),
            data=data,
            planned=planned,
            cost=cost,
        )
        return pilot, items, share

    def _read_routed(self, predictions: PredictionColumns) -> tuple[RoutedSample, IntArray, IntArray, float]:
        part, _ = collected_part(self.labels, predictions.is_there)
        evidence = Evidence.gather([predictions], part, tilted=False)
        if evidence.most_questions > 1:
            raise NotIdentified("items have several questions, but a plan assumes one per item")
        kinds = part.kind[predictions.ran[part.item]]
        answered = float((kinds != ABSTAINED).mean())
        return replace(evidence.sample, strata=None), evidence.option(), evidence.items, answered

    def tell_missing(self, answered: float, items: int) -> str:
        """Return a remark that missing answers widen intervals beyond the plan; empty if none is missing.

        `answered` is the third result of `gather`, and `items` the number of answered items.
        """
        of = len(self.labels) if self.labels.is_resolved else round(items / answered)
        missing = np.count_nonzero(self.labels.kind == ABSTAINED) if self.labels.is_resolved else of - items
        told = f"; {missing:,} of {of:,} questions have no yes or no: with as large a share, intervals "
        return f"{told}are wider than planned, or marked (!)" if missing else ""

    def _read_resolved(
        self, predictions: PredictionColumns
    ) -> tuple[RoutedSample, IntArray, IntArray, float]:
        """Return the resolved items as if each prediction of the model had been asked about."""
        found = resolved_correctness(self.labels, [predictions])
        known = np.flatnonzero(found.correct[:, 0] != UNKNOWN)
        items, right = found.items[known], found.correct[known, 0]
        option = predictions.option[items].astype(np.int64)
        K = self.labels.item_options
        known_or_most = np.where(self.labels.labelled, K, K.max())
        return settled_sample(option, right, known_or_most[items]), option, items, 1.0

    def _draw(
        self, option: IntArray, looked_at: IntArray, n_options: IntArray, width: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return planned propensities, and the number of questions if option k is true; shape (n, K) each."""
        if self.protocol == PARTITIONED:
            return flat_posterior(n_options, width), np.ones((len(option), width))
        if self.protocol == TARGETED:
            drawn = propensities_for(looked_at, n_options, width, epsilon=self.epsilon)
            return drawn, np.tile(drawn.sum(axis=1, keepdims=True), width)
        guesses = np.full(looked_at.shape[1], 0.5)
        votes = vote_posterior(looked_at, n_options, width, accuracy=guesses)
        price = [questions_asked(looked_at, votes, np.full(len(option), k), n_options) for k in range(width)]
        return accuracy_target(option, width), np.stack(price, axis=1).astype(np.float64)

    def add_strata(self, pilot: PilotAnswers, name: str, items: IntArray, drawn: int) -> PilotAnswers:
        """Return the pilot's answers with `guess`: the probability that the model is right, by item.

        This probability is estimated from the models' votes and averaged within each stratum of a draw of
        `drawn` items. Strata are cached.

        Raises
        ------
        NotIdentified
            If the number of options of items without a label is unknown.
        """
        there, names = self.models[name].is_there, list(self.voters)
        key = (there.tobytes(), min(drawn, _MOST_DRAWN))
        places = np.flatnonzero(there)
        if key not in self._strata:
            votes = _columns(list(self.voters.values()), places)
            right = guess_right(votes, self._know_options()[places])
            looked_at = [names.index(n) for n in self.asked_for]
            self._strata[key] = right, split_by_agreement(right[:, looked_at], key[1])
        right, number = self._strata[key]
        own = np.bincount(number, right[:, names.index(name)]) / np.maximum(np.bincount(number), 1)
        guess = np.full(self.labels.index.size, np.nan)
        guess[places] = own[number]
        return replace(pilot, guess=guess[items])

    def _know_options(self) -> IntArray:
        if self.n_options is not None:
            return self.n_options
        said = self.labels.n_options
        if not said.size or np.ptp(said) > 0:
            raise NotIdentified("the number of options is unknown for items without a question")
        return np.full(self.labels.index.size, int(said[0]))


def _keep_pilot(predictions: PredictionColumns, labels: LabelColumns) -> PredictionColumns:
    """Keep only the predictions on items of the pilot.

    If there is a pool, these are the items drawn from it. Without a pool, they are the items asked about.
    Items with an unreadable prediction then often have no question. The share of these items that is kept
    equals the share of readable predictions that were asked about.
    """
    if labels.pool is not None:
        return keep_drawn(predictions, labels)
    asked, none = labels.asked_items, predictions.is_unreadable
    # The pilot itself contains items with an unreadable prediction, so none are added.
    if (none & asked).any():
        return predictions.on(asked)
    settled = np.flatnonzero(none)
    put, others = np.count_nonzero(asked), np.count_nonzero(predictions.ran & ~none)
    kept = asked.copy()
    kept[settled[: round(settled.size * put / max(1, others))]] = True
    return predictions.on(kept)


def _columns(models: Sequence[PredictionColumns], items: IntArray) -> IntArray:
    """Return the options that models predict, shape (n, M), −1 if a model names none."""
    return np.stack([np.maximum(m.option[items], -1) for m in models], axis=1).astype(np.int64)


_PORTION = 2_000
"""Number of items processed at a time; each item takes two rows per option, one per possible answer."""


def plan_outcomes(
    c: FloatArray,
    propensities: FloatArray,
    n_options: IntArray,
    working: FloatArray | None,
    mean: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return second moments of g, the outcome of an item's planned question (see `tilt_items`).

    The N items have equal weights and one question each.

    Parameters
    ----------
    c, propensities, n_options, working
        As in `tilt_items`; if `working` is None, the distribution before any answer is used (`plan_working`).
    mean
        Mean A under the null hypothesis; outcomes are computed at this value.

    Returns
    -------
    array, array, array
        Shape (N, K): E[(g − A)² | option k is true]. Shape (N, K): E[(g − E c)² | option k is true]. Shape
        (N,): E c, the item's expected value under the tilted working distribution.

    Raises
    ------
    NotIdentified
        If the planned propensities do not identify this target.
    """
    working = plan_working(c, propensities, n_options) if working is None else working
    nobody, none = np.full(len(c), -1), np.zeros(len(c))
    tilt = tilt_of(tilt_items(c, propensities, n_options, nobody, none, working=working), mean)
    parts = [slice(start, start + _PORTION) for start in range(0, len(c), _PORTION)]
    found = [_plan_part(c[p], propensities[p], n_options[p], working[p], mean, tilt) for p in parts]
    around_mean, around_guess, guess = (np.concatenate(x) for x in zip(*found, strict=True))
    return around_mean, around_guess, guess


def model_variances(
    c: FloatArray, propensities: FloatArray, n_options: IntArray, working: FloatArray | None, mean: float
) -> tuple[float, float]:
    """Return the means of (g − A)² and (g − E c)² under the working distribution (see `plan_outcomes`)."""
    nobody, none = np.full(len(c), -1), np.zeros(len(c))
    rows = tilt_items(c, propensities, n_options, nobody, none, working=working)
    guess, variance, _ = outcomes_at(rows, tilt_of(rows, mean))
    return float((variance + (guess - mean) ** 2).mean()), float(variance.mean())


def _plan_part(
    c: FloatArray,
    propensities: FloatArray,
    n_options: IntArray,
    working: FloatArray,
    mean: float,
    tilt: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the three arrays of `plan_outcomes` for some of the items."""
    n, width = c.shape
    each = np.repeat(np.arange(n), 2 * width)
    option, yes = (x.ravel() for x in np.indices((n, width, 2))[1:])
    asked = np.where(propensities[each, option] > 0, option, -1)
    rows = tilt_items(
        c[each],
        propensities[each],
        n_options[each],
        asked,
        yes.astype(np.float64),
        working=working[each],
    )
    guess, _, g = (x.reshape(n, width, 2) for x in outcomes_at(rows, tilt))
    first, own = guess[:, 0, 0], np.arange(width) < n_options[:, None]
    moments = []
    for centre in (mean, first[:, None, None]):
        no, is_true = np.moveaxis((g - centre) ** 2, 2, 0)
        refuted = (propensities * no).sum(axis=1, keepdims=True)
        moments.append(np.where(own, refuted + propensities * (is_true - no), 0.0))
    return moments[0], moments[1], first


NONE, VOTES, JUDGE, POOL = "none", "votes", "judge", "pool"
POOL_VOTES, POOL_JUDGE = "pool+votes", "pool+judge"
_EDGE, _REACH, _GRID = 1e-3, 0.3, 13
"""Grid of means at which variances are computed.

The three numbers are the smallest distance of a mean from 0 and 1, the largest distance from the estimated
mean, and the number of means.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemVariance:
    """Variance per item of an estimate.

    Attributes
    ----------
    whole
        Variance of outcomes around their mean.
    near, pool
        Variance of outcomes around the value that a judge expects for the item; and number N of pool items,
        if the judge covers the pool, otherwise 0. With n of N items drawn, the variance of an estimate per
        item is (1 − n/N) near + (n/N) whole.
    between, far
        Variance between strata, which a stratified draw removes, and the sum of squares added for items far
        from the mean (see `design_effect`). Both 0 if unused.
    means, curves
        `means`, shape (G,): a grid of accuracies. `curves`, shape (2, G): factors by which `whole` and `near`
        are multiplied at these accuracies. None if the interval is not a score interval.
    """

    whole: float
    near: float = 0.0
    pool: int = 0
    between: float = 0.0
    far: float = 0.0
    means: FloatArray | None = None
    curves: FloatArray | None = None

    def at(self, items: float, mean: float | None = None) -> float:
        """Return the variance of an estimate from `items` items, multiplied by `items`.

        `mean` is the true mean at which the variance is computed; by default it is the pilot's estimate.
        """
        whole, near = self.whole, self.near
        if mean is not None and self.means is not None and self.curves is not None:
            whole *= float(np.interp(mean, self.means, self.curves[0]))
            near *= float(np.interp(mean, self.means, self.curves[1]))
        if self.pool:
            drawn = min(1.0, items / self.pool)
            return (1 - drawn) * near + drawn * whole
        if self.far:
            return whole * (items * (whole - self.between) + self.far) / (items * whole + self.far)
        return whole


@dataclass(frozen=True, slots=True, kw_only=True)
class SideVariances:
    """Variance of one model's estimate for each kind of side information.

    Attributes
    ----------
    of
        Kind of side information → variance per item.
    undefined
        Kind of side information whose variance is unknown → reason.
    cost
        Mean number of questions per item.
    """

    of: Mapping[str, ItemVariance]
    undefined: Mapping[str, str]
    cost: float


def side_variances(
    pilot: PilotAnswers, mean: float, *, pool: int | None = None, curved: bool = False
) -> SideVariances:
    """Estimate the variances of one model's accuracy for every kind of side information.

    Parameters
    ----------
    pilot, mean
        The pilot's answers, and the model's accuracy.
    pool
        Number of items of the pool, if items are to be drawn from one.
    curved
        Whether to compute the variances also at accuracies other than `mean`.

    Raises
    ------
    NotIdentified
        If the planned draw does not identify the model's accuracy, or the pilot does not identify the
        variance or the number of questions.
    """
    votes = pilot.votes if pilot.votes.shape[1] > 1 else pilot.option[:, None]
    best = weigh_votes(votes, pilot.data)
    of, undefined = dict[str, ItemVariance](), dict[str, str]()
    workings: dict[str, FloatArray | None] = {NONE: None}
    if pilot.votes.shape[1] > 1 and not pilot.settles:
        workings[VOTES] = best
    if pilot.judges:
        workings[JUDGE] = working_distribution(pilot.option, pilot.data, pilot.judges)
    for side, working in workings.items():
        try:
            of |= _vary(pilot, mean, side, working, best, pool=pool, curved=curved)
        except NotIdentified as error:
            if side == NONE:
                raise
            undefined[side] = f"not known from these answers: {error}"
    cost = float(pilot.each_mean(pilot.cost, best).mean())
    return SideVariances(of=of, undefined=undefined, cost=max(cost, 1e-9))


def accuracy_variance(pilot: PilotAnswers, mean: float) -> float:
    """Return the variance per item without side information, under the working model at accuracy `mean`."""
    readable = np.flatnonzero(pilot.option >= 0)
    share = len(readable) / len(pilot.option)
    inner = min(1 - 1e-9, mean / share)
    part = pilot.take(readable)
    whole, _ = model_variances(part.target, part.planned, part.data.n_options, None, inner)
    return share * whole + share * (1 - share) * inner**2


def _vary(
    pilot: PilotAnswers,
    mean: float,
    side: str,
    working: FloatArray | None,
    best: FloatArray,
    *,
    pool: int | None,
    curved: bool,
) -> dict[str, ItemVariance]:
    """Return variances per item with one working distribution, by kind of side information.

    Each is the larger of the model-based and the observed variance. The accuracy is ρ A_r, where ρ is the
    share of readable predictions and A_r their accuracy. So the variance has two parts: the variance of the
    outcomes of readable predictions, and the variance of ρ.
    """
    readable = np.flatnonzero(pilot.option >= 0)
    share = len(readable) / len(pilot.option)
    inner, part = min(1 - 1e-9, mean / share), pilot.take(readable)
    own = None if working is None else working[readable]
    *moments, guess = plan_outcomes(part.target, part.planned, part.data.n_options, own, inner)
    between = (_project(guess, part.guess)[0], _between_strata(pilot, best))
    modelled = model_variances(part.target, part.planned, part.data.n_options, own, inner)
    # The likelihood interval, made if K is constant and options are drawn uniformly, does not depend on the
    # observed variance.
    seen = (0.0, 0.0)
    if working is not None or not _is_likelihood(part):
        first, second = (float(part.each_mean(values, best[readable]).mean()) for values in moments)
        seen = (first, second)
    rest = share * (1 - share) * inner**2
    one = ItemVariance(whole=share * max(modelled[0], seen[0]) + rest)
    if curved and not (pilot.settles and working is None):
        ends = max(_EDGE, inner - _REACH), min(1 - _EDGE, inner + _REACH)
        means = np.linspace(*ends, _GRID, dtype=np.float64)
        each = [model_variances(part.target, part.planned, part.data.n_options, own, m) for m in means]
        curves = np.array(each).T / np.maximum(np.array(modelled)[:, None], 1e-12)
        one = replace(one, means=share * means, curves=curves)
    found = {side: one}
    if side == JUDGE:
        if pilot.settles:
            del found[side]
        if pool:
            found[POOL_JUDGE] = replace(one, near=share * max(modelled[1], seen[1]), pool=pool)
    elif pilot.guess is not None and pilot.settles:
        far = FAR_ITEMS * max(mean, 1 - mean) ** 2
        found[POOL] = replace(one, between=min(between[1], one.whole), far=far)
    elif pilot.guess is not None:
        left = max(modelled[0] - share * between[0], seen[0] - share * between[1], 0.0)
        found[POOL if side == NONE else POOL_VOTES] = replace(one, whole=share * left + rest)
    return found


def _is_likelihood(pilot: PilotAnswers) -> bool:
    """Return whether the planned interval is that of the likelihood, which needs one K and uniform draws."""
    own, K = pilot.data.valid, pilot.data.n_options
    uniform = np.allclose(pilot.planned[own], (own / K[:, None])[own])
    return uniform and bool(np.ptp(K) == 0)


def _between_strata(pilot: PilotAnswers, best: FloatArray) -> float:
    """Estimate how much the probability of a right prediction varies between the pool's strata.

    The variance is corrected for bias, and at least 0. If every readable prediction is asked about with
    certainty, all items are used. Otherwise only items with a readable prediction are used.
    """
    kept = np.arange(len(pilot.option)) if pilot.settles else np.flatnonzero(pilot.option >= 0)
    part = pilot.take(kept)
    between, noise = _project(part.each_mean(part.target, best[kept]), part.guess)
    return max(0.0, between - noise)


def _project(values: FloatArray, guess: FloatArray | None) -> tuple[float, float]:
    """Return the variance of the values that a linear fit on `guess` explains, and its upward bias."""
    if guess is None or not float(np.ptp(guess)) > 0:
        return 0.0, 0.0
    product, spread = (values - values.mean()) * (guess - guess.mean()), float(guess.var())
    return float(product.mean()) ** 2 / spread, float(product.var(ddof=1)) / len(product) / spread


_GROUPS, _LEAST_GROUPS = 10, 8
"""Number of jackknife groups, and smallest number of groups that must give a result."""
_STEPS = 8
_LARGEST = 5_000
"""Largest number of pilot items used by the jackknife; with more items, side information hardly varies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """The goal of a plan: a half-width to reach, or the affordable number of questions.

    Attributes
    ----------
    half_width, questions
        The half-width or the number of questions that was given; the other attribute is None.
    level
        Confidence level.
    answered
        Share of questions that experts answer.
    """

    half_width: float | None
    questions: int | None
    level: float
    answered: float = 1.0

    def find_size(self, variance: ItemVariance, cost: float, mean: float) -> float:
        """Return the number of questions, or the half-width, whichever is sought.

        `variance` and `cost` are the variance and the number of questions per item; `mean` is the accuracy.
        """
        wanted, level = self.half_width, self.level
        if wanted is None:
            return half_of(variance, (self.questions or 1) * self.answered / cost, mean, level)
        most = 4.0
        while half_of(variance, most, mean, level) > wanted:
            most *= 4
        items = find_root(lambda n: half_of(variance, n, mean, level) - wanted, most / 4, most)
        return items * cost / self.answered

    def find_all(self, found: SideVariances, mean: float) -> dict[str, float]:
        """Return the result of `find_size` for each kind of side information, by name."""
        return {side: self.find_size(variance, found.cost, mean) for side, variance in found.of.items()}


def half_of(variance: ItemVariance, items: float, mean: float, level: float) -> float:
    """Return half the width of the planned interval for an estimate `mean` from n = `items` items.

    The ends of the interval are the m in [0, 1] with (m − `mean`)² = t² v(m)/n, where v(m) is the variance at
    m and t is Student's quantile. For binomial shares without side information and for comparisons,
    `variance` is known only at the estimate; the result is then z √(v/n).
    """
    if variance.means is None:
        return z_value(level) * math.sqrt(variance.at(items) / items)
    width, z = 0.0, t_quantile(level, max(1.0, items))
    for side, most in ((-1, mean), (1, 1 - mean)):
        off = 0.0
        for _ in range(_STEPS):
            off = min(most, z * math.sqrt(variance.at(items, mean + side * off) / items))
        width += off
    return width / 2


def find_ratios(
    pilot: PilotAnswers, found: Mapping[str, float], aim: Aim, mean: float, pool: int | None
) -> dict[str, Ratio]:
    """Return, by kind of side information, the planned number divided by the number without side information.

    Each ratio has a jackknife interval: each of ten groups of items is left out in turn, and everything is
    learned from the other nine. If there are more than 5,000 items, a random sample of them is used. A kind
    of side information is left out if fewer than `_LEAST_GROUPS` groups give a result.
    """
    n = len(pilot.option)
    kept = np.arange(n) if n <= _LARGEST else np.random.default_rng(0).permutation(n)[:_LARGEST]
    part = pilot.take(kept)
    group = split_items_evenly(part.data, _GROUPS, 1)
    left = dict[str, list[float]]()
    for one in range(_GROUPS):
        try:
            without = aim.find_all(
                side_variances(part.take(np.flatnonzero(group != one)), mean, pool=pool), mean
            )
        except EstimateError:
            continue
        for side, value in without.items():
            left.setdefault(side, []).append(math.log(value / (1 if side == NONE else without[NONE])))
    ratios = dict[str, Ratio]()
    for side, logs in left.items():
        if side in found and len(logs) >= _LEAST_GROUPS:
            variance = (len(logs) - 1) * float(np.var(logs)) * len(kept) / n
            half = t_quantile(aim.level, len(logs) - 1) * math.sqrt(variance)
            ratios[side] = Ratio.around(found[side] / found[NONE], half)
    return ratios


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    """Plan for one model with one kind of side information.

    Attributes
    ----------
    model
        Name of the model.
    uses
        Side information used: ``none``, or ``votes``, ``judge``, ``pool``, joined by ``+``.
    questions, half_width
        Number of questions to experts, and the half-width that at least 80 % of studies with this plan do not
        exceed if experts answer every question with yes or no; None if unknown.
    half_width_expected
        Mean half-width of studies with this plan.
    low, high
        Ends of an approximate confidence interval of `questions` if a half-width was given, otherwise of
        `half_width`.
    without
        The corresponding number of questions, or half-width, without side information.
    saving, saving_low, saving_high
        Number of questions needed without side information divided by the number needed with it, and the ends
        of this ratio's confidence interval; None for the row without side information.
    answers
        Number of answered items of the pilot.
    sentence
        The row in words, or the reason why its numbers are unknown.
    """

    model: str
    uses: str
    questions: int | None = None
    half_width: float | None = None
    half_width_expected: float | None = None
    low: float | None = None
    high: float | None = None
    without: float | None = None
    saving: float | None = None
    saving_low: float | None = None
    saving_high: float | None = None
    answers: int = 0
    sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanText:
    """Writer of the rows for one model in a plan.

    Attributes
    ----------
    study, aim
        The pilot study, and the goal of the plan.
    size
        Number of items with a prediction of the model, from which items can be drawn.
    cost
        Mean number of questions per item.
    missing
        Remark on questions without a yes or no, at the end of the row without side information.
    """

    study: PilotStudy
    aim: Aim
    size: int
    cost: float
    missing: str

    def count_items(self, sought: float) -> float:
        """Return the number of answered items that a plan needs.

        `sought` is the result of `Aim.find_size`.
        """
        questions = sought if self.aim.half_width is not None else float(self.aim.questions or 1)
        return questions * self.aim.answered / self.cost

    def refuse_items(self, sought: float) -> str:
        """Return why the pool is too small for the planned number `sought`; empty if it is large enough."""
        items = math.ceil(self.count_items(sought))
        if items < self.size:
            return ""
        return f"there are {self.size:,} items, but {items:,} would have to be asked about"

    def fill(
        self,
        row: PlannedRow,
        found: tuple[float, float],
        ends: tuple[float, float],
        without: float | None = None,
        ratio: Ratio | None = None,
    ) -> PlannedRow:
        """Fill a row with numbers.

        Parameters
        ----------
        row
            Row with the model's name and side information.
        found
            Two numbers of questions, or two half-widths, as the goal requires: the first is large enough in
            80 % of studies, the second on average.
        ends
            Ends of the confidence interval of the first number in `found`.
        without
            The corresponding number of questions, or half-width, without side information.
        ratio
            Ratio of the number with side information to the number without.
        """
        wanted, given = self.aim.half_width, self.aim.questions
        sought, expected = found
        whole = wanted is not None
        low, high, value, other = (
            x if x is None or not math.isfinite(x) or not whole else float(math.ceil(x - 1e-9))
            for x in (*ends, sought, without)
        )
        power = 1 if whole else 2
        filled = replace(
            row,
            questions=int(value or 0) if whole else given,
            half_width=wanted if whole else value,
            half_width_expected=expected if wanted is None else wanted * math.sqrt(expected / sought),
            low=low,
            high=high,
            without=other,
            saving=None if ratio is None else ratio.value**-power,
            saving_low=None if ratio is None else ratio.high**-power,
            saving_high=None if ratio is None else max(ratio.low, 1e-9) ** -power,
        )
        return replace(filled, sentence=self._say(filled, sought))

    def _say(self, row: PlannedRow, sought: float) -> str:
        use = "" if row.uses == NONE else f" {self.use(row.uses)}"
        asked, width = f"{row.questions:,}", f"± {_points(row.half_width)} points"
        mean = f" in 80 % of studies, ± {_points(row.half_width_expected)} expected"
        if self.aim.half_width is not None:
            text = f"{asked} questions ({row.low:,.0f} to {row.high:,.0f}){use} buy {width}{mean}"
            text += "" if row.without is None else f"; {row.without:,.0f} without"
        else:
            text = f"{asked} questions{use} buy {width} ({_points(row.low)} to {_points(row.high)}){mean}"
            text += "" if row.without is None else f"; ± {_points(row.without)} without"
        over = self.count_items(sought) > self.size
        text += f"; but there are only {self.size:,} items" if over else ""
        return text + (self.missing if row.uses == NONE else "")

    def use(self, uses: str) -> str:
        """Return a phrase that names the kinds of side information in `uses`, to insert in a sentence."""
        judges = ", ".join(self.study.judges)
        words = {
            VOTES: f"with these {len(self.study.voters)} models' votes",
            JUDGE: f"with the judge{'s' * (len(self.study.judges) > 1)} {judges}",
            POOL: f"about items drawn from {self.size:,} by agreement",
        }
        if uses == POOL_JUDGE:
            return f"about items drawn from {self.size:,}, {words[JUDGE]}"
        return ", ".join(words[part] for part in uses.split("+"))


def _points(share: float | None) -> str:
    return f"{100 * (share or 0):.1f}"


LEAST_ANSWERS = 50
"""Smallest number of answered items for a plan; with fewer, its numbers would be too uncertain."""
_ACCURACIES = 9
_WIDER, _SETTLED, _STRATA = 1.03, 1.015, 1.05
"""Factors by which intervals are wider than the variance predicts.

The factors are, in this order, for score intervals, for exact intervals of a binomial share, and for exact
intervals with strata.
"""
_UNEVEN = 1.04
"""Further factor if options are drawn uniformly and items have different numbers of options.

The score interval uses the larger of two variances, of which one is estimated from rare large outcomes.
"""


def plan_model(study: PilotStudy, name: str, aim: Aim) -> list[PlannedRow]:
    """Plan the questions for one model.

    Returns one row per kind of side information, or a single row with the reason why no plan is possible.
    """
    try:
        pilot, items, answered = study.gather(name)
        return list(_plan(study, name, replace(aim, answered=max(answered, 1e-9)), pilot, items))
    except EstimateError as error:
        return [PlannedRow(model=name, uses=NONE, sentence=str(error))]


def _plan(
    study: PilotStudy, name: str, aim: Aim, pilot: PilotAnswers, items: IntArray
) -> Iterator[PlannedRow]:
    n = len(pilot.option)
    if n < LEAST_ANSWERS:
        raise EstimateError(
            f"cannot be planned before {LEAST_ANSWERS} items are answered; {n} are answered so far"
        )
    working = weigh_votes(pilot.votes, pilot.data)
    found = routed_accuracy(pilot.option, pilot.data, level=aim.level, working=working)
    mean, size = min(1 - 1 / (n + 2), max(1 / (n + 2), found.value)), len(study.models[name])
    pool_why = few = ""
    if min(found.value, 1 - found.value) * n < LEAST_KINDS:
        kind = "wrong" if mean > 0.5 else "right"
        pool_why = few = f"not known: fewer than {LEAST_KINDS} of {n} items are {kind}, by these answers"
    else:
        drawn = aim.find_size(ItemVariance(whole=accuracy_variance(pilot, mean)), 1.0, mean)
        try:
            pilot = study.add_strata(pilot, name, items, max(1, min(size, round(aim.questions or drawn))))
        except EstimateError as error:
            pool_why = str(error)
    whys = _give_reasons(study, pilot, few, pool_why)
    if all(whys.values()):
        pilot = replace(pilot, judges=(), votes=pilot.option[:, None], guess=None)
    made = side_variances(pilot, mean, pool=size, curved=True)
    sought = _allow_for_uneven(study, pilot, aim, aim.find_all(made, mean))
    ratios = find_ratios(pilot, sought, aim, mean, size)
    missing = study.tell_missing(aim.answered, n)
    words = PlanText(study=study, aim=aim, size=size, cost=made.cost, missing=missing)
    spread = _spread(pilot, mean, (found.low, found.high), aim)
    row = PlannedRow(model=name, uses=NONE, answers=n)
    expected = dict(sought)
    for side, found_so_far in expected.items():
        ends = _widen(found_so_far, spread, ratios.get(side))
        sought[side] = found_so_far * _keep_promise(study, pilot, mean, words, (side, found_so_far, ends[1]))
    yield words.fill(row, (sought[NONE], expected[NONE]), _widen(sought[NONE], spread, ratios.get(NONE)))
    for side, why in whys.items():
        one, ratio = replace(row, uses=side), ratios.get(side)
        told = why or made.undefined.get(side, "") or ("" if ratio else "not known from these answers")
        if not told and POOL in side.split("+"):
            told = words.refuse_items(sought[side])
        if not told and ratio:
            ends = _widen(sought[side], spread, ratio)
            yield words.fill(one, (sought[side], expected[side]), ends, sought[NONE], ratio)
        elif "+" not in side:  # a combination gets no row, because the rows of its two kinds state the reason
            yield replace(one, sentence=f"{words.use(side)}: {told}")


def _allow_for_uneven(
    study: PilotStudy, pilot: PilotAnswers, aim: Aim, sought: dict[str, float]
) -> dict[str, float]:
    """Increase planned numbers if options are drawn uniformly and items differ in K (`_UNEVEN`).

    `sought` is the result of `Aim.find_all`.
    """
    if study.protocol != PARTITIONED or np.ptp(pilot.data.n_options) == 0:
        return sought
    factor = _UNEVEN if aim.half_width is None else _UNEVEN**2
    return {side: factor * value for side, value in sought.items()}


def _keep_promise(
    study: PilotStudy, pilot: PilotAnswers, mean: float, words: PlanText, found: tuple[str, float, float]
) -> float:
    """Return the factor by which the planned number must grow so that 80 % of studies reach the goal.

    The planned number is a number of questions, or a half-width. Two factors are combined by adding the
    squares of their logarithms: one for the pilot's uncertainty (from the upper end of the confidence
    interval), and one for the variation of half-widths between studies (simulated without side information).
    `found` contains the kind of side information, the planned number, and the upper end of its confidence
    interval.
    """
    side, sought, high = found
    aim, settled = words.aim, study.protocol == SEQUENTIAL or pilot.settles
    power = 1 if aim.half_width is None else 2
    name = UNIFORM if study.protocol == PARTITIONED else TARGETED if settled else SHARED
    models = len(study.asked_for) if name == SHARED else 1
    items = _round(max(1.0, words.count_items(sought)))
    K, near = round(float(pilot.data.n_options.mean())), min(0.98, max(0.02, round(mean, 2)))
    varies = log_spread(name, K, near, models, items, aim.level)
    learned = float(ndtri(REACHED)) * math.log(high / sought) / z_value(aim.level)
    wider = _WIDER if not settled else _SETTLED if side == NONE else _STRATA
    return wider**power * math.exp(math.hypot(learned, power * varies))


def _round(items: float) -> int:
    """Round to two significant digits, so that similar numbers of items can share cached simulations."""
    digits = int(10 ** max(0, math.floor(math.log10(items)) - 1))
    return max(1, round(items / digits) * digits)


def _widen(sought: float, spread: tuple[float, float], ratio: Ratio | None) -> tuple[float, float]:
    """Return an interval for the planned number `sought`.

    It allows for the uncertainty of the accuracy (`spread`, from `_spread`) and of the value of side
    information (`ratio`, from `find_ratios`).
    """
    learned = math.log(ratio.high / ratio.value) if ratio else 0.0
    low, high = (math.hypot(math.log(each), learned) for each in spread)
    return sought * math.exp(-low), sought * math.exp(high)


def _give_reasons(study: PilotStudy, pilot: PilotAnswers, few: str, pool_why: str) -> dict[str, str]:
    """Return the reason why each kind of side information cannot be used; empty if it can be used."""
    settled = (
        "every question decides whether a prediction is right, so {} no information" if pilot.settles else ""
    )
    if study.protocol == SEQUENTIAL and (study.labels.kind == ABSTAINED).any():
        pool_why = pool_why or "the interval of resolved items cannot use strata if some answers are missing"
    several, found = pilot.votes.shape[1] > 1, dict[str, str]()
    if several:
        found[VOTES] = settled.format("votes add") or few
    if pilot.judges:
        found[JUDGE] = settled.format("a judge adds") or few
    uniform = study.protocol == PARTITIONED
    found[POOL] = pool_why or "the interval for uniformly drawn options cannot use strata" * uniform
    if several and not pilot.settles:
        found[POOL_VOTES] = pool_why
    if pilot.judges and study.protocol != SEQUENTIAL:
        found[POOL_JUDGE] = pool_why
    return found


def _spread(pilot: PilotAnswers, mean: float, ends: tuple[float, float], aim: Aim) -> tuple[float, float]:
    """Return the two factors (≥ 1) that divide and multiply a plan's result to give its range.

    The result is a number of questions or a half-width. The range allows for every accuracy between the two
    `ends`; the result itself is for accuracy `mean`.
    """
    edge = 1 / (len(pilot.option) + 2)
    low, high = (min(1 - edge, max(edge, end)) for end in ends)
    now = accuracy_variance(pilot, mean)
    ratios = [accuracy_variance(pilot, float(m)) / now for m in np.linspace(low, high, _ACCURACIES)]
    power = 1.0 if aim.half_width is not None else 0.5
    return max(1.0, min(1.0, *ratios) ** -power), max(1.0, *ratios) ** power


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PilotPlan(Displayable):
    """Plan of a study, computed from a pilot study for each model and each kind of side information.

    Attributes
    ----------
    rows
        One row per model and kind of side information.
    protocol
        Protocol of the planned study.
    aim
        The goal: a half-width, or a number of questions.

    Examples
    --------
    >>> import oversight as ov
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> found = ov.plan_from_pilot({"model": model}, labels, half_width=0.05)
    >>> found.protocol, found.rows[0].questions
    ('partitioned', 686)
    """

    rows: tuple[PlannedRow, ...]
    protocol: str
    aim: Aim

    picture: ClassVar[str] = "plan"

    def __str__(self) -> str:
        """Show one line per model and kind of side information."""
        return "\n".join(f"{row.model}: {row.sentence}" for row in self.rows)

    def records(self) -> list[dict[str, Any]]:
        """Return one row per model and kind of side information."""
        return [asdict(row) for row in self.rows]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the HTML for a notebook."""
        rows = [(row.model, row.sentence) for row in self.rows]
        title = f"Plan, {self.protocol}, {level_text(self.aim.level)}"
        return (HtmlTable(title=title, columns=("model", "plan"), rows=rows),)


def plan_from_pilot(
    models: Mapping[str, AnyPredictions],
    labels: AnyLabels,
    *,
    judges: Mapping[str, AnyPredictions] | None = None,
    protocol: str | None = None,
    asked_for: Sequence[str] | None = None,
    half_width: float | None = None,
    questions: int | None = None,
    level: float = 0.95,
    epsilon: float = 0.1,
    n_options: IntArray | None = None,
    voters: Mapping[str, AnyPredictions] | None = None,
) -> PilotPlan:
    """Plan the number of questions for a half-width, from predictions and the answers of a pilot study.

    Parameters
    ----------
    models, judges
        Predictions by name, for all items from which the planned study will draw.
    labels
        Labels of the pilot, on a random part of the items, for example as drawn by `label route --questions`.
    protocol
        Protocol of the planned study: ``partitioned``, ``targeted`` or ``sequential``; by default the pilot's
        protocol.
    asked_for
        Names of the models whose predictions determine targeted and sequential questions; None for all.
    half_width, questions
        Give one of the two: the half-width to reach (default 0.03, that is ± 3 points), or the affordable
        number of questions.
    level
        Confidence level.
    epsilon
        With several models, the share ε of targeted propensities that is spread uniformly over the options.
    n_options
        Shape (N,): number of options of every item, if `models` are PredictionColumns; None if all items have
        the same number.
    voters
        Model name → predictions, for the models whose votes serve as side information; None for `models`.

    Raises
    ------
    EstimateError
        If an argument is out of range, items are clustered, or the labels do not identify an accuracy.

    Examples
    --------
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> plan_from_pilot({"model": model}, labels, half_width=0.05).rows[0].questions
    686
    """
    judges, voters = judges or {}, voters or {}
    for argument, given in (("models", models), ("judges", judges), ("voters", voters)):
        check_mapping(argument, given, "name to predictions")
    check_names("asked_for", asked_for or ())
    check_level(level)
    check_sought(half_width, questions)
    width = 0.03 if half_width is None and questions is None else half_width
    aim = Aim(half_width=width, questions=questions, level=level)
    columns, said = align_pool([*models.values(), *judges.values(), *voters.values()], labels)
    refuse("plan", said.conditions)
    named = dict(zip(models, columns, strict=False))
    wise = dict(zip(judges, columns[len(named) :], strict=False))
    voting = dict(zip(voters, columns[len(named) + len(wise) :], strict=False)) or named
    own = SEQUENTIAL if said.is_resolved else PARTITIONED if said.is_uniform else TARGETED
    chosen = own if protocol is None else protocol
    if chosen not in (PARTITIONED, TARGETED, SEQUENTIAL):
        known = f"{PARTITIONED}, {TARGETED} or {SEQUENTIAL}"
        raise EstimateError(f"protocol: a plan from a pilot is for {known}, not for {chosen!r}")
    looked_at = list(models) if asked_for is None else list(asked_for)
    for name in looked_at:
        if name not in named | voting:
            raise EstimateError(f"asked_for: {name!r} is not among the models: {', '.join(named | voting)}")
    study = PilotStudy(
        models=named,
        judges=wise,
        labels=said,
        voters=named | voting,
        asked_for=looked_at,
        protocol=chosen,
        epsilon=epsilon,
        n_options=n_options,
    )
    rows = [row for name in named for row in plan_model(study, name, aim)]
    return PilotPlan(rows=tuple(rows), protocol=chosen, aim=aim)
