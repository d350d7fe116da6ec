"""A disk without room for more: what is stored stays, and the same command goes on once there is room."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.test_kill import CONCURRENCY, command, lay_out
from tests.e2e.test_stop import count_predictions
from tests.fakes.openai_server import Reply, fake_openai

pytestmark = pytest.mark.slow

N = 1500
LIMITED = """\
import resource, sys
from oversight.harness.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY))
sys.exit(main())
"""


def run(folder: Path, room: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command whose files may have at most `room` bytes."""
    words = (sys.executable, "-c", LIMITED, str(room), *words)
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def test_run_says_what_is_stored_and_goes_on(tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: Reply("red " * 60)) as server:
        lay_out(tmp_path, N, server.url)
        done = run(tmp_path, 1_000_000, "run", "--json")
        stored = count_predictions(tmp_path)
        assert done.returncode == 1
        assert 0 < stored < N
        assert f"{stored:,} of {N:,} answers are stored" in json.loads(done.stdout)["error"]
        assert "free space and run the same command again" in done.stderr
        assert "Traceback" not in done.stderr
        subprocess.run(command("run"), cwd=tmp_path, stderr=subprocess.DEVNULL, check=True)
        assert count_predictions(tmp_path) == N
        assert len(server.prompts) <= N + CONCURRENCY  # only answers of calls in progress could not be stored


@pytest.mark.parametrize("name", ["made.csv", "made.jsonl"])
def test_export_leaves_no_half_file(name: str, tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: Reply("red " * 60)) as server:
        lay_out(tmp_path, 300, server.url)
        subprocess.run(command("run"), cwd=tmp_path, stderr=subprocess.DEVNULL, check=True)
    done = run(tmp_path, 40_000, "predictions", "export", name)
    assert done.returncode == 1
    assert f"oversight: {name}: cannot be written: File too large" in done.stderr
    assert not list(tmp_path.glob("made.*"))


def test_copy_leaves_no_file_that_looks_like_a_backup(tmp_path: Path) -> None:
    with fake_openai(lambda prompt, n: Reply("red " * 60)) as server:
        lay_out(tmp_path, 300, server.url)
        subprocess.run(command("run"), cwd=tmp_path, stderr=subprocess.DEVNULL, check=True)
    done = run(tmp_path, 100_000, "store", "copy", "backup.db")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("backup.db*"))
    assert run(tmp_path, 10_000_000, "store", "copy", "backup.db").returncode == 0
