"""A run whose database is moved away, or overwritten by a backup, in the middle."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oversight.harness.store import Store
from tests.fakes.openai_server import Reply, fake_openai

N = 60
RUN = [sys.executable, "-m", "oversight.harness.cli.main", "run"]


@pytest.mark.parametrize(
    ("lose", "told"),
    [
        (lambda: Path("study.db").rename("moved.db"), "file was removed"),
        (lambda: subprocess.run(["sh", "-c", "rm study.db*"], check=True), "file was removed"),
        (lambda: Path("other.db").replace("study.db"), "replaced by another"),
        (lambda: subprocess.run(["cp", "other.db", "study.db"], check=True), "another program wrote"),
    ],
)
def test_a_run_that_lost_its_database_fails(
    lose: Callable[[], object], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(N)))
    Store("sqlite:///other.db").close()

    def answer(_prompt: str, number: int) -> Reply:
        if number == N // 2:
            lose()
        return Reply("red")

    with fake_openai(answer) as server:
        Path("study.toml").write_text(
            '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["red", "green", "blue"]\n'
            f'[endpoints.all]\nurl = "{server.url}"\nconcurrency = 2\n'
            '[models.m]\nmodel = "m"\nendpoint = "all"\nmax_tokens = 3\n'
        )
        done = subprocess.run(RUN, capture_output=True, text=True, check=False, timeout=60)
        asked = len(server.prompts)
    assert done.returncode == 1, done.stderr
    assert told in done.stderr
    if told == "another program wrote":
        with Store("sqlite:///study.db") as store:
            assert store.content.read_items() == []
        return
    saved = Path("study-rescued.db")
    assert str(saved.absolute()) in done.stderr
    shutil.copyfile(saved, "read.db")
    with Store("sqlite:///read.db") as store:
        rows = store.count_rows("item", "prediction")
    assert rows["item"] == N
    assert 0 <= rows["prediction"] <= asked
