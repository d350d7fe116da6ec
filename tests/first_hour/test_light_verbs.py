"""Verbs load slow libraries only if they need them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.studies.opened import copy_study

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "tests" / "studies"
HEAVY = (
    "scipy.stats",
    "pandas",
    "pyarrow",
    "openai",
    "label_studio_sdk",
    "matplotlib",
    "datasets",
)
_ASK = """
import sys
from oversight.harness.cli.main import main
from tests.studies.opened import copy_study
code = main(sys.argv[2:])
print("LOADED", *[name for name in sys.argv[1].split(",") if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


def loaded(study: str, command: str, folder: Path, *more: str) -> set[str]:
    """Which heavy modules a command has loaded."""
    copy = copy_study(study, folder)
    done = subprocess.run(
        [sys.executable, "-c", _ASK, ",".join((*HEAVY, *more)), *command.split()],
        cwd=copy,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.rsplit("LOADED", 1)[1].split())


@pytest.mark.parametrize(
    "command",
    [
        "label status",
        "label route",
        "label import filled/careful.csv",
        "items check",
        "predictions export all.csv",
        "doctor",
        "init new --items items.csv --classes a,b",
    ],
)
def test_a_verb_that_estimates_nothing_loads_no_statistics(command: str, tmp_path: Path) -> None:
    filled = next((STUDIES / "partitioned" / "filled").glob("*.csv")).name
    command = command.replace("careful.csv", filled) if command.startswith("label import") else command
    more = ("scipy.special", "scipy.optimize", "aiohttp", "tenacity", "tqdm")
    assert loaded("partitioned", command, tmp_path, *more) == set()


@pytest.mark.parametrize(
    ("study", "command"),
    [
        ("partitioned", "estimate"),
        ("partitioned", "plan --options 4"),
        ("search", "search show"),
    ],
)
def test_an_estimate_loads_no_more_than_its_functions(study: str, command: str, tmp_path: Path) -> None:
    assert loaded(study, command, tmp_path, "aiohttp") == set()


def test_asking_what_a_run_costs_loads_no_sdk(tmp_path: Path) -> None:
    assert loaded("half", "run --dry-run", tmp_path) == set()
