"""The best and the worst that missing answers could say of a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.arrays import AnyIntArray
from harness.columns import ABSTAINED, NO, YES, LabelColumns, PredictionColumns


def fill_answers(
    said: AnyIntArray,
    option: AnyIntArray,
    item: AnyIntArray,
    y_hat: AnyIntArray,
    n_options: AnyIntArray,
    *,
    favourable: bool,
) -> AnyIntArray:
    """Answers put in for the missing ones, all for or all against the model.

    For it: yes on its prediction, no elsewhere. Against it: no on its prediction, and one yes
    elsewhere. An item has one truth, so there is no second yes; and where all other options are
    refused, the last one stays open (it must be true).

    Parameters
    ----------
    said, option, item
        Shape (L,): 1 yes, 0 no, −1 missing; the option asked about; the place of its item.
    y_hat, n_options
        Shape (N,): the model's option, negative if it named none; K.
    """
    on_prediction = option == y_hat[item]
    alone = np.bincount(item, minlength=n_options.size)[item] == 1
    kind = np.where(alone & (said == ABSTAINED), np.where(on_prediction == favourable, YES, NO), said)
    has_yes = np.bincount(item[kind == YES], minlength=n_options.size) > 0
    refused = np.bincount(item[kind == NO], minlength=n_options.size)
    for row in np.flatnonzero(kind == ABSTAINED).tolist():
        i = int(item[row])
        if not has_yes[i] and on_prediction[row] == favourable:
            kind[row] = YES
            has_yes[i] = True
        elif refused[i] < n_options[i] - 1:
            kind[row] = NO
            refused[i] += 1
    return kind


def fill_passed(
    labels: LabelColumns, part: LabelColumns, predictions: PredictionColumns, *, favourable: bool
) -> LabelColumns:
    """Add an answer, for or against a model, to every question that was passed over in a part of the labels.

    What an expert was unsure of stays so.
    """
    if part.passed is None:
        return labels
    meant = np.flatnonzero(part.passed | (part.kind != ABSTAINED))
    n_options = np.zeros(labels.index.size, np.int64)
    n_options[part.item] = part.questions.n_options
    of_these = (part.kind[meant], part.option[meant], part.item[meant])
    filled = fill_answers(*of_these, predictions.option, n_options, favourable=favourable)
    found = labels.pass_over(part.questions.take(np.flatnonzero(part.passed)))
    kind = np.concatenate([labels.kind, filled[part.passed[meant]]])
    return replace(found, kind=kind, passed=None)
