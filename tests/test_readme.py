"""Every command and example of README.md, and of the pages it leads to, runs as a newcomer would run it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks._view_server import serve
from oversight.harness.llm.local.lifecycle import LocalServer

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(name: str, page: str) -> str:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.search(rf"<!-- test: {name} -->\n```\w+\n(.*?)```", text, re.DOTALL)
    assert found, name
    return found[1]


def shell(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def notes(folder: Path, n: int) -> dict[str, str]:
    """Write the first `n` bundled notes of the three classes; returns text → class."""
    classes = ("cardiology", "neurology", "nephrology")
    key = dict(
        line.split(",")[:2] for line in (ROOT / "data/case_notes.key.csv").read_text().splitlines()[1:]
    )
    rows = [json.loads(line) for line in (ROOT / "data/case_notes.jsonl").read_text().splitlines()]
    rows = [row for row in rows if key[row["id"]] in classes][:n]
    import pandas as pd

    pd.DataFrame(rows).to_csv(folder / "notes.csv", index=False)
    return {row["text"]: key[row["id"]] for row in rows}


def fill_in(folder: Path, truth: dict[str, str]) -> None:
    """Fill in the exported question files as the experts would."""
    import pandas as pd

    for path in (folder / "questions").glob("*.csv"):
        table = pd.read_csv(path)
        asked = table["question"].str.removeprefix("Is the answer: ").str.removesuffix("?")
        table["answer"] = [
            "yes" if truth[t] == c else "no" for t, c in zip(table["text"], asked, strict=True)
        ]
        table.to_csv(path, index=False)


def shorten_replies(study: Path) -> None:
    """Let the model write 64 tokens per item, because 1,024 take minutes without changing what is tested."""
    text = study.read_text(encoding="utf-8")
    assert "max_tokens = 1024" in text
    study.write_text(text.replace("max_tokens = 1024", "max_tokens = 64"), encoding="utf-8")


def test_readme_is_one_page() -> None:
    assert len(README.splitlines()) <= 100


@pytest.mark.local_model
def test_six_commands_of_the_readme_complete_a_study(local_model: LocalServer, tmp_path: Path) -> None:
    page = "README.md"
    truth = notes(tmp_path, 5)
    commands = [line for line in block("six-commands", page).splitlines() if line]
    assert len(commands) == 6
    *most, last = commands
    for command in most:
        shell(command, tmp_path)
        if " init " in command:
            shorten_replies(tmp_path / "study.toml")
        if "export" in command:
            fill_in(tmp_path, truth)
    assert last.split("#")[0].split() == ["oversight", "view"]
    with serve(tmp_path) as served:
        assert [model["name"] for model in served.read("overview")["models"]] == ["small"]  # type: ignore[attr-defined]
    estimates = json.loads(shell("oversight estimate --json", tmp_path))["models"]["small"]["estimates"]
    assert estimates["ml"]["n"]["ordinary"] + estimates["ml"]["n"]["complementary"] == 5


@pytest.mark.local_model
def test_python_example_prints_an_estimate(local_model: LocalServer, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for path in (ROOT / "data").glob("case_notes.*"):
        shutil.copy(path, tmp_path / "data")
    short = (ROOT / "data/case_notes.jsonl").read_text().splitlines()[:16]
    (tmp_path / "data/case_notes.jsonl").write_text("\n".join(short))
    (tmp_path / "example.py").write_text(block("python", "docs/python.md"))
    assert len(block("python", "docs/python.md").strip().splitlines()) <= 12
    out = shell("python -W error::DeprecationWarning example.py", tmp_path)
    assert re.match(r"(?:\(!\) )?0\.\d{3} \[0\.\d{3}, [01]\.\d{3}\] ML, ", out)


def test_counts_example_prints_the_estimate(tmp_path: Path) -> None:
    out = shell(block("counts", "docs/python.md"), tmp_path)
    assert re.search(r"ML .* 65\.6 %", out)


def test_planning_example_names_the_protocol(tmp_path: Path) -> None:
    assert "targeted" in shell(block("plan", "docs/choose.md"), tmp_path)
