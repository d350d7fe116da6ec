"""Run gepa on the tasks of `search_field`, in a separate environment (see `_peers`).

    python _field_gepa.py RUNS.json

RUNS.json contains the labels of every run. For every setting and run, the script prints the true and the
reported accuracy of the winner, and the number of edits.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

task_of: Any = importlib.import_module("_field_task")
real: Any = importlib.import_module("_field_real")
"""Modules of this folder, imported by name, because the project is not installed in this environment."""

BEST: dict[str, Any] = {"candidate_selection_strategy": "current_best"}
SETTINGS: dict[str, dict[str, Any]] = {
    "pareto, 120 items": {},
    "pareto, all but feedback": {"wide": True},
    "current best, 120 items": BEST,
    "current best, all but feedback": BEST | {"wide": True},
    "top k of pareto, 120 items": {"candidate_selection_strategy": "top_k_pareto"},
    "current best, batches of 10, 120 items": BEST | {"reflection_minibatch_size": 10},
    "current best, batches of 20, 120 items": BEST | {"reflection_minibatch_size": 20},
    "current best, 30 items": BEST | {"few": 30},
    "current best, 60 items": BEST | {"few": 60},
    "current best, batches of 10, 60 items": BEST | {"reflection_minibatch_size": 10, "few": 60},
    "epsilon greedy, 120 items": {"candidate_selection_strategy": "epsilon_greedy"},
    "current best, no worse is enough, 120 items": BEST
    | {"acceptance_criterion": "improvement_or_equal", "skip_perfect_score": False},
}


class Adapter:
    """gepa's interface to a task: answer items, score answers by labels, and edit instructions."""

    def __init__(self, task: Any, run: dict[str, Any], rng: Any) -> None:
        self._task, self._rng = task, rng
        rows, truth, refused = (np.array(run[name]) for name in ("rows", "truth", "refused"))
        self._labels = {int(i): (int(t), int(r)) for i, t, r in zip(rows, truth, refused, strict=True)}
        self.edits = 0
        self._batch = importlib.import_module("gepa").EvaluationBatch

    def evaluate(self, batch: list[int], candidate: dict[str, str], capture_traces: Any = None) -> Any:
        """Return gepa's batch of answers with per-item scores on the accuracy scale."""
        said = self._task.answers(candidate["instruction"])[batch]
        truth, refused = (np.array([self._labels[i][side] for i in batch]) for side in (0, 1))
        scores = ((said >= 0) * task_of.transformed(said, truth, refused, self._task.K)).tolist()
        traces = [{"item": i, "score": s} for i, s in zip(batch, scores, strict=True)]
        return self._batch(
            outputs=said.tolist(), scores=scores, trajectories=traces if capture_traces else None
        )

    def make_reflective_dataset(self, _: Any, batch: Any, components: list[str]) -> Any:
        """Return traces as gepa requires; this task's editor does not use them."""
        return dict.fromkeys(components, batch.trajectories)

    def propose_new_texts(self, candidate: dict[str, str], _: Any, components: list[str]) -> dict[str, str]:
        """Return each component with one random edit, the same kind of edit as in all compared searches."""
        self.edits += 1
        return {name: self._task.edit(candidate[name], self._rng) for name in components}


class Silent:
    """A logger that discards all messages."""

    def log(self, message: str) -> None:
        """Discard a message."""


def search_once(run: dict[str, Any], setting: dict[str, Any]) -> tuple[float, float, int]:
    """Run one search. Returns the winner's true and reported accuracy, and the number of edits."""
    gepa: Any = importlib.import_module("gepa")
    seed = int(run["seed"])
    task = task_of.FieldTask(run["K"], run["items"], seed)
    if run["is_real"]:
        task = real.RealTask(run["items"], seed)
    feedback, select, _ = run["sizes"]
    rows = run["rows"]
    given = dict(setting)
    few = given.pop("few", select)
    chosen = rows[feedback:] if given.pop("wide", False) else rows[feedback : feedback + few]
    random.seed(seed)
    adapter = Adapter(task, run, np.random.default_rng([seed, 6]))
    result = gepa.optimize(
        seed_candidate={"instruction": run["start"]},
        # If no other items are left, train on `chosen`, as gepa does by default.
        trainset=[i for i in rows if i not in set(chosen)] or chosen,
        valset=chosen,
        adapter=adapter,
        max_metric_calls=run["calls"],
        logger=Silent(),
        seed=seed,
        **given,
    )
    best = result.best_idx
    true = task.accuracy(result.candidates[best]["instruction"])
    return true, float(result.val_aggregate_scores[best]), adapter.edits


def main() -> None:
    runs = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(json.dumps({name: [search_once(run, given) for run in runs] for name, given in SETTINGS.items()}))


if __name__ == "__main__":
    main()
