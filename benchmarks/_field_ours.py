"""Run the project's own search on the task of `search_field`, with the real commands and sandbox."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks._field_task import FieldTask, edit_method, read_method, write_method
from benchmarks._simulation import LETTERS
from benchmarks._study_files import call_command, write_study, write_table
from oversight.agents.search import ExpertLabels, prepare_search, report_search
from oversight.harness import IntArray
from oversight.harness.config import read_study
from oversight.harness.store import Store

_CASE = re.compile(r"Case (\d+) of (\d+)")
_SOURCE = re.compile(r"```python\n(.*?)```", re.DOTALL)
_INSTRUCTION = re.compile(r"Method \d\.\d{4}-\d+")


TASKS: dict[int, FieldTask] = {}
"""Tasks by seed."""
ASKED = Counter[tuple[str, int]]()
"""Number of times that each item of the present search was asked, by instruction and item."""


async def answer(conversation: str) -> str:
    """Answer the last question of a conversation; the accuracy depends on its instruction."""
    question = conversation[conversation.rindex("### Question") :]
    found, instruction = _CASE.search(question), _INSTRUCTION.search(question)
    assert found is not None
    assert instruction is not None
    item, seed = int(found[1]), int(found[2])
    key = instruction[0], item
    option = int(TASKS[seed].answers(instruction[0], ASKED[key])[item])
    ASKED[key] += 1
    return json.dumps({"answer": LETTERS[option]})


async def propose(conversation: str) -> str:
    """Reply as the model that edits programs: return the given program with another instruction."""
    seed = int.from_bytes(hashlib.sha256(conversation.encode()).digest()[:8], "big")
    source = next(text for text in _SOURCE.findall(conversation) if _INSTRUCTION.search(text))
    old = _INSTRUCTION.search(source)
    assert old is not None
    new = edit_method(old[0], np.random.default_rng(seed))
    return json.dumps({"modification": f"{new} in place of {old[0]}", "code": source.replace(old[0], new)})


def program_text(accuracy: float, number: int = 0) -> str:
    """Return the source of a program that makes one call."""
    return f'''\
"""One call."""

INSTRUCTION = "{write_method(accuracy, number)}"


async def forward(task):
    (answer,) = await task.ask(["answer"], [task], INSTRUCTION)
    return answer
'''


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
python = "benchmarks._field_ours:answer"

[models.editor]
model = "editor"
python = "benchmarks._field_ours:propose"

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
    task = TASKS[seed] = FieldTask(K, ITEMS, seed)
    ASKED.clear()
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
        call_command(folder, "search", "start")
        study = read_study(folder / "study.toml")
        with Store(study.store_url) as store:
            context = prepare_search(study, store, seed, study.search)
            winner = report_search(study, store, context).winner
            assert winner is not None
            source = context.archive.candidates[winner.id].program.source
            found = Found(
                true=read_method(source)[0],
                reported=winner.reported,
                low=winner.low,
                high=winner.high,
                calls=ASKED.total(),
                edits=sum(c.slot >= 0 for c in context.archive.candidates.values()),
            )
            return found, _join([context.labels[part] for part in ("feedback", "select", "confirm")])


def lay_out(folder: Path, task: FieldTask, settings: str) -> None:
    """Write the files of a study about a task, and let simulated experts answer its questions."""
    classes = CLASSES[: task.K]
    write_study(folder, settings, {c: c for c in classes})
    rows = [{"id": f"{i:04}", "text": f"Case {i} of {task.seed}"} for i in range(task.n)]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    key = [(f"{i:04}", classes[y]) for i, y in enumerate(task.truth)]
    write_table(folder / "key.csv", ("id", "label"), key)
    call_command(folder, "label", "route")
    call_command(folder, "label", "simulate", "--key", str(folder / "key.csv"))


def _join(parts: list[ExpertLabels]) -> Labels:
    """Join the labels of the three parts, each sorted by item number, so that the order is uninformative."""
    numbers = [np.array([int(name) for name in part.items], np.int64) for part in parts]

    def join(columns: list[IntArray]) -> IntArray:
        ordered = zip(columns, numbers, strict=True)
        return np.concatenate([column[np.argsort(number)] for column, number in ordered])

    feedback, select, confirm = (len(part.items) for part in parts)
    return Labels(
        rows=join(numbers),
        truth=join([part.truth for part in parts]),
        refused=join([refused_options(part) for part in parts]),
        sizes=(feedback, select, confirm),
    )


def refused_options(labels: ExpertLabels) -> IntArray:
    """Return the option that an expert refuted, shape (n,); −1 if there is none."""
    return np.where(labels.refused.any(axis=1), labels.refused.argmax(axis=1), -1)
