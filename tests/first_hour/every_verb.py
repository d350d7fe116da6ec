"""Every verb on a small study, and what of the heavy modules it loads there: for a test and a benchmark."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from oversight.harness.cli.main import main
from tests.cli.search_study import lay_out
from tests.studies.opened import copy_study

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "tests" / "studies"
HEAVY = (
    "aiohttp",
    "datasets",
    "httpx",
    "label_studio_sdk",
    "matplotlib",
    "openai",
    "pandas",
    "pyarrow",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.special",
    "scipy.stats",
    "sqlmodel",
    "tqdm",
)
"""Modules that take a twentieth of a second or more to load."""
_STATISTICS = "sqlmodel scipy.special"


@dataclass(frozen=True)
class Command:
    """A verb's words, in one of the studies; which heavy modules it loads, and its exit code."""

    study: str
    words: str
    loads: str = ""
    code: int = 0


COMMANDS = (
    Command("partitioned", "init new --items items.csv --classes a,b"),
    Command("partitioned", "items check", "sqlmodel"),
    Command("partitioned", "label route", "sqlmodel"),
    Command("fresh", "label route", "sqlmodel"),
    Command("partitioned", "label export", "sqlmodel"),
    Command("partitioned", "label import filled/questions-cardiology-1.csv", "sqlmodel"),
    Command("partitioned", "label simulate --key key.csv", "sqlmodel"),
    Command("partitioned", "label status", "sqlmodel"),
    Command("partitioned", "label serve --port 0 --json", "sqlmodel aiohttp"),
    Command("partitioned", "label codes", "sqlmodel"),
    Command("partitioned", "server status label-studio", code=1),
    Command("partitioned", "experts list", "sqlmodel", 2),
    Command("colours", "run", "sqlmodel tqdm aiohttp"),
    Command("colours", "run --dry-run", "sqlmodel"),
    Command("partitioned", "predictions import careful.csv --model careful", "sqlmodel"),
    Command("partitioned", "predictions items samples_choices.jsonl made.jsonl", "sqlmodel"),
    Command("partitioned", "predictions export all.csv", "sqlmodel"),
    Command("partitioned", "estimate", _STATISTICS),
    Command("partitioned", "compare", _STATISTICS),
    Command("partitioned", "gate --at-least 0.6 --model careful", _STATISTICS, 3),
    Command("partitioned", "plan --options 4", "scipy.special"),
    Command("partitioned", "panel agree votes.csv", "scipy.special"),
    Command("panel", "panel certify --model model", _STATISTICS),
    Command("panel", "panel parity --model model", _STATISTICS),
    Command("colours", "search start", f"{_STATISTICS} aiohttp"),
    Command("search", "search show", _STATISTICS),
    Command("partitioned", "label audit", "sqlmodel"),
    Command("partitioned", "store verify", "sqlmodel"),
    Command("partitioned", "view --port 0 --json", "sqlmodel aiohttp"),
    Command("partitioned", "report", _STATISTICS),
    Command("partitioned", "store copy copied.db", "sqlmodel tqdm"),
    Command("partitioned", "server status model", code=1),
    Command("partitioned", "doctor", "sqlmodel"),
    Command("partitioned", "judge", _STATISTICS, 2),
    Command("partitioned", "--completion bash", _STATISTICS),
    Command("partitioned", "demo --help", _STATISTICS),
)


def lay_out_studies(folder: Path, url: str) -> None:
    """Copies of finished studies, brought up to now, and one whose models are behind a loopback server."""
    with redirect_stdout(StringIO()):
        for name in sorted({command.study for command in COMMANDS} - {"colours", "fresh"}):
            copy_study(name, folder)
            assert main(["label", "route", "--study", str(folder / name / "study.toml")]) == 0
        copy_study("partitioned", folder / "copied").rename(folder / "fresh")
        (folder / "fresh" / "study.db").unlink()
        (folder / "colours").mkdir()
        lay_out(folder / "colours", url)


def begin(command: Command, folder: Path, *python: str) -> subprocess.Popen[str]:
    """Start a command in its study, as a program of its own."""
    return subprocess.Popen(
        [sys.executable, *python, "-m", "oversight.harness.cli.main", *command.words.split()],
        cwd=folder / command.study,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if python else subprocess.DEVNULL,
        text=True,
    )


def end_page(command: Command, process: subprocess.Popen[str]) -> None:
    """Stop what serves until it is stopped, once it has said where."""
    if command.words.startswith(("view", "label serve")):
        assert process.stdout
        with suppress(StopIteration):
            next(process.stdout)
        process.send_signal(signal.SIGTERM)


def loaded(command: Command, folder: Path) -> tuple[int, set[str]]:
    """Exit code of a command, and the heavy modules it loads."""
    process = begin(command, folder, "-X", "importtime")
    end_page(command, process)
    _, told = process.communicate(timeout=120)
    names = set(re.findall(r"^import time:.*\| +([\w.]+)$", told, re.MULTILINE))
    return process.returncode, names & set(HEAVY)
