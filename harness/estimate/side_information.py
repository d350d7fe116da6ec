"""Side information: votes and judges that narrow an estimate, and corrections for experts' errors.

`estimate_models` makes all estimates of all models; every command, page and search calls it.

Each kind of side information adds one estimate per model to the protocol's own estimate. It never replaces
that estimate, because side information changes when runs are added, and a reported number must not
change. A kind is a class with a name and a method that estimates; `add_side_information` decides for which
models a kind is used, and gives the reason if it is not used.

**Votes** (`Votes`). Other models' answers to an item show which options are likely before an expert is asked.
They enter the score interval of `oversight.harness.estimate.tilting` as the working distribution of every
item: the posterior of the votes, with the accuracies of the models estimated on the *other* folds
(cross-fitting, `weigh_votes`), mixed with 5 % of a uniform distribution. The score has expectation 0 for
every distribution that does not use the item's own answer, so misleading votes widen the interval but do not
make it invalid. Survey statistics calls such an estimator model-assisted (Särndal, Swensson & Wretman 1992).

**Judges** (`Judges`). A judge is a model that answers the same items and is named in the study as a judge.
Judges' probabilities and the model's own prediction give every item a working distribution of its true option
(`OptionLogit.fit`), whose parameters are learned from experts' answers about the items of the other folds. A
judge that is wrong, reversed or constant widens the interval but does not make it invalid.

**Value of judges** (`measure_working`): the number of answers that would give the same precision without
judges, divided by the actual number. This ratio is the variance without judges divided by the variance with
judges, both from the same answers. Each variance is the sum of squared deviations of the outcomes g at the
estimate. The variance without judges weighs items drawn from a pool as if they had been drawn with equal
probabilities. The standard error of the ratio's logarithm is the larger of two (Efron 1982, The Jackknife,
the Bootstrap and Other Resampling Plans). The first is the infinitesimal jackknife over items or clusters:
each contributes its share of the sum without judges minus its share of the sum with judges. The second is the
jackknife over ten groups of items or clusters, with the judges' parameters learned again for each group.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from oversight.harness.argument_checks import check_mapping
from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import (
    AnyLabels,
    AnyPredictions,
    LabelColumns,
    PredictionColumns,
    align_pool,
    keep_drawn,
    keep_predicted,
)
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.combinations import NO_EFFECT, POOL, find_rule, refuse
from oversight.harness.estimate.core import check_level
from oversight.harness.estimate.evaluation import accuracies, complete, main_estimator
from oversight.harness.estimate.evidence import Evidence, collected_part, enough_clusters
from oversight.harness.estimate.expert_errors import ErrorRanges, allows_gold_score, bounded_accuracy
from oversight.harness.estimate.judges import JudgeOpinion, split_items_evenly, working_distribution
from oversight.harness.estimate.routed_means import routed_accuracy, t_quantile, tilt_sample, weigh_votes
from oversight.harness.estimate.routed_sample import (
    RoutedSample,
    accuracy_target,
    check_predicted,
    resolved_correctness,
    settled_sample,
)
from oversight.harness.estimate.tallies import Estimates, ModelEstimates, Strata, find_strata
from oversight.harness.estimate.tilting import tilted_outcomes
from oversight.harness.types import Estimate, Note, NoteKind, protocol_estimate

LARGEST = 20_000
"""Largest number of answers with which side information is used, because its time is O(items × models)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Labels and settings of an estimate to which side information is added.

    Attributes
    ----------
    labels
        Labels of all items.
    level
        Confidence level of each interval.
    strata
        Strata by which the estimate is weighted (see `Strata`).
    interval, published
        Parameters of `accuracy` with these names.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> Votes({"model": predicted}).refuse(Setting(labels=said, level=0.95))
    ''
    """

    labels: LabelColumns
    level: float
    strata: Strata = None
    interval: str | None = None
    published: bool = False


class SideInformation(ABC):
    """One kind of side information.

    Attributes
    ----------
    name
        Name of the estimate that this kind adds to a model's estimates.
    feature
        Name of the kind as a feature in `combinations.RULES`; not every kind has a rule.
    subject
        Start of the message for settings in which the kind cannot be used, for example ``"votes are"``. Empty
        if it can be used in every setting.
    needs_plain
        Whether the kind is used only for models that have the protocol's own estimate.
    worth
        Kind of the note that gives the number of answers needed for the same precision without side
        information; None for no note.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.estimate import Votes
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> issubclass(Votes, SideInformation), Votes({"model": predicted}).name
    (True, 'assisted')
    """

    name: str
    feature: ClassVar[str]
    subject: ClassVar[str] = ""
    needs_plain: ClassVar[bool] = True
    worth: ClassVar[NoteKind | None] = None

    def refuse(self, setting: Setting) -> str:
        """Return why this kind of side information cannot be used in this setting; empty if it can."""
        given = {
            f"more than {LARGEST:,} answers": len(setting.labels) > LARGEST,
            "strata": setting.strata is not None and self.ignores_strata(setting.labels),
            f"interval {setting.interval!r}": setting.interval not in (None, "exact", "anytime"),
            "published": setting.published,
        }
        ignored = [name for name, is_given in given.items() if is_given and self.subject]
        return f"{self.subject} not used together with {', '.join(ignored)}" if ignored else ""

    def ignores_strata(self, _labels: LabelColumns) -> bool:
        """Return whether this kind of side information cannot be used together with strata."""
        return False

    @abstractmethod
    def estimate(self, model: str, setting: Setting) -> Estimate | None:
        """Estimate the accuracy of one model.

        Returns
        -------
        Estimate or None
            None if the kind adds nothing for this model and no message is needed.

        Raises
        ------
        EstimateError
            If the kind cannot be used for this model. The message is shown in place of the estimate.
        """


def add_side_information(
    found: Mapping[str, Estimates], kinds: Sequence[SideInformation], setting: Setting
) -> dict[str, Estimates]:
    """Add to each model's estimates one estimate per kind of side information, or why it is missing.

    Parameters
    ----------
    found
        Estimates by model.
    kinds
        Kinds of side information, in the order in which their estimates are added.
    setting
        Labels and options of the estimates.
    """
    made = dict(found)
    for kind in kinds:
        rule = find_rule("estimate", setting.labels.conditions | {kind.feature})
        if rule is not None and (rule.kind == NO_EFFECT or not rule.names(kind.feature)):
            # Add no message if the kind has no effect, or if the rule refuses even the protocol's estimate.
            continue
        refused = kind.refuse(setting) if rule is None else rule.reason
        for name, estimates in made.items():
            plain = protocol_estimate(estimates)
            if plain is None and kind.needs_plain:
                continue
            one, why = None, refused
            if not refused:
                try:
                    one = kind.estimate(name, setting)
                except EstimateError as error:
                    why = str(error)
            if one is not None:
                told = _tell_worth(kind, plain, one)
                made[name] = Estimates({**estimates, kind.name: told}, estimates.undefined)
            elif why:
                made[name] = Estimates(estimates, {**estimates.undefined, kind.name: why})
    return made


def _tell_worth(kind: SideInformation, plain: Estimate | None, narrow: Estimate) -> Estimate:
    """Add to `narrow` a note on how many answers would give the same width without side information."""
    if plain is None or kind.worth is None or plain.high == plain.low or narrow.high == narrow.low:
        return narrow
    answers = plain.n.ordinary + plain.n.complementary
    worth = round(answers * ((plain.high - plain.low) / (narrow.high - narrow.low)) ** 2)
    note = Note(kind.worth, {"worth": worth, "answers": answers})
    return replace(narrow, notes=(*narrow.notes, note))


MODEL_ASSISTED = "assisted"


class Votes(SideInformation):
    """Votes of all models as side information; working distributions are cached by set of items.

    Parameters
    ----------
    models
        Model name → predictions, for all models that answered items of the study.

    Examples
    --------
    >>> from oversight.harness.columns import align_models
    >>> from oversight.harness.example_data import example_study
    >>> a, b, labels = example_study()
    >>> columns, said = align_models([a, b], labels)
    >>> models = dict(zip("ab", columns, strict=True))
    >>> print(estimate_models(models, said, [Votes(models)])["a"]["assisted"])
    0.801 [0.647, 0.931] ASSISTED, tilted-score 95% · 20 ordinary + 60 complementary
    """

    name, feature = MODEL_ASSISTED, "votes"
    subject = "votes are"
    worth = NoteKind.VOTES_WORTH

    def __init__(self, models: Mapping[str, PredictionColumns]) -> None:
        self._models = models
        self._working = dict[bytes, FloatArray]()

    def refuse(self, setting: Setting) -> str:
        """Return why votes cannot be used in this setting; empty if they can, or if only one model votes."""
        return super().refuse(setting) if len(self._models) > 1 else ""

    def estimate(self, model: str, setting: Setting) -> Estimate | None:
        """Estimate one model's accuracy.

        Returns None if no other model votes, or every readable prediction was asked about with certainty.

        Raises
        ------
        NotIdentified
            If items have several questions.
        EstimateError
            As `Evidence.of`.
        """
        if len(self._models) < 2:
            return None
        drawn = {name: keep_drawn(one, setting.labels) for name, one in self._models.items()}
        # checks compare answers with the predictions of all models
        labels = replace(setting.labels, models=tuple(drawn.values()))
        predictions = drawn[model]
        part, notes = collected_part(labels, predictions.is_there)
        strata = find_strata(predictions, part, setting.strata)
        evidence = Evidence.of(predictions, part, strata=strata)
        if evidence.most_questions > 1:
            raise NotIdentified(
                "some items have several questions; votes can be used only with one question per item"
            )
        if evidence.is_settled:
            return None
        estimate = evidence.accuracy(setting.level, self._weigh(evidence, drawn))
        return replace(complete(estimate, predictions, part, notes, tilted=True), estimator=MODEL_ASSISTED)

    def _weigh(self, evidence: Evidence, models: Mapping[str, PredictionColumns]) -> FloatArray:
        items = evidence.items
        key = items.tobytes()
        if key not in self._working:
            chosen = [np.maximum(one.option[items], -1) for one in models.values()]
            self._working[key] = weigh_votes(np.stack(chosen, axis=1), evidence.sample)
        return self._working[key]


def allow_for_errors(
    predictions: PredictionColumns,
    labels: LabelColumns,
    second: IntArray,
    known: ErrorRanges,
    *,
    level: float = 0.95,
) -> Estimate:
    """Estimate one model's accuracy, allowing for experts' error rates that gold items do not determine.

    The estimate is named ``hui_walter`` if items have a second answer, otherwise ``bounded``.

    Parameters
    ----------
    predictions, labels
        The model's predictions, and the labels.
    second
        Shape (N,): second expert's answer to the same question about the item: 1 yes, 0 no, −1 none.
    known
        Ranges of experts' error rates, and experts' answers to gold items.
    level
        Confidence level.

    Raises
    ------
    NotIdentified
        As `bounded_accuracy`; or if items have several questions, different K or unequal weights; or if the
        draw of questions depended on predictions of other models.
    EstimateError
        If only some items have a cluster, or nothing can be estimated.
    """
    part, notes = collected_part(labels, predictions.is_there)
    evidence = Evidence.of(predictions, part, error_free=False)
    option, sample = evidence.option(), evidence.sample
    if sample.weight is not None or not allows_gold_score(option, sample):
        raise NotIdentified(
            "experts' errors cannot be estimated from these answers; add gold items (without them, all items "
            "must have the same number of options, the same probability of being drawn, and one question; "
            "the questions must all be about a uniformly drawn option, or all about this model's prediction)"
        )
    asked = second[evidence.items[sample.item]]
    return complete(bounded_accuracy(option, sample, asked, known, level=level), predictions, part, notes)


class ExpertErrors(SideInformation):
    """Knowledge of experts' error rates, for studies without gold items of both kinds (true and false).

    Parameters
    ----------
    models
        Predictions of the models to estimate, by name.
    second, known
        As in `allow_for_errors`.
    name
        Name of the estimate: ``hui_walter`` if items have a second answer, otherwise ``bounded``.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.estimate import ErrorRanges
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> known = ErrorRanges(sensitivity=(0.9, 1.0), specificity=(0.9, 1.0))
    >>> errors = ExpertErrors({"model": predicted}, np.full(80, -1), known, "bounded")
    >>> print(estimate_models({"model": predicted}, said, [errors])["model"]["bounded"])
    0.816 [0.622, 1.000] BOUNDED, profile-likelihood 95% · 20 ordinary + 60 complementary
    """

    feature = "gold"
    needs_plain = False

    def __init__(
        self, models: Mapping[str, PredictionColumns], second: IntArray, known: ErrorRanges, name: str
    ) -> None:
        self._models, self._second, self._known, self.name = models, second, known, name

    def estimate(self, model: str, setting: Setting) -> Estimate:
        """Estimate one model's accuracy (see `allow_for_errors`)."""
        labels = keep_predicted(setting.labels, self._models[model])
        return allow_for_errors(self._models[model], labels, self._second, self._known, level=setting.level)


WorkingMaker = Callable[[IntArray, IntArray, RoutedSample], FloatArray]
"""Function from positions of items, predictions and answers to the items' working distribution."""


def heard_working(
    judges: Sequence[Any], working: Callable[..., FloatArray] = working_distribution
) -> WorkingMaker:
    """Return a function that makes working distributions from judges' opinions on all items.

    `working` is the function that combines the opinions.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.estimate import JudgeOpinion, routed_pool
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> data, options, items = routed_pool(said, [predicted])
    >>> working = heard_working([JudgeOpinion.of(predicted)])
    >>> working(items, options[:, 0], data).shape
    (80, 4)
    """

    def make(items: IntArray, predicted: IntArray, data: RoutedSample) -> FloatArray:
        return working(predicted, data, [judge.take(items) for judge in judges])

    return make


def estimate_working(
    predicted: IntArray, data: RoutedSample, make: WorkingMaker, *, level: float = 0.95
) -> Estimate:
    """Estimate one model's accuracy with a working distribution, from one question per item.

    Parameters
    ----------
    predicted
        Shape (N,): predicted options; −1 for unreadable, which counts as wrong.
    data
        The answers. If items were drawn from a pool (`data.sampled`), the N items are the whole pool, and the
        estimate is the accuracy on the pool. Items that were not drawn may then have propensities 0 (see
        `tilt_items`).
    make
        Function that makes every item's working distribution without using the item's own answer, for
        example from `heard_working`.
    level
        Confidence level.

    Raises
    ------
    EstimateError
        If there is no item, or a prediction is not one of its item's options.
    NotIdentified
        If items have several questions, the answers do not identify the accuracy, or the items of a pool are
        clustered.
    """
    check_level(level)
    check_predicted(predicted, data)
    if np.bincount(data.item).max(initial=0) > 1:
        raise NotIdentified(
            "some items have several questions; a judge can be used only with one question per item"
        )
    if data.sampled and data.cluster is not None:
        refuse("estimate", {"judges", POOL, "clusters"})
    if not data.item.size or not (predicted >= 0).any():
        raise NotIdentified("no answered item has a readable prediction")
    working = make(np.arange(len(predicted)), predicted, data)
    return replace(routed_accuracy(predicted, data, level=level, working=working), estimator="judged")


LEAST_KINDS = 5
"""Smallest number of right and of wrong predictions with which the value of side information is reported."""
_GROUPS = 10
_LARGEST = 30_000
"""Largest number of items with a jackknife; with more items, the working distribution hardly varies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Ratio of two results from the same answers, with the ends of its confidence interval."""

    value: float
    low: float
    high: float

    @classmethod
    def around(cls, value: float, half: float) -> Ratio:
        """Make a ratio from its value and the half-width of the interval of its logarithm."""
        return cls(value=value, low=value * math.exp(-half), high=value * math.exp(half))


def measure_working(
    predicted: IntArray, data: RoutedSample, make: WorkingMaker, *, level: float = 0.95
) -> Ratio | None:
    """Return the value of judges, as defined in the module; None if a variance is 0.

    It is the number of answers needed without judges, divided by the number needed with them.

    Parameters
    ----------
    predicted, data, level
        As in `estimate_working`.
    make
        Function that makes working distributions: for all items, and again for the items that remain each
        time the jackknife leaves out a group.
    """
    every = np.arange(len(predicted))
    plain, judged = _variances(every, predicted, data, make)
    if min(plain.sum(), judged.sum()) <= 0:
        return None
    ratio = float(plain.sum() / judged.sum())
    shares = plain / plain.sum() - judged / judged.sum()
    se, units = float(np.sqrt((shares**2).sum())), np.count_nonzero(plain + judged)
    if len(predicted) <= _LARGEST:
        left = _leave_groups_out(predicted, data, make)
        se = max(se, float(np.sqrt((len(left) - 1) * left.var())) if len(left) else 0.0)
        units = min(units, len(left))
    half = t_quantile(level, max(1, units - 1)) * se
    return Ratio.around(ratio, half)


def _leave_groups_out(predicted: IntArray, data: RoutedSample, make: WorkingMaker) -> FloatArray:
    """Leave out each group of items in turn; return the logarithms of the ratios of variances.

    A ratio is the variance without judges divided by the variance with judges. Groups are skipped if the
    ratio cannot be computed.
    """
    group = split_items_evenly(data, _GROUPS, 1)
    found = []
    for left_out in range(_GROUPS):
        kept = np.flatnonzero(group != left_out)
        try:
            plain, judged = _variances(kept, predicted[kept], data.take(kept), make)
        except EstimateError:
            continue
        if min(plain.sum(), judged.sum()) > 0:
            found.append(float(np.log(plain.sum() / judged.sum())))
    return np.array(found)


def _variances(
    items: IntArray, predicted: IntArray, data: RoutedSample, make: WorkingMaker
) -> tuple[FloatArray, FloatArray]:
    """Return each item's (or cluster's) contributions to two variances: without judges, and with judges."""
    readable = np.flatnonzero(predicted >= 0)
    target = accuracy_target(predicted, data.propensities.shape[1])
    rows = tilt_sample(target, readable, data, make(items, predicted, data))
    of = None if data.cluster is None else data.cluster[readable]
    judged = _square(rows.weight * tilted_outcomes(rows), of)
    return _square_plain(target, readable, data), judged


def _square(deviation: FloatArray, cluster: IntArray | None) -> FloatArray:
    """Return the squared deviation of every item, or the squared sum of deviations of every cluster."""
    sums = deviation if cluster is None else np.bincount(cluster, deviation).astype(np.float64)
    return sums**2


def _square_plain(target: FloatArray, readable: IntArray, data: RoutedSample) -> FloatArray:
    """Return each item's (or cluster's) contribution to the variance without judges.

    Items count as drawn uniformly.
    """
    drawn = readable[data.by_item[0][readable] >= 0]
    rho = data.propensities.sum(axis=1, keepdims=True)
    even = np.divide(data.propensities, rho, out=np.zeros_like(data.propensities), where=rho > 0)
    rows = tilt_sample(target, drawn, replace(data, propensities=even))
    weight = 1 / rho[drawn, 0] / (1 / rho[drawn]).sum()
    deviation = tilted_outcomes(replace(rows, weight=weight)) * np.sqrt(weight / len(drawn))
    if data.cluster is not None:
        return _square(deviation, data.cluster[drawn])
    found = np.zeros(len(target))
    found[drawn] = _square(deviation, None)
    return found[readable]


LARGEST_POOL = 200_000
"""Largest number of items of a pool with which judges are used."""


def spread_over_pool(
    data: RoutedSample,
    items: IntArray,
    predictions: PredictionColumns,
    labels: LabelColumns,
    n_options: IntArray | None = None,
) -> tuple[RoutedSample, IntArray, IntArray]:
    """Extend the answers about drawn items to the whole pool.

    Items with a readable prediction are assumed to be drawn with equal probabilities, or with probabilities
    proportional to 1/weight if the pool has weights. Drawn items without an answer count as not drawn.

    Parameters
    ----------
    data, items
        Answers about the drawn items, and the items' positions (see `routed_pool`).
    predictions
        The model's predictions for all items of the pool.
    labels
        Labels with the pool.
    n_options
        Shape (N,): number of options of every item; None if all items have the same number.

    Returns
    -------
    RoutedSample, array, array
        Sample of the whole pool, predictions (−1 for unreadable), and the items' positions.

    Raises
    ------
    NotIdentified
        If predictions are missing, the pool is too large, or the number of options is unknown for items that
        were not drawn.
    """
    size = 0 if labels.pool is None else labels.pool.size
    if len(predictions) != size:
        raise NotIdentified(
            f"only {len(predictions)} of the pool's {size} items have a prediction, but an estimate with a "
            "judge needs one for every item"
        )
    if size > LARGEST_POOL:
        raise NotIdentified(f"the pool has more than {LARGEST_POOL:,} items")
    drawn = np.zeros(labels.index.size, dtype=np.bool_)
    drawn[items] = True
    places = np.concatenate([items, np.flatnonzero(predictions.ran & ~drawn)])
    option = predictions.option[places].astype(np.int64)
    known = data.n_options if n_options is None else n_options[places]
    if n_options is None and (np.ptp(known) > 0 or option.max() >= known[0]):
        raise NotIdentified("the number of options is not known for items that were not drawn")
    rho = _find_chances(option, places[: len(items)], labels, predictions)[:, None]
    width = max(data.propensities.shape[1], int(known.max()))
    propensities = np.zeros((len(places), width))
    propensities[: len(items), : data.propensities.shape[1]] = rho * data.propensities
    sample = RoutedSample(
        item=data.item,
        asked=data.asked,
        answer=data.answer,
        propensities=propensities,
        n_options=known if n_options is not None else np.full(len(places), known[0]),
        sampled=True,
    )
    return sample, option, places


def _find_chances(
    option: IntArray, answered: IntArray, labels: LabelColumns, predictions: PredictionColumns
) -> FloatArray:
    """Return the probability with which each answered item was drawn and answered, shape (n,).

    `answered` holds the positions of these n items; their predictions are the first n of `option`.
    """
    pool, n = labels.pool, len(answered)
    if pool is None or pool.weight is None:
        return np.full(n, np.count_nonzero(option[:n] >= 0) / max(1, np.count_nonzero(option >= 0)))
    drawn = np.count_nonzero(pool.drawn & (predictions.option >= 0))
    share = np.count_nonzero(option[:n] >= 0) / max(1, drawn)
    return share / pool.weight[answered]


JUDGED = "judged"


class Judges(SideInformation):
    """Opinions of the study's judges as side information.

    Parameters
    ----------
    models
        Predictions of the models to estimate, by name. If items were drawn from a pool, the predictions must
        cover the whole pool.
    judges
        Predictions of every judge about the same items.
    n_options
        Shape (N,): number of options of every item; needed only if it differs between items of a pool.
    missing
        Why opinions are missing although the study names judges; empty otherwise.

    Examples
    --------
    >>> from oversight.harness.columns import align_models
    >>> from oversight.harness.example_data import example_study
    >>> a, b, labels = example_study()
    >>> (model, judge), said = align_models([a, b], labels)
    >>> judges = Judges({"a": model}, [judge])
    >>> print(estimate_models({"a": model}, said, [judges])["a"]["judged"])
    0.800 [0.642, 0.931] JUDGED, tilted-score 95% · 20 ordinary + 60 complementary
    """

    name, feature = JUDGED, "judges"
    subject = "a judge is"

    def __init__(
        self,
        models: Mapping[str, PredictionColumns],
        judges: Sequence[PredictionColumns],
        *,
        n_options: IntArray | None = None,
        missing: str = "",
    ) -> None:
        self._models = models
        self._opinions = [JudgeOpinion.of(judge) for judge in judges]
        self._n_options, self._missing = n_options, missing

    def refuse(self, setting: Setting) -> str:
        """Return why judges cannot be used in this setting; empty if they can."""
        return super().refuse(setting) or self._missing

    def make_working(self, items: IntArray) -> WorkingMaker:
        """Return a function that makes working distributions of the items at positions `items`."""
        return heard_working([opinion.take(items) for opinion in self._opinions])

    def ignores_strata(self, labels: LabelColumns) -> bool:
        """Return True if items were drawn from a pool, because judges then cannot be used with strata."""
        return labels.pool is not None

    def estimate(self, model: str, setting: Setting) -> Estimate:
        """Estimate one model's accuracy, with a note on the number of questions that judges saved.

        Raises
        ------
        NotIdentified
            If items have several questions; or if there is no pool and every readable prediction was asked
            about with certainty.
        EstimateError
            As `Evidence.of` and `estimate_working`.
        """
        labels, level, every = setting.labels, setting.level, self._models[model]
        predictions = keep_drawn(every, labels)
        part, notes = collected_part(labels, predictions.is_there)
        if labels.is_resolved:
            data, option, items = _take_resolved(part, predictions)
        else:
            strata = find_strata(predictions, part, setting.strata)
            evidence = Evidence.of(predictions, part, strata=strata)
            data, option, items = evidence.sample, evidence.option(), evidence.items
            if labels.pool is None and (option >= 0).any() and evidence.is_settled:
                raise NotIdentified(
                    "every question decides whether a prediction is right, so a judge adds no information"
                )
        if labels.pool is not None:
            data, option, items = spread_over_pool(data, items, every, labels, self._n_options)
        data = replace(data, cluster=enough_clusters(items, labels.index, labels.cluster))
        make = self.make_working(items)
        estimate = estimate_working(option, data, make, level=level)
        worth = measure_working(option, data, make, level=level) if data.weight is None else None
        return _tell_saved(complete(estimate, predictions, part, notes, tilted=True), worth)


def _take_resolved(
    labels: LabelColumns, predictions: PredictionColumns
) -> tuple[RoutedSample, IntArray, IntArray]:
    """Return data, predictions and positions of resolved items, as if each prediction was asked about.

    Raises
    ------
    NotIdentified
        If any item is not resolved.
    """
    found = resolved_correctness(labels, [predictions])
    right, option = found.correct[:, 0], predictions.option[found.items].astype(np.int64)
    unknown = int(np.count_nonzero(right < 0))
    if unknown:
        raise NotIdentified(
            f"{unknown} of {len(right)} drawn items are not resolved, and experts' answers decided which "
            "items those are; collect the missing answers, or leave the judge out"
        )
    return settled_sample(option, right, labels.item_options[found.items]), option, found.items


def _tell_saved(estimate: Estimate, worth: Ratio | None) -> Estimate:
    """Add a note on the number of questions that judges saved; no note if `worth` is None.

    If right or wrong predictions are very rare, the note says that the number is unknown, because the ratio
    of variances is then too uncertain.
    """
    if worth is None:
        return estimate
    answers = estimate.n.ordinary + estimate.n.complementary
    if min(estimate.clipped, 1 - estimate.clipped) * answers < LEAST_KINDS:
        rarer = "wrong" if estimate.clipped > 0.5 else "right"
        rare = {"least": LEAST_KINDS, "answers": answers, "rarer": rarer}
        return replace(estimate, notes=(*estimate.notes, Note(NoteKind.JUDGE_WORTH, rare)))
    saved, least, most = (round(answers * (x - 1)) for x in (worth.value, worth.low, worth.high))
    told = {
        "saved": saved,
        "least": least,
        "most": most,
        "level": estimate.level,
        "answers": answers,
        "worth": answers + saved,
    }
    return replace(estimate, notes=(*estimate.notes, Note(NoteKind.JUDGE_SAVED, told)))


def model_accuracies(
    models: Mapping[str, AnyPredictions],
    labels: AnyLabels,
    *,
    level: float = 0.95,
    joint: bool = False,
    judges: Mapping[str, AnyPredictions] | None = None,
    **options: Any,
) -> ModelEstimates:
    """Estimate the accuracies of several models, each from the labels of the items that it answered.

    Every model gets all estimates of `accuracies`. Several models also get ``assisted``, with the votes of
    all models as side information (`Votes`). With `judges`, models also get ``judged`` (`Judges`).

    Parameters
    ----------
    models
        Predictions by model.
    labels
        Labels.
    level
        Confidence level.
    joint
        Whether the intervals of all M models hold simultaneously with probability `level`. Each interval is
        then made at ``level ** (1 / M)`` (Šidák 1967, JASA 62).
    judges
        Predictions by judge; the accuracy of judges is not estimated.
    options
        Further options of `accuracies`.

    Returns
    -------
    ModelEstimates
        Estimates by model. If a model has no prediction for some items that were asked about, `why` of its
        estimates gives their number, because the remaining items are perhaps not a random part of all items.

    Examples
    --------
    >>> import oversight as ov
    >>> from oversight.harness.example_data import example_study
    >>> a, b, labels = example_study()
    >>> for name, found in ov.model_accuracies({"a": a, "b": b}, labels).items():
    ...     print(name, found["ml"])
    ...
    a 0.800 [0.639, 0.900] ML, exact 95% · 20 ordinary + 60 complementary
    b 0.671 [0.494, 0.800] ML, exact 95% · 20 ordinary + 60 complementary
    """
    check_mapping("models", models, "name to predictions")
    judges = judges or {}
    check_mapping("judges", judges, "name to predictions")
    columns, labels = align_pool([*models.values(), *judges.values()], labels)
    by_name = dict(zip(models, columns, strict=False))
    kinds: list[SideInformation] = [Votes(by_name)]
    if judges:
        kinds.append(Judges(by_name, columns[len(models) :]))
    found = estimate_models(by_name, labels, kinds, level=level, joint=joint, **options)
    for name, model in by_name.items():
        asked = labels.asked_items
        missing = int(np.count_nonzero(asked & ~model.is_there))
        if missing:
            why = f"{missing} of {np.count_nonzero(asked)} items asked about have no prediction of {name!r}"
            for key, estimate in found[name].items():
                found[name][key] = replace(estimate, why="; ".join(filter(None, [estimate.why, why])))
    return found


def estimate_models(
    models: Mapping[str, PredictionColumns],
    labels: LabelColumns,
    kinds: Sequence[SideInformation] = (),
    *,
    level: float = 0.95,
    joint: bool = False,
    failures: dict[str, str] | None = None,
    progress: Callable[[Sequence[str]], Iterable[str]] = iter,
    **options: Any,
) -> ModelEstimates:
    """Make all estimates of several models, with side information.

    Parameters
    ----------
    models, labels
        Predictions by model, and labels, over one index of items. Predictions may cover the whole pool from
        which the labelled items were drawn.
    kinds
        Kinds of side information; each adds one estimate per model.
    level, joint
        As in `model_accuracies`.
    failures
        Dictionary that receives the reason for each model that cannot be estimated. If None, the error is
        raised instead.
    progress
        Function that wraps the list of models' names, for example to show a progress bar.
    options
        Further options of `accuracies`.

    Raises
    ------
    EstimateError
        As `accuracies`, if `failures` is None.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> print(estimate_models({"model": predicted}, said)["model"]["ml"])
    0.800 [0.639, 0.900] ML, exact 95% · 20 ordinary + 60 complementary
    """
    number = len(models) if joint else 0
    each = joint_level(level, number)
    main = main_estimator(labels)
    labels = replace(labels, models=tuple(keep_drawn(one, labels) for one in models.values()))
    found = dict[str, Estimates]()
    for name in progress(list(models)):
        drawn = keep_drawn(models[name], labels)
        try:
            found[name] = accuracies(drawn, keep_predicted(labels, drawn), level=each, **options)
        except EstimateError as error:
            if failures is None:
                raise
            failures[name] = str(error)
    setting = Setting(
        labels=labels,
        level=each,
        strata=options.get("strata"),
        interval=options.get("interval"),
        published=bool(options.get("published")),
    )
    found = add_side_information(found, kinds, setting)
    for name, why in (failures or {}).items():
        found[name] = Estimates({}, {main: why})
    if joint:
        found = {name: mark_joint(made, level, number) for name, made in found.items()}
    return ModelEstimates({name: found[name] for name in models})


def joint_level(level: float, models: int) -> float:
    """Return the level that each model's interval needs so that all intervals hold jointly at `level`.

    If `models` is 0, the intervals need not hold jointly, and `level` is returned.
    """
    return level ** (1 / models) if models else level


def mark_joint(made: Estimates, level: float, models: int) -> Estimates:
    """Mark estimates made at `joint_level` as jointly valid at `level`; remove the estimate ``anytime``."""
    note = Note(NoteKind.JOINT, {"models": models})
    return Estimates(
        {
            name: replace(e, level=level, notes=(*e.notes, note))
            for name, e in made.items()
            if name != "anytime"
        },
        made.undefined,
    )
