"""Scores of panels of annotators on few items: agreement, accuracies, and results of one class."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from operator import attrgetter
from typing import Any

import numpy as np

from benchmarks._coverage_designs import CLASSES, Design
from oversight.harness.panel import Panel, Share, measure_agreement, measure_parity
from oversight.harness.panel.alpha import Agreement
from oversight.harness.panel.ratings import make_panel_from_grid

_MANY = 40_000
SCORES = ("human", "model", "delta", "model precision", "model recall", "human f1", "delta_f1")


def panel_cells(sizes: tuple[int, ...]) -> list[Design]:
    """Return designs for every score of four panels on few items, and of one panel with clustered items."""
    # (number of classes, share of the first class, annotators' accuracy, model's accuracy, annotators)
    panels = ((2, 0.1, 0.8, 0.9, 3), (2, 0.05, 0.98, 0.95, 2), (3, 0.3, 0.8, 0.6, 3), (2, 0.5, 0.5, 0.7, 5))
    alone = [
        _design(score, n, panel)
        for n, score, panel in product(sizes, ("alpha", *SCORES), panels)
        if n > 5 or panel[1] > 0.05
    ]
    clustered = [
        _design(score, 0, panels[0], clusters=clusters)
        for clusters, score in product(("even", "zipf"), ("alpha", *SCORES))
    ]
    return alone + clustered


def _design(score: str, n: int, panel: tuple[int, float, float, float, int], **options: Any) -> Design:
    K, rare, people, model, annotators = panel
    given = {"score": score, "annotators": annotators, **options}
    of = Design(kind="panel", protocol="panel", K=(K,), accuracies=(people, model), n=n, rare=rare)
    return replace(of, options=given)


def draw_panel_score(design: Design, rng: np.random.Generator) -> tuple[float, Agreement | Share | None]:
    """Return the true value of a score, and its estimate from one draw, None if undefined or withheld."""
    score = design.options["score"]
    if str(design) not in _TRUE:
        many = _measure(*_draw(design, np.random.default_rng(0), _MANY), score)
        _TRUE[str(design)] = float("nan") if many is None else many.value
    return _TRUE[str(design)], _measure(*_draw(design, rng), score)


def _draw(design: Design, rng: np.random.Generator, least: int = 0) -> tuple[Panel, np.ndarray[Any, Any]]:
    """Draw a panel and a model's predictions; clusters are repeated until there are about `least` items."""
    K, people = design.K[0], design.options["annotators"]
    sizes = _CLUSTERS.get(design.options.get("clusters", ""), np.ones(max(1, design.n), dtype=np.int64))
    sizes = np.tile(sizes, max(1, least // int(sizes.sum())))
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    n = len(cluster)

    def draw_uniform(columns: int) -> np.ndarray[Any, Any]:
        own, shared = rng.random((n, columns)), rng.random((len(sizes), columns))[cluster]
        return np.where(rng.random((n, columns)) < 0.5, shared, own)

    share = np.cumsum([design.rare, *[(1 - design.rare) / (K - 1)] * (K - 1)])
    truth = np.minimum(np.searchsorted(share, draw_uniform(1)), K - 1)
    right = draw_uniform(people + 1) < [*[design.accuracies[0]] * people, design.accuracies[1]]
    other = (truth + 1 + rng.integers(0, K - 1, right.shape)) % K
    said = np.where(right, truth, other)
    panel = make_panel_from_grid(said[:, :people], CLASSES[:K])
    if "clusters" in design.options:
        panel = panel.clustered(dict(zip(panel.items, map(str, cluster), strict=True)))
    return panel, said[:, people]


def _measure(panel: Panel, predicted: np.ndarray[Any, Any], score: str) -> Agreement | Share | None:
    if score == "alpha":
        alpha = measure_agreement(panel, bootstrap=400).alpha
        return alpha if alpha is None or alpha.low is not None else None
    found = measure_parity(panel, predicted, positive=CLASSES[0], edges=(), bootstrap=400).overall
    place = found if hasattr(found, score) else found.detection
    detected: Share | None = attrgetter(score.replace(" ", "."))(place)
    return detected


_CLUSTERS = {
    "even": np.full(12, 5),
    "zipf": np.maximum(1, np.round(60 / np.arange(1, 31) ** 1.2)).astype(np.int64),
}
"""Sizes of clusters; ``"zipf"`` has 60, 26, 16, … items, an effective number of 6.8 clusters."""
_TRUE: dict[str, float] = {}
