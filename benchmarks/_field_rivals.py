"""Rival searches on the tasks of `search_field`: random search, greedy halving and AFlow's published rule.

Each rival makes as many calls as the project's own search. Each runs once with scores by maximum likelihood,
as in the project's search, and once with scores by the published transform.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks._field_ours import Labels
from benchmarks._field_real import RealTask
from benchmarks._field_task import FieldTask, transformed
from oversight.agents.search import ExpertLabels, score_items
from oversight.agents.search.policies.proposal import POOL, choose, published_probabilities
from oversight.harness import FloatArray, IntArray

SELECTION = 120
"""Number of selection items in a study of `_field_ours`."""

Picked = tuple[float, float, int]
"""True and reported accuracy of the winner, and number of edits that were tried."""


@dataclass
class Trial:
    """State of one search by a rival: the methods tried so far (`tried`), and their `scores`.

    Attributes
    ----------
    task, labels, calls, start
        The task, the experts' labels, the maximum number of calls, and the method at the start.
    rng
        Generator of all random draws.
    items
        Number of selection items on which methods are validated; None uses all labelled items.
    runs
        Number of validation runs of every method.
    raw
        Whether a score is the share of answers that are not refuted, instead of an accuracy.
    ml
        Whether accuracies are estimated by maximum likelihood, instead of the published transform.
    """

    task: FieldTask | RealTask
    labels: Labels
    calls: int
    start: str
    rng: np.random.Generator
    items: int | None = SELECTION
    runs: int = 1
    raw: bool = False
    ml: bool = False

    def __post_init__(self) -> None:
        feedback = self.labels.sizes[0]
        part = slice(None) if self.items is None else slice(feedback, feedback + self.items)
        self._rows, self._truth = self.labels.rows[part], self.labels.truth[part]
        self._refused = self.labels.refused[part]
        self.tried = [self.start]
        self.scores = [self._validate(self.tried[0])]

    def edit_any(self) -> Picked:
        """Draw parents uniformly among all methods so far."""
        return self._edit(lambda scores: int(self.rng.integers(len(scores))))

    def edit_start(self) -> Picked:
        """Always edit the method at the start."""
        return self._edit(lambda _: 0)

    def aflow(self) -> Picked:
        """Draw parents by the published formula: the method at the start, or one of the three best others."""

        def draw(scores: FloatArray) -> int:
            others = sorted(range(1, len(scores)), key=lambda j: -scores[j])
            pool = [0, *others[: POOL - 1]]
            return pool[choose(published_probabilities(scores[pool]), self.rng)]

        return self._edit(draw)

    def _edit(self, draw_parent: Callable[[FloatArray], int]) -> Picked:
        """Edit parents that `draw_parent` selects, until no calls are left. Returns the best method."""
        n = len(self._rows) * self.runs
        for _ in range(self.calls // n - 1):
            parent = self.tried[draw_parent(np.array(self.scores))]
            self.tried.append(self.task.edit(parent, self.rng))
            self.scores.append(self._validate(self.tried[-1]))
        return self._pick()

    def halve(self, batch: int) -> Picked:
        """Make batches of edits of the best method so far, until no calls are left. Returns the best method.

        Each edit is first evaluated on 1/4 of the items. The better half of the batch continues to 1/2 of the
        items, and the better half of these edits to all items.
        """
        n = len(self._rows)
        rungs = (n // 4, n // 2, n)
        left, edits = self.calls - n, 0
        while True:
            best = self.tried[int(np.argmax(self.scores))]
            alive = [self.task.edit(best, self.rng) for _ in range(batch)]
            before = 0
            for rung in rungs:
                left -= len(alive) * (rung - before)
                if left < 0:
                    return *self._pick()[:2], edits
                scores = [self._validate(method, rung) for method in alive]
                order = np.argsort(scores)[::-1]
                alive = [alive[j] for j in order[: max(1, len(alive) // 2)]]
                before = rung
            edits += batch
            self.tried += alive
            self.scores += sorted(scores, reverse=True)[: len(alive)]

    def _pick(self) -> Picked:
        best, K = int(np.argmax(self.scores)), self.task.K
        reported = (K - 1) * self.scores[best] - (K - 2) if self.raw else self.scores[best]
        return self.task.accuracy(self.tried[best]), reported, len(self.tried) - 1

    def _validate(self, method: str, first: int | None = None) -> float:
        """Return the score of a method on the first items of the task; by default, on all items."""
        K, truth, refused = self.task.K, self._truth[:first], self._refused[:first]
        said = np.array([self.task.answers(method, run)[self._rows[:first]] for run in range(self.runs)])
        if self.ml:
            return float(score_items(said, _as_labels(truth, refused, K)).mean())
        mean = float(((said >= 0) * transformed(said, truth, refused, K)).mean())
        return (mean + K - 2) / (K - 1) if self.raw else mean


def _as_labels(truth: IntArray, refused: IntArray, K: int) -> ExpertLabels:
    n = len(truth)
    return ExpertLabels(
        items=tuple(map(str, range(n))),
        n_options=np.full(n, K),
        truth=truth,
        refused=refused[:, None] == np.arange(K),
        propensities=np.zeros((n, K)),
        routed=np.zeros(n, np.bool_),
        cluster=np.arange(n),
    )


Way = Callable[[Trial], Picked]
Settings = dict[str, tuple[Way, dict[str, Any]]]


def _settings(name: str, way: Way, *items: int | None, **given: Any) -> Settings:
    """Return settings of a way to search, one for each number of items."""
    return {f"{name}, {'all' if n is None else n} items": (way, {"items": n, **given}) for n in items}


EIGHT, THREE = partial(Trial.halve, batch=8), partial(Trial.halve, batch=3)
SETTINGS: dict[str, Settings] = {
    "random": {
        **_settings("edits of any", Trial.edit_any, 60, SELECTION, None),
        **_settings("edits of the start", Trial.edit_start, SELECTION, None),
        **_settings("edits of any, by likelihood", Trial.edit_any, SELECTION, ml=True),
        **_settings("edits of the start, by likelihood", Trial.edit_start, SELECTION, ml=True),
    },
    "greedy": {
        **_settings("batches of 8, halved", EIGHT, SELECTION, None, ml=True),
        **_settings("batches of 3, halved", THREE, SELECTION, None, ml=True),
    },
    "aflow": {
        **_settings("transformed", Trial.aflow, SELECTION, None),
        **_settings("likelihood", Trial.aflow, SELECTION, None, ml=True),
        **_settings("transformed, 3 runs", Trial.aflow, SELECTION, runs=3),
        **_settings("raw", Trial.aflow, 30, 60, SELECTION, None, raw=True),
        **_settings("raw, 3 runs", Trial.aflow, SELECTION, raw=True, runs=3),
    },
}
