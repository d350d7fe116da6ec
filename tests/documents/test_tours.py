"""The commands of the task pages print what they show."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.documents.shown_commands import play_page

DOCS = ROOT / "docs"
REFUSED = "$ oversight plan --study controls.toml"


@pytest.fixture
def tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new folder beside the bundled data."""
    shutil.copytree(ROOT / "data", tmp_path / "data")
    (tmp_path / "tour").mkdir()
    monkeypatch.chdir(tmp_path / "tour")
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.mark.parametrize(
    ("page", "blocks"), [("accuracy", 7), ("compare", 2), ("gate", 2), ("open-answers", 1)]
)
def test_a_tour_prints_what_its_page_shows(tour: None, page: str, blocks: int) -> None:
    assert play_page(DOCS / f"{page}.md") == blocks


def test_commands_that_save_questions_print_the_page_s_output(tour: None) -> None:
    assert play_page(DOCS / "saving.md", REFUSED)


def test_a_judge_is_measured_as_its_page_shows(tour: None) -> None:
    assert play_page(DOCS / "judges.md")


def test_the_page_walks_every_feature_that_saves_questions() -> None:
    text = (DOCS / "saving.md").read_text(encoding="utf-8")
    commands = "\n".join(line for line in text.splitlines() if line.startswith("$ "))
    for feature in ("--questions", "--more", "plan --width", "estimate.metrics", "experts quality"):
        assert feature in commands
    for setting in ("judge =", "gold =", "repeat =", "overlap ="):
        assert setting in text
