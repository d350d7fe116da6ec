"""A model's accuracy while answers still come in: an interval that may be looked at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import ItemPool, LabelColumns, PredictionColumns
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.combinations import find_reason, refuse
from oversight.harness.estimate.core import check_level
from oversight.harness.estimate.data import Tallies, Tally, tally
from oversight.harness.estimate.evidence import find_weights, number_clusters
from oversight.harness.estimate.intervals import (
    DrawnAnswers,
    draw_betting_sequence,
    likelihood_sequence,
    score_betting_sequence,
)
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


ANYTIME_ASSUMPTIONS = (
    "options were asked about without a look at the truth",
    "experts answer without error",
    "how fast an expert answers does not depend on the truth",
    "items have as many options, and predictions are as often readable, as among all predictions",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClusterTallies:
    """What was answered in each cluster.

    Attributes
    ----------
    of
        K → tallies of all clusters.
    largest
        Items of the largest cluster.
    """

    of: Mapping[int, Sequence[Tally]]
    largest: int


def estimate_anytime(
    predictions: PredictionColumns,
    labels: LabelColumns,
    *,
    level: float = 0.95,
    n_options: Mapping[str, int] | None = None,
) -> Estimate:
    """Accuracy with a confidence sequence, valid at all looks at once.

    It comes from the likelihood (`anytime.likelihood_sequence`), of items in clusters from
    `score_betting_sequence`; of items drawn with unequal chances from `watch_unequal`.

    A = Σ_K W_K ρ_K A_K: the share W_K of items with K options and the readable share ρ_K among them
    are those of *all* predictions, which are known before any answer and do not change from look to
    look; a sequence is needed for A_K, the accuracy on readable ones, alone. With H values of K each
    gets the level 1 − (1 − level)/H, so that by the union bound all hold jointly.

    Parameters
    ----------
    predictions
        Of all items of the study, labelled or not; unreadable ones are wrong, failed ones left out.
    labels
        So many of each expert's as make options equally likely to have been asked; a fast expert's
        surplus must be left out (see `oversight.protocols.collect.label_studio.watch`).
    n_options
        K of every predicted item, by id; by default all have the K of the labels.

    Raises
    ------
    EstimateError
        If no label is on a readable prediction of some K, K varies and `n_options` is not given, or
        labels contradict each other.
    NotIdentified
        If questions followed from predictions in a way that makes the likelihood wrong.
    """
    check_watchable(predictions, labels)
    if labels.is_unequal:
        return watch_unequal(predictions, labels, level=level)
    return estimate_anytime_tallies(
        predictions,
        tally(predictions, labels),
        level=level,
        n_options=n_options,
        by_cluster=_tally_clusters(predictions, labels),
    )


def estimate_anytime_tallies(
    predictions: PredictionColumns,
    tallies: Tallies,
    *,
    level: float = 0.95,
    n_options: Mapping[str, int] | None = None,
    by_cluster: ClusterTallies | None = None,
) -> Estimate:
    """`estimate_anytime` from what was counted of labels that it takes.

    Parameters
    ----------
    by_cluster
        The tallies of each cluster; None where items are independent.
    """
    check_level(level)
    groups = {t.K: t for t in tallies.strata}
    shares = _readable_shares(predictions, groups, n_options)
    missing = [K for K in shares if not (K in groups and groups[K].n_readable)]
    if missing or not shares:
        raise EstimateError(
            f"a running estimate needs an answer on a readable prediction of every K; there is none for "
            f"K = {', '.join(map(str, missing)) or '?'}"
        )
    each = 1 - (1 - level) / len(groups)
    parts = [(share, K, _sequence(groups[K], each)) for K, share in shares.items() if share]
    value = sum(share * part.value for share, _, part in parts)
    intervals: list[tuple[float, Estimate | Interval]] = [(share, part) for share, _, part in parts]
    if by_cluster is not None:
        intervals = [(share, _clustered(by_cluster.of[K], by_cluster.largest, each)) for share, K, _ in parts]
    low, high = (sum(share * getattr(part, end) for share, part in intervals) for end in ("low", "high"))
    return Estimate.from_interval(
        value=value,
        interval=Interval(low=low, high=high, level=level, method="anytime"),
        estimator="ml",
        n=tallies.counts,
        assumptions=(
            *ANYTIME_ASSUMPTIONS,
            *(["clusters are independent draws"] if by_cluster is not None else []),
        ),
    )


def check_watchable(predictions: PredictionColumns, labels: LabelColumns) -> None:
    """Refuse a confidence sequence where its likelihood is wrong.

    Options must have been drawn uniformly, or each must be the prediction itself.

    Raises
    ------
    NotIdentified
        Naming what would allow it.
    """
    if labels.is_unequal:
        refuse("estimate", labels.conditions)
    if labels.is_uniform:
        return
    if not (
        all(rule.estimator == "weighted" and "accuracy" in rule.answers for rule in labels.statements)
        and (predictions.option[labels.item] == labels.option).all()
    ):
        raise NotIdentified(
            "its questions followed from predictions; an interval for looking on needs the partitioned "
            "protocol, or the targeted one with this model alone; at the end: oversight estimate"
        )


def _readable_shares(
    predictions: PredictionColumns, groups: Mapping[int, Tally], n_options: Mapping[str, int] | None
) -> dict[int, float]:
    """W_K ρ_K of every K."""
    if n_options is None and len(groups) > 1:
        raise EstimateError(f"n_options must be given where K varies; labels have K = {sorted(groups)}")
    readable, ran = np.flatnonzero(predictions.option >= 0), np.count_nonzero(predictions.ran)
    if n_options is None:
        return {next(iter(groups), 0): readable.size / ran} if readable.size else {}
    ids = predictions.index.ids
    number = np.bincount([n_options[ids[i]] for i in readable.tolist()])
    return {int(K): int(number[K]) / ran for K in np.flatnonzero(number)}


def _sequence(t: Tally, level: float) -> Estimate:
    return likelihood_sequence(
        t.hits.S, _errors(t), [m.S for m in t.misses], [m.K for m in t.misses], level=level
    )


def _errors(t: Tally) -> int:
    return t.hits.n - t.hits.S + sum(m.n - m.S for m in t.misses)


def _tally_clusters(predictions: PredictionColumns, labels: LabelColumns) -> ClusterTallies | None:
    clusters = labels.cluster
    if clusters is None:
        return None
    number_clusters(np.flatnonzero(predictions.is_there), labels.index, labels.cluster)
    found: dict[int, list[Tally]] = {}
    for t in tally(predictions, labels, strata=labels.cluster).strata:
        found.setdefault(t.K, []).append(t)
    return ClusterTallies(of=found, largest=int(np.bincount(clusters.code[predictions.is_there]).max()))


def _clustered(tallies: Sequence[Tally], largest: int, level: float) -> Interval:
    K = sorted({miss.K for t in tallies for miss in t.misses})
    refused = [{miss.K: miss.S for miss in t.misses} for t in tallies]
    return score_betting_sequence(
        np.array([t.hits.S for t in tallies]),
        np.array([_errors(t) for t in tallies]),
        np.array([[of.get(k, 0) for k in K] for of in refused], dtype=np.int64).reshape(len(tallies), len(K)),
        np.array(K),
        largest=largest,
        level=level,
    )
