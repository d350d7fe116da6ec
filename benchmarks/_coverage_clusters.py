"""Cells of the coverage matrix with items in clusters of equal and of unequal sizes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from benchmarks._coverage_designs import CLUSTER_SIZES, Design

SIZES: tuple[int | str, ...] = (5, 10, "zipf 1", "zipf 1.2", "one large")
PAIRS = ((0.8, 0.7), (0.95, 0.94))


def cluster_designs() -> list[Design]:
    """Accuracies under three protocols and differences under four, for several sizes and correlations."""
    protocols = ("partitioned", "targeted", "sequential")
    accuracies = [
        Design(protocol=p, K=(K,), accuracies=(a,), correlation=r, cluster=sizes)
        for sizes, p, a, r, K in product(SIZES, protocols, (0.6, 0.8, 0.98), (0.1, 0.6), (4, 10))
    ]
    differences = [
        Design(kind="difference", protocol=p, accuracies=pair, correlation=r, cluster=sizes)
        for sizes, p, pair, r in product(SIZES, (*protocols, "disagreement"), PAIRS, (0.1, 0.6))
    ]
    too_few = [Design(protocol=p, cluster="too few") for p in protocols]
    return [replace(design, n=_count(design.cluster)) for design in accuracies + differences + too_few]


def _count(cluster: int | str) -> int:
    return 100 if isinstance(cluster, int) else sum(CLUSTER_SIZES[cluster])
