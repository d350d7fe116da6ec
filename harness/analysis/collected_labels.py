"""What was asked and answered in a study, and how its items hang together, as columns."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from harness.analysis.inputs import study_clusters
from harness.columns import ItemIndex, ItemValues, LabelColumns
from harness.config import Study
from harness.store import Store


def study_labels(
    study: Study, store: Store, index: ItemIndex, *, only: Collection[str] | None = None
) -> LabelColumns:
    """The labels of a study with their design, the clusters that study.toml names among it.

    Parameters
    ----------
    only
        Ids of the questions to take, as if no others had been drawn; None takes all.

    Raises
    ------
    BadInput
        If somebody answered another expert's question.
    DataError
        If an item has no cluster.
    """
    labels, clusters = store.columns.read_labels(index, only=only), study_clusters(study)
    return replace(labels, cluster=ItemValues.of(clusters, index)) if clusters else labels
