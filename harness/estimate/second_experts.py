"""Accuracy of one model where experts err: by second experts' answers, or by ranges of their error rates."""

from __future__ import annotations

from collections.abc import Mapping

from oversight.harness.arrays import IntArray
from oversight.harness.columns import LabelColumns, PredictionColumns, keep_predicted
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.evaluation import complete
from oversight.harness.estimate.evidence import Evidence
from oversight.harness.estimate.routed import ErrorRanges, allows_gold_score, bounded_accuracy
from oversight.harness.estimate.side_information import Setting, SideInformation
from oversight.harness.types import Estimate


def allow_for_errors(
    predictions: PredictionColumns,
    labels: LabelColumns,
    second: IntArray,
    known: ErrorRanges,
    *,
    level: float = 0.95,
) -> Estimate:
    """Estimate named ``hui_walter`` where items have a second answer, otherwise ``bounded``.

    Parameters
    ----------
    second
        Shape (items,): what a second expert said to the item's question, 1, 0, or −1 for none.
    known
        Ranges of the error rates, and answers to gold.

    Raises
    ------
    NotIdentified
        As `bounded_accuracy`, or if the draw has no likelihood: several questions an item, drawn by several
        models' predictions, or items of different K.
    EstimateError
        If an item has no cluster where items come in clusters, or nothing can be estimated.
    """
    part, notes = collected_part(labels, predictions.is_there)
    evidence = Evidence.of(predictions, part, error_free=False)
    option, sample = evidence.option, evidence.sample
    if not allows_gold_score(option, sample):
        raise NotIdentified(
            "without gold items experts' errors are told from one question an item, its option drawn "
            "uniformly or predicted by this model, and items of one number of options"
        )
    asked = second[evidence.items[sample.item]]
    estimate = bounded_accuracy(option, sample, asked, known, level=level, cluster=evidence.cluster)
    return complete(estimate, predictions, part, notes)


class ExpertErrors(SideInformation):
    """What is known of experts' error rates without gold of both kinds.

    Parameters
    ----------
    models
        Predictions of the models to estimate, by name.
    second, known
        As in `allow_for_errors`.
    name
        ``hui_walter`` if items have a second answer, otherwise ``bounded``.
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
