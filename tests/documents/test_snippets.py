"""The Python of the pages runs as it stands there, in the folder of a study."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from oversight.harness.cli.main import main
from oversight.harness.types import Item
from tests.agents.helpers import answer
from tests.agents.scripted import Scripted
from tests.cli.search_study import CLASSES, lay_out
from tests.cli.search_study import answer as answer_colours
from tests.conftest import ROOT
from tests.fakes.openai_server import fake_openai
from tests.studies.opened import copy_study

ITEMS = [Item(f"i{j}", f"The colour of number {j}.", CLASSES, (0, 1, 2, 3)) for j in range(3)]


def snippet(page: str, name: str) -> str:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.search(rf"<!-- test: {name} -->\n```\w+\n(.*?)```", text, re.DOTALL)
    assert found, (page, name)
    return found[1]


def run_snippet(text: str, **names: Any) -> dict[str, Any]:
    """The names that it leaves; it may wait at its top, as in a notebook."""
    code = compile(text, "snippet", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert isinstance(code, CodeType)
    found = FunctionType(code, names)()
    if inspect.iscoroutine(found):
        asyncio.run(found)
    return names


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished study."""
    folder = copy_study("partitioned", tmp_path)
    monkeypatch.chdir(folder)
    return folder


def test_three_calls_lead_from_frames_to_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    run_snippet(snippet("python.md", "frames"))
    assert capsys.readouterr().out.startswith("1.000 [")


def test_pictures_of_view_md_are_written(folder: Path) -> None:
    names = run_snippet(snippet("view.md", "pictures"))
    assert (folder / "estimates.pdf").stat().st_size > 1000
    assert names["report"].models


def test_pages_of_items_of_scale_md_are_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = snippet("scale.md", "pages of items").replace('"mini"', '"careful"').replace('"fever"', '"the"')
    names = run_snippet(text)
    matches, of = map(int, capsys.readouterr().out.split(" of "))
    assert 0 < matches < of
    assert names["page"].matches == matches


def test_workflow_of_workflows_md_answers() -> None:
    model = Scripted()
    found = answer(snippet("workflows.md", "a workflow"), model)
    assert [prediction.option is not None for prediction in found] == [True]
    assert len(model.requests) == 2


def test_winner_of_search_md_answers_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with fake_openai(answer_colours) as server:
        lay_out(tmp_path, server.url)
        assert main(["search", "start"]) == 0
        assert main(["search", "export", "winner.json"]) == 0
        assert main(["run", "--workflow", "winner.json"]) == 0
    names = run_snippet(snippet("search.md", "winner in Python"), items=ITEMS, model=Scripted())
    assert all(prediction.option is not None for prediction in names["predictions"])
