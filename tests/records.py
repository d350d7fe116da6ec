"""Functions that call the column-based estimators with records, which keeps the tests short."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from oversight.harness import IntArray, derive_seed
from oversight.harness.columns import ItemIndex, LabelColumns, PredictionColumns, align, align_models, mark
from oversight.harness.estimate import RoutedSample, evaluation, evidence, routed_sample, tallies
from oversight.harness.types import Estimate, Label, Labels, Note, Prediction, Question, design_of


def draw_order(label: Label | Question) -> int:
    return derive_seed(0, "drawn", label.item_id, str(label.option))


def to_records(part: LabelColumns, labels: Sequence[Label]) -> Labels:
    """A part of the labels, as records, with the part's design."""
    ids, design = part.index.ids, design_of(labels)
    by_question = {(x.item_id, x.option): x for x in labels}
    kept = [by_question[ids[i], k] for i, k in zip(part.item.tolist(), part.option.tolist(), strict=True)]
    if part.drawn is not None:
        left = set(zip((ids[i] for i in part.drawn.item.tolist()), part.drawn.option.tolist(), strict=True))
        drawn = tuple(q for q in design.drawn if (q.item_id, q.option) in left)
        design = replace(design, drawn=drawn)
    asked = frozenset(ids[i] for i in np.flatnonzero(part.asked).tolist())
    return Labels(kept, replace(design, asked=asked))


def collected_part(
    labels: Sequence[Label], items: Collection[str]
) -> tuple[Sequence[Label], tuple[Note, ...]]:
    columns = align_models([], labels)[1]
    places = columns.index.find_places(items)
    part, notes = evidence.collected_part(columns, mark(places[places >= 0], columns.index.size))
    return (labels if part is columns else to_records(part, labels)), notes


def growing_parts(labels: Sequence[Label], points: int) -> Iterator[Labels]:
    for part in evaluation.growing_parts(align_models([], labels)[1], points):
        yield to_records(part, labels)


def _aligned(
    labels: Sequence[Label], models: Sequence[Sequence[Prediction]], asked: Collection[str]
) -> tuple[list[PredictionColumns], LabelColumns]:
    columns, said = align_models(models, labels)
    places = said.index.find_places(asked)
    return columns, replace(said, asked=mark(places[places >= 0], said.index.size))


def routed_pool(
    labels: Sequence[Label], models: Sequence[Sequence[Prediction]], asked: Collection[str], **options: Any
) -> tuple[RoutedSample, IntArray, tuple[str, ...]]:
    columns, said = _aligned(labels, models, asked)
    data, predicted, items = routed_sample.routed_pool(said, columns, **options)
    return data, predicted.astype(np.int64), tuple(said.index.ids[i] for i in items.tolist())


def resolved_correctness(
    labels: Sequence[Label], models: Sequence[Sequence[Prediction]], asked: Collection[str], **options: Any
) -> routed_sample.Resolution:
    columns, said = _aligned(labels, models, asked)
    return routed_sample.resolved_correctness(said, columns, **options)


def stratify_by_confidence(predictions: Sequence[Prediction], n_labels: int) -> dict[str, str]:
    index = ItemIndex.of([p.item_id for p in predictions])
    found = tallies.stratify_by_confidence(PredictionColumns.of(predictions, index), n_labels)
    return {name: found.names[code] for name, code in zip(index.ids, found.code.tolist(), strict=True)}


def estimate_anytime(predictions: Sequence[Prediction], labels: Sequence[Label], **options: Any) -> Estimate:
    return evaluation.estimate_anytime(*align(predictions, labels), **options)
