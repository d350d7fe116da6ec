"""A disk without room for more: what is stored stays, and the same command goes on once there is room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.test_kill import CONCURRENCY, command, lay_out
from tests.e2e.test_stop import count_predictions
from tests.fakes.openai_server import Reply, fake_openai
from tests.studies.opened import copy_study

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


ON_A_FULL_DISK = """\
set -e
mount -t tmpfs -o size=8m none disk
cp -r partitioned disk/study
cd disk/study
head -c $(( $(df --output=avail -B1 . | tail -n 1) - $1 * 1024 )) /dev/zero > ../others
shift
code=0; "$@" || code=$?
ls
rm ../others
exec 1>&2
"$PYTHON" -m oversight.harness.cli.main label route  # a moved study would refuse this
exit $code
"""


def run_on_full_disk(folder: Path, kilobytes: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a study on a disk with little room, then draw questions; list the files in between."""
    (folder / "disk").mkdir()
    mounted = ("unshare", "--map-root-user", "--mount", "sh", "-c")
    try:
        subprocess.run([*mounted, "mount -t tmpfs none disk"], cwd=folder, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this test needs the right to mount a small disk")
    words = (*mounted, ON_A_FULL_DISK, "sh", str(kilobytes), *command(*words))
    environment = {**os.environ, "PYTHON": sys.executable}
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize("kilobytes", [40, 300, 600, 700, 900])
def test_failed_move_leaves_the_old_database_in_use(kilobytes: int, tmp_path: Path) -> None:
    copy_study("partitioned", tmp_path)
    done = run_on_full_disk(tmp_path, kilobytes, "store", "move", "new.db")
    assert done.returncode == 1
    assert "free space and run the same command again" in done.stderr
    assert "questions to 5 experts (0 new)" in done.stderr
    assert "new.db" not in done.stdout.split()


@pytest.mark.parametrize("kilobytes", [600, 700, 900])
def test_copy_that_is_only_in_its_log_is_no_backup(kilobytes: int, tmp_path: Path) -> None:
    copy_study("partitioned", tmp_path)
    done = run_on_full_disk(tmp_path, kilobytes, "store", "copy", "backup.db")
    assert done.returncode == 1
    assert "free space and run the same command again" in done.stderr
    assert not [name for name in done.stdout.split() if name.startswith("backup.db")]
