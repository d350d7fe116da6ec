"""Strata from a model's own confidence, so that labels tell more.

Where a model is surer where it is righter, accuracies differ between strata of confidence, and the
stratified estimate loses that difference from its variance. The strata are a function of the predictions
alone, so the estimate stays unbiased however badly the confidence is calibrated; a useless confidence
costs a little width, nothing else. (Post-stratification, Holt & Smith, 1979, JRSS A 142.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from oversight.harness.columns import ItemValues, LabelColumns, PredictionColumns
from oversight.harness.errors import EstimateError

CONFIDENCE: Literal["confidence"] = "confidence"
"""In place of strata: by the model's own confidence."""

Strata = Mapping[str, str] | ItemValues | Literal["confidence"] | None
"""Stratum of every item, by id or by place, or `CONFIDENCE`.

Strata are weighted by their share of the predictions, so that they may be labelled at different rates.
"""


MOST_STRATA = 5
LABELS_EACH = 40
"""Strata with fewer labels than about this are estimated too badly to be worth telling apart."""


def stratify_by_confidence(predictions: PredictionColumns, n_labels: int) -> ItemValues:
    """Cut predictions into strata of about equal size by their confidence.

    Parameters
    ----------
    predictions
        All that were made; those without a confidence count as the least sure.
    n_labels
        Number of labels, which limits the number of strata.

    Returns
    -------
    ItemValues
        ``"confidence 1"`` (least sure) to at most ``"confidence 5"``. Equal confidences share a stratum.

    Raises
    ------
    EstimateError
        If no prediction has a confidence.
    """
    if predictions.confidence is None:
        raise EstimateError(
            "strata: no prediction has a confidence; ask with logprobs = true or samples > 1, where offered"
        )
    sure = np.nan_to_num(predictions.confidence[predictions.is_there], nan=-1.0)
    k = max(1, min(MOST_STRATA, n_labels // LABELS_EACH))
    ends = np.quantile(sure, np.arange(1, k) / k, method="inverted_cdf")
    code = np.full(predictions.index.size, -1, dtype=np.int64)
    code[predictions.is_there] = np.searchsorted(np.unique(ends), sure, side="left")
    return ItemValues(code=code, names=[f"confidence {s + 1}" for s in range(k)])


def find_strata(predictions: PredictionColumns, labels: LabelColumns, strata: Strata) -> ItemValues | None:
    """The stratum of every item: as given, or by the model's confidence."""
    if isinstance(strata, str):
        return stratify_by_confidence(predictions, len(labels))
    return ItemValues.of(strata, labels.index) if isinstance(strata, Mapping) else strata
