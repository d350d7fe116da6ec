"""Models' estimates with the study's judges, named ``judged``, beside what their protocol gives.

A judge is a model that was asked the same items and is named for it; how likely it says each option is
narrows the interval of other models (`judged_accuracy`), and no answer of it is taken for the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from oversight.harness.arrays import IntArray
from oversight.harness.columns import LabelColumns, PredictionColumns, keep_drawn
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.by_design import enough_clusters
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.data import Estimates, find_unequal
from oversight.harness.estimate.evaluation import complete
from oversight.harness.estimate.judged.judge_features import JudgeOpinion
from oversight.harness.estimate.judged.judge_worth import LEAST_KINDS, JudgeWorth, measure_worth
from oversight.harness.estimate.judged.whole_pool import spread_over_pool
from oversight.harness.estimate.judged.with_judges import judged_accuracy
from oversight.harness.estimate.routed import RoutedSample, resolved_correctness, routed_pool, settled_sample
from oversight.harness.types import Estimate, Note, NoteKind

JUDGED = "judged"
_MAIN = ("resolved", "routed", "ml")
"""The estimates that protocols give of one model, beside which this one stands."""


def judge_models(
    models: Mapping[str, PredictionColumns],
    judges: Sequence[PredictionColumns],
    labels: LabelColumns,
    found: Mapping[str, Estimates],
    *,
    level: float,
    n_options: IntArray | None = None,
) -> dict[str, Estimates]:
    """Add to models' estimates the one that judges narrow.

    Parameters
    ----------
    models
        Predictions of the models in `found`, by name; of all items of a pool from which some were drawn.
    judges
        Predictions of every judge about the same items.
    found
        Estimates to add it to; where the protocol's own is missing nothing is added.
    level
        Confidence level of each.
    n_options
        Shape (N,): K of every item; what is not known where it is None, is needed of a pool of mixed K only.

    Returns
    -------
    dict
        `found` with an estimate named ``judged``, which says what the judges saved, or with the reason why
        there is none.
    """
    opinions, made = [JudgeOpinion.of(judge) for judge in judges], dict(found)
    for name, estimates in found.items():
        if not any(map(estimates.get, _MAIN)):
            continue
        try:
            judged = _judge_model(models[name], opinions, labels, level, n_options)
        except EstimateError as error:
            made[name] = _withhold(estimates, str(error))
        else:
            made[name] = Estimates({**estimates, JUDGED: judged}, estimates.undefined)
    return made


def withhold_judged(found: Mapping[str, Estimates], why: str) -> dict[str, Estimates]:
    """Say of every model why it has no estimate with judges."""
    return {name: _withhold(made, why) if any(map(made.get, _MAIN)) else made for name, made in found.items()}


def _withhold(estimates: Estimates, why: str) -> Estimates:
    return Estimates(estimates, {**estimates.undefined, JUDGED: why})


def _judge_model(
    every: PredictionColumns,
    opinions: Sequence[JudgeOpinion],
    labels: LabelColumns,
    level: float,
    n_options: IntArray | None,
) -> Estimate:
    if labels.is_resolved and labels.pool is None:
        raise NotIdentified("every item is resolved, and a judge adds nothing to what is known")
    predictions = keep_drawn(every, labels)
    part, notes = collected_part(labels, predictions.is_there)
    if labels.is_resolved:
        data, option, items = _take_resolved(part, predictions)
    else:
        data, predicted, items = routed_pool(part, [predictions], unequal=True)
        if (unequal := find_unequal(part, predictions.is_there)) is not None:
            data = unequal.tilt(data)
        option = predicted[:, 0].astype(np.int64)
    rows = np.flatnonzero(option >= 0)
    if labels.pool is not None:
        data, option, items = spread_over_pool(data, items, every, labels, n_options)
    elif rows.size and (data.propensities[rows, option[rows]] > 1 - 1e-9).all():
        raise NotIdentified("every question settles a prediction, and a judge adds nothing to what is known")
    cluster = enough_clusters(items, labels.index, labels.cluster)
    heard = [opinion.take(items) for opinion in opinions]
    estimate = judged_accuracy(option, data, heard, level=level, cluster=cluster)
    worth = measure_worth(option, data, heard, level=level, cluster=cluster)
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
    found = resolved_correctness(labels, [predictions], unequal=True)
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
