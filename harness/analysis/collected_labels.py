"""What was asked and answered in a study, and how its items hang together, as columns."""

from __future__ import annotations

from dataclasses import replace

from harness.analysis.inputs import study_clusters
from harness.columns import ItemIndex, ItemValues, LabelColumns
from harness.config import Study
from harness.store import Store


def study_labels(study: Study, store: Store, index: ItemIndex) -> LabelColumns:
    """The labels of a study with their design, the clusters that study.toml names among it.

    Raises
    ------
    BadInput
        If somebody answered another expert's question.
    DataError
        If an item has no cluster.
    """
    labels, clusters = store.columns.read_labels(index), study_clusters(study)
    return replace(labels, cluster=ItemValues.of(clusters, index)) if clusters else labels
