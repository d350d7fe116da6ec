"""Run the project's own search on the task of `search_field`, with the real commands and sandbox."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks._field_solver import SOLVER, program_text
from benchmarks._field_task import FieldTask, read_method
from oversight.agents.search import ExpertLabels, prepare_search, report_search
from oversight.harness import IntArray
from oversight.harness.cli.main import main as oversight
from oversight.harness.config import read_study
from oversight.harness.store import Store

ITEMS = 343
"""Number of labelled items; the default split makes 120 of them selection items, as the last rung needs."""
CLASSES = ("amber", "birch", "cedar", "dogwood", "elm", "fir", "gum", "hazel", "ivy", "juniper")
STUDY = """\
[study]
name = "A simulated task"
seed = {seed}

[items]
file = "items.jsonl"
classes = {classes}
shuffle = false

[models.solver]
model = "solver"
python = "benchmarks._field_solver:answer"

[models.editor]
model = "editor"
python = "benchmarks._field_solver:propose"

[search]
model = "solver"
policy = "aflow"
optimiser = "editor"
start = {start}
library = [{start}]
labels = "{labels}"
"""


@dataclass(frozen=True, kw_only=True)
class Labels:
    """The labels that every compared search may use before the test.

    Attributes
    ----------
    rows
        Numbers of the items, shape (n,): first those for feedback, then for selection, then for confirmation.
    truth, refused
        Option that an expert confirmed, and option that an expert refuted, shape (n,); −1 if there is none.
    sizes
        Number of items in each of the three parts.
    """

    rows: IntArray
    truth: IntArray
    refused: IntArray
    sizes: tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class Found:
    """Result of a search: its winner's accuracy and interval, and the numbers of calls and edits."""

    true: float
    reported: float
    low: float
    high: float
    calls: int
    edits: int


def search_once(seed: int, kind: str, K: int, start: float) -> tuple[Found, Labels]:
    """Run one search with the project's commands and default settings. Returns its result and its labels."""
    task = SOLVER.tasks[seed] = FieldTask(K, ITEMS, seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "start.py").write_text(program_text(start), encoding="utf-8")
        text = STUDY.format(
            seed=seed,
            classes=json.dumps(CLASSES[:K]),
            start=json.dumps(str(folder.resolve() / "start.py")),
            labels="all" if kind == "natural" else "drawn",
        )
        lay_out(folder, task, text)
        before = SOLVER.calls(seed)
        call_command(folder, "search", "start")
        calls = SOLVER.calls(seed) - before
        study = read_study(folder / "study.toml")
        with Store(study.store_url) as store:
            context = prepare_search(study, store, seed, study.search)
            winner = report_search(study, store, context).winner
            if winner is None:
                sys.exit(f"run {seed}: no winner")
            source = context.archive.candidates[winner.id].program.source
            found = Found(
                true=read_method(source)[0],
                reported=winner.reported,
                low=winner.low,
                high=winner.high,
                calls=calls,
                edits=sum(c.slot >= 0 for c in context.archive.candidates.values()),
            )
            return found, _join([context.labels[part] for part in ("feedback", "select", "confirm")])


def lay_out(folder: Path, task: FieldTask, study: str) -> None:
    """Write the files of a study about a task, and let simulated experts answer its questions."""
    classes = CLASSES[: task.K]
    rows = [{"id": f"{i:04}", "text": f"Case {i} of {task.seed}"} for i in range(task.n)]
    files = {
        "study.toml": study,
        "items.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "key.csv": "id,label\n" + "".join(f"{i:04},{classes[y]}\n" for i, y in enumerate(task.truth)),
        "experts.toml": "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in classes),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    call_command(folder, "label", "route")
    call_command(folder, "label", "simulate", "--key", str(folder / "key.csv"))


def _join(parts: list[ExpertLabels]) -> Labels:
    """Join the labels of the three parts, each sorted by item number, so that the order is uninformative."""
    feedback, select, confirm = (len(part.items) for part in parts)
    orders = [np.argsort([int(name) for name in part.items]) for part in parts]
    refused = [np.where(p.refused.any(axis=1), p.refused.argmax(axis=1), -1) for p in parts]
    return Labels(
        rows=np.array([int(p.items[i]) for p, order in zip(parts, orders, strict=True) for i in order]),
        truth=np.concatenate([p.truth[order] for p, order in zip(parts, orders, strict=True)]),
        refused=np.concatenate([row[order] for row, order in zip(refused, orders, strict=True)]),
        sizes=(feedback, select, confirm),
    )


def call_command(folder: Path, *words: str) -> None:
    """Run a command of the project on the study. If it fails, exit and show its output."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = oversight([*words, "--study", str(folder / "study.toml"), "--json"])
    except SystemExit:  # argparse exits if an option does not exist
        code = 2
    if code:
        sys.exit(f"oversight {' '.join(words)}: {said.getvalue()}")
