"""Accuracy with judges as side information, and what the judges were worth.

A model's accuracy with judges' probabilities as side information.

The judges' opinions and the model's own prediction give every item a working distribution of its true option
(`fit_parameters`), whose parameters are learned from experts' answers about the items of the other folds
(cross-fitting, as in `oversight.harness.estimate.routed.means`). It enters the score interval of
`oversight.harness.estimate.intervals.tilting`, where E U = 0 for every distribution made without the item's
own answer: a judge that is wrong, reversed or constant costs width, never validity.

What judges are worth: how many times as many answers would say as much without them.

It is a ratio of variances, each the sum of squared deviations of the outcomes g at the estimate: of the same
answers without judges, over with them. Items drawn of a pool are weighted, without judges, as if as many had
been drawn with equal chances. The logarithm of the ratio has the larger of two standard errors: that of the
infinitesimal jackknife over items (clusters), each of which contributes its share of the one sum less its
share of the other, and that of the jackknife over ten groups of them, in which what judges say is learned
anew (Efron 1982, The Jackknife, the Bootstrap and Other Resampling Plans).

Judges: how likely other models say each option is, as side information that nobody has to believe.

A judge is a model that was asked about the same items and is named in the study for it. `judged_accuracy`
turns its probabilities into a narrower interval of other models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import LabelColumns, PredictionColumns, keep_drawn
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.combinations import POOL, refuse
from oversight.harness.estimate.core import check_level
from oversight.harness.estimate.evaluation import complete
from oversight.harness.estimate.evidence import Evidence, enough_clusters
from oversight.harness.estimate.intervals import tilted_outcomes
from oversight.harness.estimate.judged.working import JudgeOpinion, split_items_evenly, working_distribution
from oversight.harness.estimate.routed import (
    RoutedSample,
    accuracy_target,
    check_predicted,
    resolved_correctness,
    routed_accuracy,
    settled_sample,
    t_quantile,
    tilt_sample,
)
from oversight.harness.estimate.side_information import Setting, SideInformation
from oversight.harness.estimate.tallies import find_strata
from oversight.harness.types import Estimate, Note, NoteKind


def judged_accuracy(
    predicted: IntArray,
    data: RoutedSample,
    judges: Sequence[JudgeOpinion],
    *,
    level: float = 0.95,
    cluster: IntArray | None = None,
    weight: FloatArray | None = None,
) -> Estimate:
    """Accuracy of one model from one question an item, or about items drawn of a pool.

    Parameters
    ----------
    predicted
        Shape (N,): −1 for unreadable, which is wrong and counts.
    data
        Answers; where items were drawn of a pool (`sampled`), the estimate is of the whole pool, and items
        that were not drawn may have propensities of 0, for chances that are not known (`tilt_items`).
    judges
        What judges say of the same items.
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
    make = heard_working(judges)
    return estimate_working(predicted, data, make, level=level, cluster=cluster, weight=weight)


WorkingMaker = Callable[[IntArray, IntArray, RoutedSample, IntArray | None], FloatArray]
"""Makes the working distribution of some items: from their places, predictions, answers and clusters."""


def heard_working(judges: Sequence[JudgeOpinion]) -> WorkingMaker:
    """Make working distributions from what judges name, and how sure they are."""

    def make(
        items: IntArray, predicted: IntArray, data: RoutedSample, cluster: IntArray | None
    ) -> FloatArray:
        heard = [judge.take(items) for judge in judges]
        return working_distribution(predicted, data, heard, cluster=cluster)

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
    """`judged_accuracy` with any working distribution that is made without each item's own answer."""
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
class JudgeWorth:
    """How many times as many answers would say as much without judges, with the ends of an interval."""

    ratio: float
    low: float
    high: float


def measure_worth(
    predicted: IntArray,
    data: RoutedSample,
    judges: Sequence[JudgeOpinion],
    *,
    level: float = 0.95,
    cluster: IntArray | None = None,
) -> JudgeWorth | None:
    """What judges were worth to one model; None where nothing varies. Parameters as of `judged_accuracy`."""
    return measure_working(predicted, data, heard_working(judges), level=level, cluster=cluster)


def measure_working(
    predicted: IntArray,
    data: RoutedSample,
    make: WorkingMaker,
    *,
    level: float = 0.95,
    cluster: IntArray | None = None,
) -> JudgeWorth | None:
    """What a working distribution was worth to one model; None where nothing varies.

    Parameters
    ----------
    make
        Makes it, of all items and of those left when a group is left out.
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
    return JudgeWorth(ratio=ratio, low=ratio * float(np.exp(-half)), high=ratio * float(np.exp(half)))


def _leave_groups_out(
    predicted: IntArray, data: RoutedSample, make: WorkingMaker, cluster: IntArray | None
) -> FloatArray:
    """Logarithms of the ratio without each group of items; without those in which nothing varies."""
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
    """What every item, or cluster, adds to the variance without judges and with them."""
    readable = np.flatnonzero(predicted >= 0)
    target = accuracy_target(predicted, data.propensities.shape[1])
    working = make(items, predicted, data, cluster)
    rows = tilt_sample(target, readable, data, working=working)
    of = None if cluster is None else cluster[readable]
    judged = _square(rows.weight * tilted_outcomes(rows), of)
    return _square_plain(target, readable, data, cluster), judged


def _square(deviation: FloatArray, cluster: IntArray | None) -> FloatArray:
    """What every item, or cluster, adds to the variance of a sum of deviations."""
    sums: FloatArray = deviation if cluster is None else np.bincount(cluster, deviation).astype(np.float64)
    squares: FloatArray = sums**2
    return squares


def _square_plain(
    target: FloatArray, readable: IntArray, data: RoutedSample, cluster: IntArray | None
) -> FloatArray:
    """The same without judges, had the answered items been drawn with equal chances."""
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
    """The sample as one of the whole pool, the predictions on it, −1 for unreadable, and the items' places.

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
        raise NotIdentified("how many options the items have that were not drawn is not known")
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
    """What the study's judges say of its items.

    Parameters
    ----------
    models
        Predictions of the models to estimate, by name. If items were drawn from a pool: of the whole pool.
    judges
        Predictions of every judge about the same items.
    n_options
        Shape (N,): K of every item. It is needed only for a pool of items with different K.
    missing
        Why there are no judges although the study names some; empty if there are.
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
            As `Evidence.of` and `judged_accuracy`.
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
            data, option, items = evidence.sample, evidence.option, evidence.items
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
        return _tell_worth(complete(estimate, predictions, part, notes, tilted=True), worth)


def _take_resolved(
    labels: LabelColumns, predictions: PredictionColumns
) -> tuple[RoutedSample, IntArray, IntArray]:
    """Resolved items as if each had been asked about the prediction, predictions on them, and their places.

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
    n_options = np.full(labels.index.size, 2)
    n_options[labels.places] = labels.n_options
    return settled_sample(option, right, n_options[found.items]), option, found.items


def _tell_worth(estimate: Estimate, worth: JudgeWorth | None) -> Estimate:
    """The estimate, with the questions that judges saved; none where nothing varies.

    A ratio of variances says nothing where hardly an item is of the rarer kind, right or wrong.
    """
    if worth is None:
        return estimate
    answers = estimate.n.ordinary + estimate.n.complementary
    if min(estimate.clipped, 1 - estimate.clipped) * answers < LEAST_KINDS:
        rarer = "wrong" if estimate.clipped > 0.5 else "right"
        rare = {"least": LEAST_KINDS, "answers": answers, "rarer": rarer}
        return replace(estimate, notes=(*estimate.notes, Note(NoteKind.JUDGE_WORTH, rare)))
    saved, least, most = (round(answers * (x - 1)) for x in (worth.ratio, worth.low, worth.high))
    told = {
        "saved": saved,
        "least": least,
        "most": most,
        "level": estimate.level,
        "answers": answers,
        "worth": answers + saved,
    }
    return replace(estimate, notes=(*estimate.notes, Note(NoteKind.JUDGE_SAVED, told)))
