"""Random search and AFlow's published rule on the task of `search_field`, with as many calls as ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks._field_ours import Labels
from benchmarks._field_real import RealTask
from benchmarks._field_task import FieldTask, transformed
from oversight.agents.search.policies.proposal import POOL, choose, published_probabilities
from oversight.harness import FloatArray

SELECTION = 120
"""Selection items of a study of `_field_ours`."""

Picked = tuple[float, float, int]
"""True and reported accuracy of a pick, and the number of edits that it is one of."""


@dataclass
class Trial:
    """State of a rule: instructions and their scores.

    Attributes
    ----------
    task, labels, calls, start
        The task, the experts' answers, the number of calls allowed, and the method at the start.
    rng
        Source of all random draws.
    items
        Validation items: this number of the selection items, or all labelled ones.
    runs
        Validation runs of every instruction.
    raw
        Whether a score is the share of items that experts' answers do not refute; otherwise it is on the
        accuracy scale.
    """

    task: FieldTask | RealTask
    labels: Labels
    calls: int
    start: str
    rng: np.random.Generator
    items: int | None = SELECTION
    runs: int = 1
    raw: bool = False

    def __post_init__(self) -> None:
        feedback = self.labels.sizes[0]
        self._part = slice(None) if self.items is None else slice(feedback, feedback + self.items)
        self.tried = [self.start]
        self.scores = [self._validate(self.tried[0])]

    def go(self, draw_parent: Callable[[FloatArray], int]) -> Picked:
        """Edit drawn parents while calls remain, and pick the one with the highest score."""
        n = len(self.labels.rows[self._part]) * self.runs
        for _ in range(self.calls // n - 1):
            parent = self.tried[draw_parent(np.array(self.scores))]
            self.tried.append(self.task.edit(parent, self.rng))
            self.scores.append(self._validate(self.tried[-1]))
        best = int(np.argmax(self.scores))
        K = self.task.K
        reported = (K - 1) * self.scores[best] - (K - 2) if self.raw else self.scores[best]
        return self.task.accuracy(self.tried[best]), reported, len(self.tried) - 1

    def _validate(self, instruction: str) -> float:
        rows, K = self.labels.rows[self._part], self.task.K
        truth, refused = self.labels.truth[self._part], self.labels.refused[self._part]
        said = [self.task.answers(instruction, run)[rows] for run in range(self.runs)]
        found = [((y >= 0) * transformed(y, truth, refused, K)).mean() for y in said]
        mean = float(np.mean(found))
        return (mean + K - 2) / (K - 1) if self.raw else mean


def random_search(trial: Trial) -> Picked:
    """Draw parents uniformly among all instructions so far."""
    return trial.go(lambda scores: int(trial.rng.integers(len(scores))))


def around_start(trial: Trial) -> Picked:
    """Edit the start every time."""
    return trial.go(lambda _: 0)


def aflow(trial: Trial) -> Picked:
    """Draw parents among the start and the three best others, by the published formula."""

    def draw(scores: FloatArray) -> int:
        others = sorted(range(1, len(scores)), key=lambda j: -scores[j])
        pool = [0, *others[: POOL - 1]]
        return pool[choose(published_probabilities(scores[pool]), trial.rng)]

    return trial.go(draw)


SETTINGS: dict[str, dict[str, tuple[Callable[[Trial], Picked], dict[str, bool | int | None]]]] = {
    "random": {
        "edits of any, 60 items": (random_search, {"items": 60}),
        "edits of any, 120 items": (random_search, {}),
        "edits of any, all items": (random_search, {"items": None}),
        "edits of the start, 120 items": (around_start, {}),
        "edits of the start, all items": (around_start, {"items": None}),
    },
    "aflow": {
        "transformed, 120 items": (aflow, {}),
        "transformed, all items": (aflow, {"items": None}),
        "transformed, 120 items, 3 runs": (aflow, {"runs": 3}),
        "raw, 30 items": (aflow, {"raw": True, "items": 30}),
        "raw, 60 items": (aflow, {"raw": True, "items": 60}),
        "raw, 120 items": (aflow, {"raw": True}),
        "raw, all items": (aflow, {"raw": True, "items": None}),
        "raw, 120 items, 3 runs": (aflow, {"raw": True, "runs": 3}),
    },
}
