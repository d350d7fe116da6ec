"""Side information: what narrows an estimate although no expert said it.

Each kind adds one estimate per model beside the protocol's own, never in its place, because runs that are
added later change it and a number that was reported before must not change. A kind is a class with a name
and a way to estimate; `add_side_information` decides where it is used, and says why if it is not.

Votes: the answers of all models as side information, which no answer is believed to be true.

Other models' answers to an item show which options are likely before an expert is asked. It enters the
score interval (`oversight.harness.estimate.tilting`) as the working distribution q of every item:
the posterior that the votes give where each model is as good as the *other* folds' answers say
(cross-fitting, `weigh_votes`), a twentieth of it made flat. E U = 0 for every q that does not look at the
item's own answer, so votes that mislead cost width, never validity; good ones narrow the interval. In survey
statistics such an estimator is called model-assisted (Särndal, Swensson & Wretman 1992).

Judges: how likely other models say each option is, which nobody has to believe. A judge is a model that was
asked about the same items and is named in the study for it.

The judges' opinions and the model's own prediction give every item a working distribution of its true option
(`fit_parameters`), whose parameters are learned from experts' answers about the items of the other folds
(cross-fitting, as in `oversight.harness.estimate.routed_means`). It enters the score interval of
`oversight.harness.estimate.tilting`, where E U = 0 for every distribution made without the item's
own answer: a judge that is wrong, reversed or constant costs width, never validity.

The value of judges: how many times as many answers would say as much without them.

It is a ratio of variances, each the sum of squared deviations of the outcomes g at the estimate: of the same
answers without judges, over with them. Items drawn of a pool are weighted, without judges, as if as many had
been drawn with equal chances. The logarithm of the ratio has the larger of two standard errors. The first is
that of the infinitesimal jackknife over items (clusters): each contributes its share of the one sum less its
share of the other. The second is that of the jackknife over ten groups of them, with judges learned again
(Efron 1982, The Jackknife, the Bootstrap and Other Resampling Plans).

`estimate_models` makes all estimates of all models: every command, page and search calls it.
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
"""Number of answers up to which side information is used: it looks at every item for every model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The study and options with which side information is used.

    Attributes
    ----------
    labels
        Labels of all items.
    level
        Confidence level of each interval.
    strata
        Strata to weight by, see `Strata`.
    interval, published
        Requested interval and conventions; see `accuracy`.

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
        Key of its estimate among a model's estimates.
    feature
        Its name among the features of `combinations`; it may be one that no rule names.
    subject
        Its name with a verb, for the message if it cannot be used: ``"votes are"``. Empty if the kind can
        be used in every setting.
    needs_plain
        Whether it is only used for models that have the protocol's own estimate.
    worth
        Note on the number of answers with the same information without it; None without such a note.

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
        """Why the kind cannot be used in this setting; empty if it can."""
        given = {
            f"more than {LARGEST:,} answers": len(setting.labels) > LARGEST,
            "strata": setting.strata is not None and self.ignores_strata(setting.labels),
            f"interval {setting.interval!r}": setting.interval not in (None, "exact", "anytime"),
            "published": setting.published,
        }
        ignored = [name for name, is_given in given.items() if is_given and self.subject]
        return f"{self.subject} not used together with {', '.join(ignored)}" if ignored else ""

    def ignores_strata(self, _labels: LabelColumns) -> bool:
        """Whether it cannot be used together with strata."""
        return False

    @abstractmethod
    def estimate(self, model: str, setting: Setting) -> Estimate | None:
        """Estimate the accuracy of one model.

        Returns
        -------
        Estimate or None
            None if there is nothing to narrow and no message is needed.

        Raises
        ------
        EstimateError
            If the kind cannot be used for this model; the message replaces the estimate.
        """


def add_side_information(
    found: Mapping[str, Estimates], kinds: Sequence[SideInformation], setting: Setting
) -> dict[str, Estimates]:
    """Add the estimate of each kind to the estimates of each model, or the reason why there is none.

    Parameters
    ----------
    found
        Estimates by model.
    kinds
        Side information, in the order in which it is added.
    """
    made = dict(found)
    for kind in kinds:
        rule = find_rule("estimate", setting.labels.conditions | {kind.feature})
        if rule is not None and (rule.kind == NO_EFFECT or not rule.names(kind.feature)):
            continue  # no message if it adds nothing, or if the protocol's own estimate has the message
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
    """Add a note on how many answers give its width without side information, if known."""
    if plain is None or kind.worth is None or plain.high == plain.low or narrow.high == narrow.low:
        return narrow
    answers = plain.n.ordinary + plain.n.complementary
    worth = round(answers * ((plain.high - plain.low) / (narrow.high - narrow.low)) ** 2)
    note = Note(kind.worth, {"worth": worth, "answers": answers})
    return replace(narrow, notes=(*narrow.notes, note))


MODEL_ASSISTED = "assisted"


class Votes(SideInformation):
    """The votes of models, computed once for models with the same items.

    Parameters
    ----------
    models
        All models that answered items of the study, by name.

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
        """Why votes are not used in this setting; empty if they are, or if no other model votes."""
        return super().refuse(setting) if len(self._models) > 1 else ""

    def estimate(self, model: str, setting: Setting) -> Estimate | None:
        """A model's accuracy; None if no other model votes, or every question settles its prediction.

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
        # checks compare answers with all models
        labels = replace(setting.labels, models=tuple(drawn.values()))
        predictions = drawn[model]
        part, notes = collected_part(labels, predictions.is_there)
        strata = find_strata(predictions, part, setting.strata)
        evidence = Evidence.of(predictions, part, strata=strata)
        if evidence.most_questions > 1:
            raise NotIdentified("items have several questions, and votes are used with one")
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
    """Estimate named ``hui_walter`` if items have a second answer, otherwise ``bounded``.

    Parameters
    ----------
    second
        Shape (items,): second expert's answer to the item's question, 1, 0, or −1 for none.
    known
        Ranges of the error rates, and answers to gold.

    Raises
    ------
    NotIdentified
        As `bounded_accuracy`, or if the draw has no likelihood: several questions per item, draws by
        several models' predictions, or items of different K.
    EstimateError
        If an item has no cluster where items come in clusters, or nothing can be estimated.
    """
    part, notes = collected_part(labels, predictions.is_there)
    evidence = Evidence.of(predictions, part, error_free=False)
    option, sample = evidence.option(), evidence.sample
    if evidence.weight is not None or not allows_gold_score(option, sample):
        raise NotIdentified(
            "without gold items, experts' errors are learned from one question per item, its option drawn "
            "uniformly or predicted by this model, and items of one number of options and equal chances"
        )
    asked = second[evidence.items[sample.item]]
    estimate = bounded_accuracy(option, sample, asked, known, level=level, cluster=evidence.cluster)
    return complete(estimate, predictions, part, notes)


class ExpertErrors(SideInformation):
    """Knowledge of experts' error rates without gold of both kinds.

    Parameters
    ----------
    models
        Predictions of the models to estimate, by name.
    second, known
        As in `allow_for_errors`.
    name
        ``hui_walter`` if items have a second answer, otherwise ``bounded``.

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
        """A model's accuracy, see `allow_for_errors`."""
        labels = keep_predicted(setting.labels, self._models[model])
        return allow_for_errors(self._models[model], labels, self._second, self._known, level=setting.level)


WorkingMaker = Callable[[IntArray, IntArray, RoutedSample, IntArray | None], FloatArray]
"""Makes the working distribution of some items: from their places, predictions, answers and clusters."""


def heard_working(
    judges: Sequence[Any], working: Callable[..., FloatArray] = working_distribution
) -> WorkingMaker:
    """Make working distributions from the opinions of judges about all items; `working` combines them.

    Examples
    --------
    >>> from oversight.harness.columns import align
    >>> from oversight.harness.estimate import JudgeOpinion, routed_pool
    >>> from oversight.harness.example_data import example_study
    >>> model, _, labels = example_study()
    >>> predicted, said = align(model, labels)
    >>> data, options, items = routed_pool(said, [predicted])
    >>> working = heard_working([JudgeOpinion.of(predicted)])
    >>> working(items, options[:, 0], data, None).shape
    (80, 4)
    """

    def make(
        items: IntArray, predicted: IntArray, data: RoutedSample, cluster: IntArray | None
    ) -> FloatArray:
        return working(predicted, data, [judge.take(items) for judge in judges], cluster=cluster)

    return make


def estimate_working(
    predicted: IntArray,
    data: RoutedSample,
    make: WorkingMaker,
    *,
    level: float = 0.95,
    cluster: IntArray | None = None,
    weight: FloatArray | None = None,
) -> Estimate:
    """Accuracy of one model from one question per item, or from items drawn from a pool.

    Parameters
    ----------
    predicted
        Shape (N,): −1 for unreadable, which is wrong and counts.
    data
        Answers; where items were drawn of a pool (`sampled`), the estimate is of the whole pool, and items
        that were not drawn may have propensities of 0, for chances that are not known (`tilt_items`).
    make
        Makes the working distribution without each item's own answer (`heard_working` from judges).
    cluster, weight
        Shape (N,): number of the item's cluster, and how many items each stands for (`routed_accuracy`).

    Raises
    ------
    EstimateError
        If there is no item, or a prediction is not one of its options.
    NotIdentified
        If items have several questions, these answers cannot tell the accuracy of these predictions, or a
        pool has clusters.
    """
    check_level(level)
    check_predicted(predicted, data)
    if np.bincount(data.item).max(initial=0) > 1:
        raise NotIdentified("items have several questions, and a judge is used with one")
    if data.sampled and cluster is not None:
        refuse("estimate", {"judges", POOL, "clusters"})
    if not data.item.size or not (predicted >= 0).any():
        raise NotIdentified("no answered item has a readable prediction")
    working = make(np.arange(len(predicted)), predicted, data, cluster)
    made = routed_accuracy(predicted, data, level=level, cluster=cluster, working=working, weight=weight)
    return replace(made, estimator="judged")


LEAST_KINDS = 5
"""Answers about items of either kind, right and wrong, from which on what a judge saved can be told."""
_GROUPS = 10
_LARGEST = 30_000
"""Items up to which groups are left out in turn; of more, what is learned hardly varies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Ratio of two results of the same answers, with the ends of an interval."""

    value: float
    low: float
    high: float

    @classmethod
    def around(cls, value: float, half: float) -> Ratio:
        """Make the ratio whose logarithm is known up to `half`."""
        return cls(value=value, low=value * math.exp(-half), high=value * math.exp(half))


def measure_working(
    predicted: IntArray,
    data: RoutedSample,
    make: WorkingMaker,
    *,
    level: float = 0.95,
    cluster: IntArray | None = None,
) -> Ratio | None:
    """Factor of answers with the same information without judges, for one model; None without variance.

    Parameters
    ----------
    make
        Makes the distribution, of all items, and of the rest if a group of items is left out.
    """
    every = np.arange(len(predicted))
    plain, judged = _variances(every, predicted, data, make, cluster)
    if min(plain.sum(), judged.sum()) <= 0:
        return None
    ratio = float(plain.sum() / judged.sum())
    shares = plain / plain.sum() - judged / judged.sum()
    se, units = float(np.sqrt((shares**2).sum())), np.count_nonzero(plain + judged)
    if len(predicted) <= _LARGEST:
        left = _leave_groups_out(predicted, data, make, cluster)
        se = max(se, float(np.sqrt((len(left) - 1) * left.var())) if len(left) else 0.0)
        units = min(units, len(left))
    half = t_quantile(level, max(1, units - 1)) * se
    return Ratio.around(ratio, half)


def _leave_groups_out(
    predicted: IntArray, data: RoutedSample, make: WorkingMaker, cluster: IntArray | None
) -> FloatArray:
    """Logarithms of the ratio without each group of items; groups without variance are left out."""
    group = split_items_evenly(data, cluster, _GROUPS, 1)
    found = []
    for left_out in range(_GROUPS):
        kept = np.flatnonzero(group != left_out)
        of = None if cluster is None else np.unique(cluster[kept], return_inverse=True)[1].astype(np.int64)
        try:
            plain, judged = _variances(kept, predicted[kept], data.take(kept), make, of)
        except EstimateError:
            continue
        if min(plain.sum(), judged.sum()) > 0:
            found.append(float(np.log(plain.sum() / judged.sum())))
    return np.array(found)


def _variances(
    items: IntArray, predicted: IntArray, data: RoutedSample, make: WorkingMaker, cluster: IntArray | None
) -> tuple[FloatArray, FloatArray]:
    """Contribution of every item, or cluster, to the variance without judges and with them."""
    readable = np.flatnonzero(predicted >= 0)
    target = accuracy_target(predicted, data.propensities.shape[1])
    working = make(items, predicted, data, cluster)
    rows = tilt_sample(target, readable, data, working=working)
    of = None if cluster is None else cluster[readable]
    judged = _square(rows.weight * tilted_outcomes(rows), of)
    return _square_plain(target, readable, data, cluster), judged


def _square(deviation: FloatArray, cluster: IntArray | None) -> FloatArray:
    """Contribution of every item, or cluster, to the variance of a sum of deviations."""
    sums: FloatArray = deviation if cluster is None else np.bincount(cluster, deviation).astype(np.float64)
    squares: FloatArray = sums**2
    return squares


def _square_plain(
    target: FloatArray, readable: IntArray, data: RoutedSample, cluster: IntArray | None
) -> FloatArray:
    """The same without judges, as if the answered items had been drawn with equal probabilities."""
    drawn = readable[data.by_item[0][readable] >= 0]
    rho = data.propensities.sum(axis=1, keepdims=True)
    even = np.divide(data.propensities, rho, out=np.zeros_like(data.propensities), where=rho > 0)
    rows = tilt_sample(target, drawn, replace(data, propensities=even))
    weight = 1 / rho[drawn, 0] / (1 / rho[drawn]).sum()
    deviation = tilted_outcomes(replace(rows, weight=weight)) * np.sqrt(weight / len(drawn))
    if cluster is not None:
        return _square(deviation, cluster[drawn])
    found = np.zeros(len(target))
    found[drawn] = _square(deviation, None)
    return found[readable]


LARGEST_POOL = 200_000
"""Items up to which a whole pool is looked at."""


def spread_over_pool(
    data: RoutedSample,
    items: IntArray,
    predictions: PredictionColumns,
    labels: LabelColumns,
    n_options: IntArray | None = None,
) -> tuple[RoutedSample, IntArray, IntArray]:
    """Sample of the whole pool, its predictions, −1 for unreadable, and the items' positions.

    Items with a readable prediction were drawn with equal chances, or those that the pool's weights tell;
    those drawn without an answer count like those not drawn, whose questions are not known.

    Parameters
    ----------
    data, items
        What was answered of the drawn items, and their places; see `routed_pool`.
    predictions
        On all items of the pool.
    labels
        With the pool.
    n_options
        Shape (N,): K of every item; None takes the one K that all drawn items have.

    Raises
    ------
    NotIdentified
        If predictions are missing, the pool is too large, or K of items that were not drawn is not known.
    """
    size = 0 if labels.pool is None else labels.pool.size
    if len(predictions) != size:
        told = f"{len(predictions)} of the pool's {size} items"
        raise NotIdentified(f"{told} have a prediction, and with a judge all of them count")
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
    """Probability that each of the n items answered, the first of all, was drawn and answered; shape (n,)."""
    pool, n = labels.pool, len(answered)
    if pool is None or pool.weight is None:
        return np.full(n, np.count_nonzero(option[:n] >= 0) / max(1, np.count_nonzero(option >= 0)))
    drawn = np.count_nonzero(pool.drawn & (predictions.option >= 0))
    share = np.count_nonzero(option[:n] >= 0) / max(1, drawn)
    chances: FloatArray = share / pool.weight[answered]
    return chances


JUDGED = "judged"


class Judges(SideInformation):
    """Opinions of the study's judges.

    Parameters
    ----------
    models
        Predictions of the models to estimate, by name; for items drawn from a pool, predictions for the
        whole pool.
    judges
        Predictions of every judge about the same items.
    n_options
        Shape (N,): K of every item, needed only for a pool of items with different K.
    missing
        Why there are no judges although the study names some; empty otherwise.

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
        """Why judges are not used in this setting; empty if they are."""
        return super().refuse(setting) or self._missing

    def make_working(self, items: IntArray) -> WorkingMaker:
        """Say how working distributions are made of the items at these places."""
        return heard_working([opinion.take(items) for opinion in self._opinions])

    def ignores_strata(self, labels: LabelColumns) -> bool:
        """Whether judges cannot be used together with strata, as on a pool."""
        return labels.pool is not None

    def estimate(self, model: str, setting: Setting) -> Estimate:
        """A model's accuracy, and how many questions the judges saved.

        Raises
        ------
        NotIdentified
            If every prediction is known to be right or wrong, or items have several questions.
        EstimateError
            As `Evidence.of` and `estimate_working`.
        """
        labels, level, every = setting.labels, setting.level, self._models[model]
        predictions = keep_drawn(every, labels)
        part, notes = collected_part(labels, predictions.is_there)
        weight = None
        if labels.is_resolved:
            data, option, items = _take_resolved(part, predictions)
        else:
            strata = find_strata(predictions, part, setting.strata)
            evidence = Evidence.of(predictions, part, strata=strata)
            data, option, items = evidence.sample, evidence.option(), evidence.items
            if labels.pool is None and (option >= 0).any() and evidence.is_settled:
                raise NotIdentified(
                    "every question settles a prediction, and a judge adds nothing to what is known"
                )
            weight = evidence.weight if labels.pool is None else None
        if labels.pool is not None:
            data, option, items = spread_over_pool(data, items, every, labels, self._n_options)
        cluster = enough_clusters(items, labels.index, labels.cluster)
        make = self.make_working(items)
        estimate = estimate_working(option, data, make, level=level, cluster=cluster, weight=weight)
        worth = None
        if weight is None:
            worth = measure_working(option, data, make, level=level, cluster=cluster)
        return _tell_saved(complete(estimate, predictions, part, notes, tilted=True), worth)


def _take_resolved(
    labels: LabelColumns, predictions: PredictionColumns
) -> tuple[RoutedSample, IntArray, IntArray]:
    """Resolved items as if asked about the prediction, their predictions, and their positions.

    Raises
    ------
    NotIdentified
        If one of them is not resolved.
    """
    found = resolved_correctness(labels, [predictions])
    right, option = found.correct[:, 0], predictions.option[found.items].astype(np.int64)
    unknown = int(np.count_nonzero(right < 0))
    if unknown:
        raise NotIdentified(
            f"{unknown} of {len(right)} drawn items are not resolved, and a judge is used where all are: of "
            "which ones experts are silent follows from their answers"
        )
    return settled_sample(option, right, labels.item_options[found.items]), option, found.items


def _tell_saved(estimate: Estimate, worth: Ratio | None) -> Estimate:
    """Add the number of questions that judges saved; nothing without variance.

    A ratio of variances means nothing if there are hardly any items of the rarer kind, right or wrong.
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
    """`accuracies` of every model, by name; each from the labels of items that it answered.

    Of several models also ``assisted``, with the votes of all as side information (`Votes`); with `judges`
    also ``judged`` (`Judges`).

    Parameters
    ----------
    joint
        Whether the intervals of all models are to hold together with probability `level`: each is then
        made at ``level ** (1 / M)`` (Šidák 1967, JASA 62).
    judges
        Predictions of models that judge how likely each option is, by name; they are not estimated.

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
    return estimate_models(by_name, labels, kinds, level=level, joint=joint, **options)


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
    """All estimates of all models, with side information, for all commands, pages and searches.

    Parameters
    ----------
    models, labels
        Data over one index of items. Predictions may cover the whole pool from which the labelled items
        were drawn.
    kinds
        Side information; each kind adds an estimate beside the protocol's own.
    level, joint
        As in `model_accuracies`.
    failures
        Receives the reason for each model whose labels cannot be used, which then has no estimate; without
        it the reason is raised.
    progress
        Wraps the names of the models as they are estimated, to show a bar.
    options
        Further options of `accuracies`.

    Raises
    ------
    EstimateError
        As `accuracies`, without `failures`.

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
    """Level of each interval so that this number of them holds jointly at `level`; 0 means alone."""
    return level ** (1 / models) if models else level


def mark_joint(made: Estimates, level: float, models: int) -> Estimates:
    """Give estimates made at `joint_level` the joint level and a note about it; leaves out `anytime`."""
    note = Note(NoteKind.JOINT, {"models": models})
    return Estimates(
        {
            name: replace(e, level=level, notes=(*e.notes, note))
            for name, e in made.items()
            if name != "anytime"
        },
        made.undefined,
    )
