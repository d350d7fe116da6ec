"""A study of an older version, whose first estimate is killed again and again, loses nothing and goes on."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from oversight.harness.config import ModelSection
from oversight.harness.llm import make_spec
from oversight.harness.store import Store
from oversight.harness.types import Answer, Item, Prediction, Question, Verdict
from tests.e2e.test_kill import command, kill_when
from tests.older_version import make_older

ITEMS, RUNS = 12_000, 5
CLASSES = ("a", "b", "c")


def lay_out(folder: Path) -> None:
    (folder / "study.toml").write_text(
        '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["a", "b", "c"]\n'
    )
    (folder / "experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in CLASSES)
    )
    items = [Item(f"i{j}", f"text {j}", CLASSES, (0, 1, 2)) for j in range(ITEMS)]
    questions = [
        Question(f"q{j}", f"i{j}", j % 3, CLASSES[j % 3], 3, "partitioned", 1 / 3, 0) for j in range(ITEMS)
    ]
    answers = [
        Answer(q, q.expert, Verdict.YES if j % 5 == 0 else Verdict.NO, "t") for j, q in enumerate(questions)
    ]
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        store.content.add_items(items)
        store.content.add_questions(questions)
        store.content.add_answers(answers)
        for number in range(RUNS):
            spec = make_spec(f"m{number}", ModelSection(model=f"m{number}"), "$text", None)
            store.runs.add_run(spec)
            store.runs.store_predictions(
                [(spec.id, Prediction(f"i{j}", (j + number) % 3, input_tokens=1)) for j in range(ITEMS)]
            )


def count_kept(database: Path) -> int:
    """Runs whose columns are there; 0 while the table is not."""
    with contextlib.suppress(sqlite3.OperationalError), sqlite3.connect(database) as connection:
        return int(connection.execute("SELECT count(*) FROM run_columns").fetchone()[0])
    return 0


@pytest.mark.slow
def test_an_old_study_is_brought_up_to_date_through_kills(tmp_path: Path) -> None:
    lay_out(tmp_path)
    database = tmp_path / "study.db"
    make_older(f"sqlite:///{database}", "0009")
    shutil.copytree(tmp_path, tmp_path / "whole")
    estimate = command("estimate", "--json")
    whole = subprocess.run(estimate, cwd=tmp_path / "whole", capture_output=True, check=True)

    def kill_once(ready: Callable[[], bool]) -> bool:
        null = subprocess.DEVNULL
        return kill_when(subprocess.Popen(estimate, cwd=tmp_path, stdout=null, stderr=null), ready)

    for tenth in range(4, 12):  # while it starts, opens and migrates
        end = time.monotonic() + tenth / 10
        kill_once(lambda end=end: time.monotonic() > end)  # type: ignore[misc]
    for kept in (1, 3):  # while it makes columns
        kill_once(lambda kept=kept: count_kept(database) >= kept)  # type: ignore[misc]
    before = count_kept(database)
    killed = subprocess.run(estimate, cwd=tmp_path, capture_output=True, check=True)
    assert 3 <= before <= RUNS == count_kept(database)
    assert json.loads(killed.stdout)["models"] == json.loads(whole.stdout)["models"]
