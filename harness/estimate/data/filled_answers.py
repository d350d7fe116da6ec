"""The best and the worst that missing answers could say of a model."""

from __future__ import annotations

import numpy as np

from oversight.harness.arrays import AnyIntArray
from oversight.harness.columns import ABSTAINED, NO, YES


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
