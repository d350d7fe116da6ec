"""Answers about items drawn of a pool, together with what is predicted of the items that were not drawn."""

from __future__ import annotations

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import LabelColumns, PredictionColumns
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.routed import RoutedSample

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
