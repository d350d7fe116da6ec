"""An upgrade that is killed again and again leaves no database in part, and is done by the next command."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
from pathlib import Path

import pytest

from oversight.harness.config import ModelSection
from oversight.harness.llm import make_spec
from oversight.harness.store import HEAD, Store
from oversight.harness.types import Answer, Item, Prediction, Question, Verdict
from tests.e2e.test_kill import command, kill_when, size_of

ITEMS, RUNS = 12_000, 8
CLASSES = ("a", "b", "c")


def lay_out(folder: Path) -> Path:
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
    return folder / "study.db"


def estimate(folder: Path) -> object:
    done = subprocess.run(command("estimate", "--json"), cwd=folder, capture_output=True, check=True)
    return json.loads(done.stdout)["models"]


@pytest.mark.slow
def test_a_killed_upgrade_is_done_by_the_next_one(tmp_path: Path) -> None:
    old = lay_out(tmp_path)
    before = estimate(tmp_path)
    with contextlib.closing(sqlite3.connect(old)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0029'")
    connection.close()
    content, settings = old.read_bytes(), (tmp_path / "study.toml").read_bytes()
    new, part = tmp_path / f"study-{HEAD}.db", tmp_path / f"study-{HEAD}.db.unfinished"

    def start() -> subprocess.Popen[bytes]:
        null = subprocess.DEVNULL
        return subprocess.Popen(command("store", "upgrade"), cwd=tmp_path, stdout=null, stderr=null)

    for size in (1, 1_000_000, 3_000_000, 6_000_000):
        assert kill_when(start(), lambda size=size: size_of(part) >= size)  # type: ignore[misc]
        assert (new.exists(), old.read_bytes() == content) == (False, True)
        assert (tmp_path / "study.toml").read_bytes() == settings
    subprocess.run(command("store", "upgrade"), cwd=tmp_path, check=True, capture_output=True)
    assert not list(tmp_path.glob("*.unfinished*"))
    assert (estimate(tmp_path), old.read_bytes() == content) == (before, True)
