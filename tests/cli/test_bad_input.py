"""Every kind of bad input: one line with file, line, field and remedy; exit code 2; nothing changed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path

import pytest

from oversight.harness.cli.main import main
from tests.cli import bad_chain, bad_study
from tests.cli.bad import ITEMS, ROSTER, STUDY, Bad


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A good study with routed questions and one imported answer."""
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("experts.toml").write_text(ROSTER)
    Path("items.csv").write_text(ITEMS)
    Path("key.csv").write_text("id,label\n" + "".join(f"i{j},red\n" for j in range(9)))
    assert main(["label", "route"]) == 0
    assert main(["label", "export"]) == 0
    answer(Path("questions/questions-red.csv"), "no", rows=1)
    assert main(["label", "import", "questions/questions-red.csv"]) == 0
    return tmp_path


def answer(path: Path, verdict: str, rows: int = 99) -> None:
    lines = path.read_text().splitlines()
    lines[1 : 1 + rows] = [line.removesuffix(",,") + f",{verdict}," for line in lines[1 : 1 + rows]]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("bad", bad_study.CASES + bad_chain.CASES, ids=lambda bad: bad.name)
def test_bad_input_is_reported_in_one_line_and_changes_nothing(
    bad: Bad, study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    bad.change()
    before = {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in study.rglob("*") if p.is_file()}
    capsys.readouterr()
    code = main(bad.command.split())
    out, err = capsys.readouterr()
    assert (code, out) == (bad.code, ""), err
    assert bad.message in err
    assert len(err.strip().splitlines()) == 1
    after = {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in study.rglob("*") if p.is_file()}
    assert after == before


def test_the_error_is_json_for_programs(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["run", "--model", "large", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["kind"] == "ConfigError"


def test_an_unreachable_endpoint_is_named_before_any_item_is_asked(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["run", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error.startswith("http://127.0.0.1:9/v1 cannot be reached")
    connection = sqlite3.connect("study.db")
    assert connection.execute("SELECT count(*) FROM prediction").fetchone() == (0,)
    connection.close()
