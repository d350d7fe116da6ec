"""Judges: how likely other models say each option is, as side information that nobody has to believe.

A judge is a model that was asked about the same items and is named in the study for it. `judged_accuracy`
turns its probabilities into a narrower interval of other models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from oversight.harness.arrays import IntArray
from oversight.harness.columns import LabelColumns, PredictionColumns, keep_drawn
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.data import find_strata
from oversight.harness.estimate.evaluation import complete
from oversight.harness.estimate.evidence import Evidence, enough_clusters
from oversight.harness.estimate.judged.judge_features import JudgeOpinion
from oversight.harness.estimate.judged.judge_worth import LEAST_KINDS, JudgeWorth, measure_worth
from oversight.harness.estimate.judged.whole_pool import spread_over_pool
from oversight.harness.estimate.judged.with_judges import judged_accuracy
from oversight.harness.estimate.routed import RoutedSample, resolved_correctness, settled_sample
from oversight.harness.estimate.side_information import Setting, SideInformation
from oversight.harness.types import Estimate, Note, NoteKind

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
        weighs_strata = setting.labels.pool is None
        return setting.refuse(self.subject, weighs_strata=weighs_strata) or self._missing

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
        heard = [opinion.take(items) for opinion in self._opinions]
        estimate = judged_accuracy(option, data, heard, level=level, cluster=cluster, weight=weight)
        worth = None
        if weight is None:
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
