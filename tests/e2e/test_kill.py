"""kill -9 in the middle, then the same command again: nothing lost, nothing doubled, nothing paid twice."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from oversight.harness.store import Store
from tests.fakes.openai_server import Reply, fake_openai

pytestmark = pytest.mark.slow

CLASSES = ("red", "green", "blue")
CONCURRENCY = 4


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "oversight.harness.cli.main", *words]


def lay_out(folder: Path, n: int, url: str = "http://127.0.0.1:9/v1") -> None:
    (folder / "study.toml").write_text(
        f'[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = {json.dumps(CLASSES)}\n'
        f'[models.m]\nendpoint = "{url}"\nmodel = "m"\nconcurrency = {CONCURRENCY}\n'
    )
    (folder / "experts.toml").write_text(
        "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in CLASSES)
    )
    (folder / "items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(n)))


def kill_when(process: subprocess.Popen[bytes], ready: Callable[[], bool]) -> bool:
    """Kill the process without warning as soon as `ready`; False if it ended before."""
    deadline = time.monotonic() + 60
    while not ready() and process.poll() is None:
        assert time.monotonic() < deadline
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.001)
    os.kill(process.pid, signal.SIGKILL) if process.poll() is None else None
    return process.wait() == -signal.SIGKILL


def size_of(path: Path) -> int:
    """Bytes of a file that may be removed at any moment."""
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size
    return 0


def ten_moments() -> tuple[int, ...]:
    moments = np.random.default_rng(7).choice(np.arange(1, 110), size=10, replace=False)
    return tuple(sorted(int(m) for m in moments))


@pytest.mark.parametrize("kills_at", [(1,), (40,), ten_moments()])
def test_run_goes_on_where_it_was_killed(kills_at: tuple[int, ...], tmp_path: Path) -> None:
    n = 120
    with fake_openai(lambda prompt, _: Reply("green")) as server:
        lay_out(tmp_path, n, server.url)
        for calls in kills_at:
            process = subprocess.Popen(command("run"), cwd=tmp_path, stderr=subprocess.DEVNULL)
            assert kill_when(process, lambda calls=calls: len(server.prompts) >= calls)  # type: ignore[misc]
        done = subprocess.run(command("run", "--json"), cwd=tmp_path, capture_output=True, check=True)
        asked = [re.findall(r"number (\d+)\.", prompt)[0] for prompt in server.prompts]
    result = json.loads(done.stdout)["models"]["m"]
    assert (result["predictions"], result["ok"]) == (n, n)
    assert set(asked) == {str(j) for j in range(n)}
    assert len(asked) - n <= CONCURRENCY * len(kills_at)  # only calls in progress are paid for again
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        predictions = store.runs.read_predictions(result["run"])
    assert sorted(p.item_id for p in predictions) == sorted(f"i{j}" for j in range(n))


def test_import_is_all_or_nothing_when_it_is_killed(tmp_path: Path) -> None:
    n = 3000
    lay_out(tmp_path, n)
    for words in (("label", "route"), ("label", "export")):
        subprocess.run(command(*words), cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    files = sorted((tmp_path / "questions").glob("*.csv"))
    for path in files:
        path.write_text(path.read_text().replace("?,,\n", "?,no,\n"))
    url = f"sqlite:///{tmp_path / 'study.db'}"
    again = command("label", "import", *map(str, files))
    wal = tmp_path / "study.db-wal"
    killed = 0
    for size in (1, 50_000, 200_000):
        process = subprocess.Popen(again, cwd=tmp_path, stdout=subprocess.DEVNULL)
        killed += kill_when(process, lambda size=size: size_of(wal) >= size)  # type: ignore[misc]
        with Store(url) as store:
            assert store.count_rows()["answer"] in (0, n)
    assert killed
    subprocess.run(again, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    with Store(url) as store:
        assert store.count_rows()["answer"] == n
        assert len({a.question.id for a in store.content.read_answers()}) == n


def test_an_import_of_predictions_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    n = 3000
    lay_out(tmp_path, n)
    (tmp_path / "log.csv").write_text("id,prediction\n" + "".join(f"i{j},red\n" for j in range(n)))
    again = command("predictions", "import", "log.csv", "--model", "x")
    wal = tmp_path / "study.db-wal"
    Store(f"sqlite:///{tmp_path / 'study.db'}").close()
    killed = 0
    for size in (1, 100_000, 300_000):
        process = subprocess.Popen(again, cwd=tmp_path, stdout=subprocess.DEVNULL)
        killed += kill_when(process, lambda size=size: size_of(wal) >= size)  # type: ignore[misc]
        with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
            rows = store.count_rows()
            assert (rows["item"], rows["run"], rows["prediction"]) in ((0, 0, 0), (n, 1, n))
    assert killed
