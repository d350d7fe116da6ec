"""A reader of what a command prints that goes away ends no work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from oversight.harness.store import Store
from tests.fakes.openai_server import Reply, fake_openai

N = 300


@pytest.mark.parametrize("streams", [("stderr",), ("stdout",), ("stdout", "stderr")])
def test_run_continues_after_its_reader_closed_the_pipe(streams: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(N)))
    reader, writer = os.pipe()
    os.close(reader)
    with fake_openai(lambda prompt, n: Reply("red")) as server:
        (tmp_path / "study.toml").write_text(
            '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["red", "green"]\n'
            f'[models.m]\nmodel = "m"\nendpoint = "{server.url}"\n'
        )
        out, err = (writer if name in streams else subprocess.DEVNULL for name in ("stdout", "stderr"))
        command = [sys.executable, "-m", "oversight.harness.cli.main", "run"]
        done = subprocess.run(command, cwd=tmp_path, stdout=out, stderr=err, check=False)
    os.close(writer)
    with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        [run] = store.runs.read_runs()
        assert len(store.runs.read_predictions(run["id"])) == N
    assert done.returncode == 0
