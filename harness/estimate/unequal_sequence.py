"""A model's accuracy while answers still come in about items that were drawn with unequal chances."""

from __future__ import annotations

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import ItemPool, LabelColumns, PredictionColumns
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.combinations import find_reason
from oversight.harness.estimate.evidence import find_weights
from oversight.harness.estimate.intervals import DrawnAnswers, draw_betting_sequence
from oversight.harness.estimate.routed import RoutedSample, routed_accuracy, routed_pool
from oversight.harness.types import Estimate, Interval

UNEQUAL_ASSUMPTIONS = (
    "items and options were drawn with the recorded chances, before any answer to them",
    "experts answer without error",
    "how fast an expert answers does not depend on the truth",
)
_NEAR = 1e-9


def watch_unequal(predictions: PredictionColumns, labels: LabelColumns, *, level: float = 0.95) -> Estimate:
    """Accuracy on the pool with a confidence sequence, valid at all looks at once (`draw_betting_sequence`).

    Parameters
    ----------
    predictions
        Of the drawn items at least; unreadable ones are wrong, failed ones left out.
    labels
        That `check_watchable` allows, so many of each expert's as make them a random part of each draw.

    Raises
    ------
    EstimateError
        If there is no answered item.
    NotIdentified
        If several models' predictions were asked about.
    """
    data, predicted, items = routed_pool(labels, [predictions])
    option, weight = predicted[:, 0].astype(np.int64), find_weights(items, labels)
    if labels.pool is None or weight is None:
        raise NotIdentified("items were drawn with equal chances")
    now = routed_accuracy(option, data, weight=weight, level=level)
    draws = _part_draws(_see_items(option, data), items, labels.pool, labels)
    interval = draw_betting_sequence(draws, labels.pool.size, level=level)
    value = min(interval.high, max(interval.low, now.value))
    return Estimate.from_interval(
        value=value,
        interval=Interval(low=interval.low, high=interval.high, level=level, method="anytime"),
        estimator="routed",
        n=now.n,
        assumptions=UNEQUAL_ASSUMPTIONS,
    )


def see_draws(predictions: PredictionColumns, labels: LabelColumns) -> list[DrawnAnswers]:
    """Gather what was seen of the items of every draw; raises as `watch_unequal`."""
    data, predicted, items = routed_pool(labels, [predictions])
    if labels.pool is None:
        raise NotIdentified("items were drawn with equal chances")
    return _part_draws(_see_items(predicted[:, 0].astype(np.int64), data), items, labels.pool, labels)


def see_known_items(labels: LabelColumns, items: IntArray, right: IntArray) -> list[DrawnAnswers]:
    """Gather items by draw that are known right or wrong, 1 or 0, as if asked about their prediction."""
    if labels.pool is None:
        raise NotIdentified("items were drawn with equal chances")
    one = np.ones(len(items), np.int64)
    return _part_draws(np.stack([one, one, one, right]), items, labels.pool, labels)


def _see_items(option: IntArray, data: RoutedSample) -> IntArray:
    """K, and whether readable, asked about its prediction, and answered yes, of every item; shape (4, N).

    K is 1 where the prediction was asked about for certain.

    Raises
    ------
    NotIdentified
        If options were drawn otherwise than that or with equal chances, or items have several questions.
    """
    n, readable = len(option), option >= 0
    if np.bincount(data.item).max(initial=0) > 1:
        raise NotIdentified("items drawn with unequal chances have several questions")
    asked, yes = data.by_item
    chance = np.where(readable, data.propensities[np.arange(n), np.maximum(option, 0)], 0.0)
    certain = chance > 1 - _NEAR
    if (readable & ~certain & (abs(chance * data.n_options - 1) > _NEAR)).any():
        raise NotIdentified(find_reason("gate", {"weighted", "weights"}))
    K = np.where(certain, 1, data.n_options)
    return np.stack([K, readable, readable & (asked == option), yes.astype(np.int64)])


def _part_draws(seen: IntArray, items: IntArray, pool: ItemPool, labels: LabelColumns) -> list[DrawnAnswers]:
    """What was seen of the items of every draw."""
    batch, scale, remaining = _scale(pool)
    K, readable, own, yes = seen
    right, wrong = (own & yes) == 1, (readable == 0) | (own != yes)
    asked = labels.drawn if labels.drawn is not None else labels.questions
    known = {1} if (K[readable == 1] == 1).all() else set(np.unique(asked.n_options).tolist())
    made = []
    for number, rest in remaining.items():
        now, before = batch[items] == number, batch[items] < number
        made.append(
            DrawnAnswers(
                n_options=K[now],
                readable=readable[now] == 1,
                own=own[now] == 1,
                yes=yes[now] == 1,
                scale=scale[items[now]],
                largest=dict.fromkeys(known, float(scale[batch == number].max())),
                remaining=rest,
                known_right=int(np.count_nonzero(right & before)),
                known_wrong=int(np.count_nonzero(wrong & before)),
            )
        )
    return made


def _scale(pool: ItemPool) -> tuple[IntArray, FloatArray, dict[int, int]]:
    """Number of the draw and v of every item, shape (N,), and N_b by number; of weights alone one draw."""
    drawn = pool.drawn
    batch = np.where(drawn, 1, 0) if pool.batch is None else pool.batch
    weight = np.zeros(len(drawn)) if pool.weight is None else pool.weight
    scale, remaining, left = np.where(drawn, weight, 0.0), dict[int, int](), pool.size
    for number in np.unique(batch[drawn]).tolist():
        now = batch == number
        size, remaining[number] = int(np.count_nonzero(now)), left
        if pool.chance is None:
            scale[now] *= size / left
        else:
            equal = np.isnan(pool.chance[now])
            scale[now] = np.where(equal, 1.0, size / (left * np.where(equal, 1.0, pool.chance[now])))
        left -= size
    return batch, scale, remaining
