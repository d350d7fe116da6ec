"""A study that cannot be written: estimated, compared and reported all the same, and nothing else."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oversight.harness.store import Store
from tests.e2e.test_kill import command, lay_out
from tests.fakes.openai_server import Reply, fake_openai

pytestmark = pytest.mark.slow

_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]) -> Iterator[Path]:
    """A study with two models and all answers."""
    folder = tmp_path / "study"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with fake_openai(lambda prompt, n: Reply("green")) as server:
        lay_out(folder, 90, server.url)
        for name, column in (("key.csv", "label"), ("log.csv", "prediction")):
            (folder / name).write_text(f"id,{column}\n" + "".join(f"i{j},green\n" for j in range(90)))
        more = f'[models.n]\nendpoint = "{server.url}"\nmodel = "n"\n'
        (folder / "study.toml").write_text((folder / "study.toml").read_text() + more)
        for words in (("run",), ("label", "route"), ("label", "simulate", "--key", "key.csv")):
            oversight(*words)
    yield folder
    folder.chmod(0o755)


def close(folder: Path) -> None:
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command that permissions bind, whoever runs the tests."""
    bind = _without_override if os.geteuid() == 0 else None
    return subprocess.run(
        command(*words), cwd=folder, capture_output=True, text=True, preexec_fn=bind, check=False
    )


def _without_override() -> None:
    ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)


@pytest.mark.parametrize("while_open", [False, True])
def test_reading_works_and_writing_is_refused(study: Path, tmp_path: Path, *, while_open: bool) -> None:
    # an open database has a log beside it
    store = Store(f"sqlite:///{study / 'study.db'}") if while_open else None
    if store is not None:
        with store.transaction() as connection:
            connection.execute(sa.text("UPDATE run SET name = name"))
    close(study)
    before = sorted(study.iterdir())
    for verb in ("estimate", "compare"):
        done = call(study, verb)
        assert done.returncode == 0, done.stderr
        assert "90 of 90 questions answered" in done.stdout
    assert call(study, "report", str(tmp_path / "report.html")).returncode == 0
    assert (tmp_path / "report.html").exists()
    for line in ("run", "predictions import log.csv --model x"):
        done = call(study, *line.split())
        assert done.returncode == 2, (line, done.stdout, done.stderr)
        assert "study.db cannot be written: the file or its folder is read-only" in done.stderr
    assert sorted(study.iterdir()) == before
    if store is not None:
        store.close()
