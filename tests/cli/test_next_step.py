"""`oversight` without a verb says how far the study of the folder is and what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest

from oversight.harness.cli.main import main
from tests.studies.opened import copy_study

STUDIES = Path(__file__).parents[1] / "studies"
STEPS = {
    "partitioned": "54 of 54 questions answered, 2 model runs.\nNext: oversight estimate",
    "half": "25 of 30 questions answered, 2 model runs.\nNext: get the remaining answers",
    "panel": "95 of 96 questions answered, 1 model run.\nNext: get the remaining answers",
    "search": "64 of 64 questions answered, 0 model runs.\nNext: ask the models (oversight run)",
}


@pytest.mark.parametrize("name", STEPS)
def test_next_step_names_the_next_verb(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(copy_study(name, tmp_path))
    assert main([]) == 0
    assert STEPS[name] in capsys.readouterr().out


def test_usage_is_printed_without_a_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([]) == 0
    assert "verbs:" in capsys.readouterr().out


def test_next_step_reports_a_wrong_study_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text("[study\n")
    assert main([]) == 0
    assert "study.toml" in capsys.readouterr().out
