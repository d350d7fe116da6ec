"""What was asked and answered in a study, and how its items hang together, as columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oversight.harness.analysis.inputs import study_clusters
from oversight.harness.columns import (
    RELEVANT_EXCESS,
    TEXT_CLUSTER,
    ItemIndex,
    ItemValues,
    LabelColumns,
    count_repeated,
)
from oversight.harness.config import Study
from oversight.harness.output import counted
from oversight.harness.store import Store


def study_labels(study: Study, store: Store, index: ItemIndex) -> LabelColumns:
    """The labels of a study with their design: clusters that study.toml names, items drawn from a pool.

    Raises
    ------
    BadInput
        If somebody answered another expert's question.
    DataError
        If an item has no cluster.
    """
    labels = replace(store.columns.read_labels(index), pool=store.pool.read_pool(index))
    clusters = study_clusters(study)
    return replace(labels, cluster=ItemValues.of(clusters, index)) if clusters else labels


def read_second_labels(store: Store, labels: LabelColumns) -> LabelColumns | None:
    """Second questions and their answers, of the same items as these labels; None without any."""
    second = store.columns.read_labels(labels.index, second=True)
    return second if second.drawn is not None else None


def unused_text(second: int, why: str = "only oversight estimate uses them") -> str:
    """Say that so many second questions are not used, and why."""
    return f"{counted(second, 'second question')} about items answered no: {why}"


def first_answers_text(store: Store) -> tuple[str, ...]:
    """Say that results by class use first answers; empty if there are no second questions."""
    second = len(store.content.read_questions(second=True))
    return (unused_text(second, "results by class use first answers only"),) if second else ()


def advise_on_texts(study: Study) -> str:
    """What to do about texts that several items have."""
    if study.items.cluster is None:
        return f'cluster = "{TEXT_CLUSTER}" under [items] makes the items of a text one unit'
    if study.items.cluster == TEXT_CLUSTER:
        return "items.cluster makes the items of a text one unit"
    return f"the column {study.items.cluster!r} (items.cluster) must name one cluster for the items of a text"


def doubt_repeated(study: Study, store: Store, labels: LabelColumns) -> str:
    """Why intervals may not hold because answered items repeat each other's texts; empty if few do.

    Items of one cluster may repeat each other's texts.
    """
    items = np.flatnonzero(labels.answered)
    cluster = None if labels.cluster is None else labels.cluster.code[items]
    found = count_repeated(store.columns.read_text_digests(labels.index)[items], cluster)
    if found.excess <= RELEVANT_EXCESS:
        return ""
    return (
        f"{found.items} of {items.size} answered items share their text with another one, and count as "
        f"independent; {advise_on_texts(study)}"
    )


def count_pool(labels: LabelColumns) -> tuple[int, int] | None:
    """How many items were drawn, and of how many; None where all are to be asked about."""
    return None if labels.pool is None else (labels.pool.number, labels.pool.size)
