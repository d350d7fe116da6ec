"""The accuracy of a model as it becomes known: from the first so many labels in the order of the draw.

Where every item has one question, whatever was counted of the first labels is a sum over the portions in
which they came, so that all points together cost little more than one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from oversight.harness.columns import ItemValues, LabelColumns, PredictionColumns, QuestionColumns, mark
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.anytime_accuracy import estimate_anytime_tallies
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.data import Strata, Tallies, Tally, estimate_tallies, tally_columns
from oversight.harness.estimate.evaluation import accuracy
from oversight.harness.estimate.evidence import find_unequal
from oversight.harness.types import Estimate, Note

_NEAR = 1e-6


def growing_accuracy(
    predictions: PredictionColumns,
    labels: LabelColumns,
    points: int,
    *,
    interval: str | None = None,
    level: float = 0.95,
    strata: Strata = None,
    n_options: Mapping[str, int] | None = None,
) -> tuple[tuple[int, Estimate], ...]:
    """Number of labels and estimate at the first 1/points, 2/points, … of the labels of predicted items.

    The earliest may be undefined and are left out. Parameters as in `accuracy`.
    """
    notes: tuple[Note, ...] = ()
    if labels.drawn is not None and not labels.statement.asks_on:
        try:
            labels, notes = collected_part(labels, predictions.is_there)
        except NotIdentified:
            return ()
        labels = _leave_open(labels)
    # counts can be added up only where all labels weigh the same
    is_even = find_unequal(labels, predictions.is_there) is None
    is_whole = strata is None and bool(predictions.is_there.all())
    portions = _cut(labels, points) if is_even and is_whole else None
    found = []
    if portions is not None:
        for n, tallies in _sum_up(predictions, labels, portions):
            with contextlib.suppress(EstimateError):
                estimate = (
                    estimate_anytime_tallies(predictions, tallies, level=level, n_options=n_options)
                    if interval == "anytime"
                    else estimate_tallies(tallies, interval=interval, level=level)
                )
                found.append((n, replace(estimate, notes=notes + estimate.notes)))
        return tuple(found)
    for part in growing_parts(labels, points):
        with contextlib.suppress(EstimateError):
            estimate = accuracy(
                predictions,
                part,
                interval=interval,
                level=level,
                strata=strata,
                n_options=n_options,
                checks=False,
            )
            found.append((len(part), replace(estimate, notes=notes + estimate.notes)))
    return tuple(found)


@lru_cache(maxsize=1)
def _leave_open(labels: LabelColumns) -> LabelColumns:
    """The questions that were answered or passed over, as if no others had been drawn."""
    return replace(labels, drawn=labels.questions, asked=mark(labels.item, labels.index.size))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Portions:
    """Labels of one question an item, in the portions by which their number grows.

    Attributes
    ----------
    of_item
        Portion of every item, by its label.
    sizes
        Number of labels up to and with each portion.
    """

    of_item: ItemValues
    sizes: Sequence[int]


@lru_cache(maxsize=1)
def _cut(labels: LabelColumns, points: int) -> _Portions | None:
    """The portions, once for several models in turn; None where counts cannot be added up.

    That is where items have several questions, options were not drawn uniformly or items come in clusters.
    """
    drawn, asked = labels.drawn or labels.questions, labels.questions
    alone = all(np.bincount(q.item, minlength=1).max() == 1 for q in (asked, drawn) if len(q))
    even = not asked.offered.values.size and bool(
        (np.abs(asked.propensity * asked.n_options - 1) < _NEAR).all()
    )
    if not (len(labels) and labels.is_even and labels.cluster is None and alone and even):
        return None
    order = _order_labels(labels)
    ranked = np.sort(order)
    ends = sorted({round(len(labels) * j / points) for j in range(1, points + 1)} - {0})
    # the last part has all questions, drawn after its last label or not
    last = np.append(ranked[np.array(ends[:-1], dtype=np.int64) - 1], np.iinfo(np.uint64).max)
    code = np.full(labels.index.size, -1)
    code[labels.item] = np.searchsorted(last, order)
    return _Portions(
        of_item=ItemValues(code=code, names=[str(j) for j in range(len(ends))]),
        sizes=np.cumsum(np.bincount(code[labels.item], minlength=len(ends))).tolist(),
    )


def _order_labels(labels: LabelColumns) -> NDArray[np.uint64]:
    """Order of the draw of every label, from that of the questions where each is known."""
    rows = labels.answers
    if labels.drawn is None or np.count_nonzero(rows >= 0) < len(labels):
        return labels.questions.order
    found = np.empty(len(labels), dtype=np.uint64)
    found[rows[rows >= 0]] = labels.drawn.order[rows >= 0]
    return found


def _sum_up(
    predictions: PredictionColumns, labels: LabelColumns, portions: _Portions
) -> Iterator[tuple[int, Tallies]]:
    """Number of labels and tallies of every part."""
    whole: dict[int, Tally] = {}
    tallies = tally_columns(predictions, labels, portions.of_item).strata
    for j, n in enumerate(portions.sizes):
        for tally in tallies:
            if tally.stratum == str(j):
                whole[tally.K] = whole[tally.K].add(tally) if tally.K in whole else replace(tally, stratum="")
        parts = tuple(whole[k] for k in sorted(whole))
        yield n, Tallies(strata=parts, n_unlabelled=len(predictions) - n)


def growing_parts(labels: LabelColumns, points: int) -> Iterator[LabelColumns]:
    """The first 1/points, 2/points, … of the labels in the order of the draw.

    Each has the design of the questions drawn up to there, as if no more had been. Where questions are
    asked until an item is resolved, the questions of an item stay together.
    """
    whole = bool(labels.statements) and labels.statement.asks_on

    def order_of(questions: QuestionColumns) -> NDArray[np.uint64]:
        return questions.item_order if whole else questions.order

    order = order_of(labels.questions)
    ranked = np.argsort(order, kind="stable")
    for j in range(1, points + 1):
        n = round(len(labels) * j / points)
        if n == 0:
            continue
        if n == len(labels):
            yield labels.take(ranked)
            continue
        last = order[ranked[n - 1]]
        part = labels.take(ranked[: np.searchsorted(order[ranked], last, side="right")])
        drawn = labels.drawn
        if drawn is not None:
            drawn = drawn.take(np.flatnonzero(order_of(drawn) <= last))
        asked = labels.asked if drawn is None else mark(drawn.item, labels.index.size)
        yield replace(part, drawn=drawn, asked=asked)
