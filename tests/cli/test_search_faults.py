"""Searches whose endpoint refuses, dies and comes back, or whose study changes: no fault lasts."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.cli.main import main
from oversight.harness.config import read_study
from oversight.harness.store import Store
from tests.cli.search_study import answer, lay_out
from tests.fakes.openai_server import Reply, fake_openai

pytestmark = pytest.mark.slow

DEAD = Reply("gone", status=503)


def items_of(study: str, split: str) -> set[str]:
    """Numbers of the items of a split."""
    with Store(read_study(Path(study)).store_url) as store:
        (search,) = store.searches.read_searches()
        return {name[1:] for name in store.searches.read_splits(search["id"])[split]}


def number_of(prompt: str) -> str:
    """The number of the item that is asked about: the last one."""
    return str(re.findall(r"number (\d+)\.", prompt)[-1])


def test_an_item_that_the_endpoint_refuses_stops_no_search_for_good(tmp_path: Path, oversight: Any) -> None:
    first: list[str] = []

    def refusing(prompt: str, n: int) -> Reply:
        item = re.findall(r"number \d+\.", prompt)[-1]
        first.append(item)
        return Reply("no", status=400) if item == first[0] else answer(prompt, n)

    with fake_openai(refusing) as server:
        lay_out(tmp_path, server.url)
        study = str(tmp_path / "study.toml")
        assert main(["search", "start", "--study", study]) == 2
        found = oversight("search", "resume", "--study", study)["search"]
    assert found["winner"]
    assert all(c["standing"]["invalid_rate"] > 0 for c in found["candidates"])


def test_a_refused_resume_leaves_the_search_as_it_was(
    tmp_path: Path, oversight: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        study = tmp_path / "study.toml"
        begun = oversight("search", "start", "--set", "search.tokens=300", "--study", study)["search"]["id"]
        text = study.read_text()
        study.write_text(text.replace('model = "m"', 'model = "another"'))
        assert main(["search", "resume", "--study", str(study)]) == 2
        assert f"search {begun} used other model settings" in capsys.readouterr().err
        study.write_text(text)
        assert oversight("search", "resume", "--study", study)["search"]["id"] == begun


def test_resume_names_the_settings_that_it_does_not_change(
    tmp_path: Path, oversight: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        lay_out(tmp_path, server.url)
        study = tmp_path / "study.toml"
        begun = oversight("search", "start", "--set", "search.tokens=300", "--study", study)["search"]["id"]
        assert main(["search", "resume", "--set", "search.tokens=400", "--study", str(study)]) == 0
        assert "keeps the settings" not in capsys.readouterr().err
        study.write_text(study.read_text().replace("candidates = 4", "candidates = 5"))
        assert main(["search", "resume", "--set", "search.tokens=500", "--study", str(study)]) == 0
    told = f"search {begun} keeps the settings with which it began, not those of study.toml: candidates"
    assert told in capsys.readouterr().err


def stopped_search(folder: Path, url: str, oversight: Any) -> Path:
    """A search that a cap has stopped early; its study."""
    lay_out(folder, url)
    study = folder / "study.toml"
    oversight("search", "start", "--set", "search.tokens=100", "--study", study)
    return study


def failing(items: set[str], instruction: str = "") -> Callable[[str, int], Reply]:
    """A server that is gone for these items, where a program words its call so."""

    def reply(prompt: str, n: int) -> Reply:
        return DEAD if number_of(prompt) in items and instruction in prompt else answer(prompt, n)

    return reply


def test_while_every_confirmation_fails_no_winner_is_named(
    tmp_path: Path, oversight: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_openai(answer) as server:
        study = stopped_search(tmp_path, server.url, oversight)
        server.answer = failing(items_of(str(study), "confirm"))
        resume = ("search", "resume", "--set", "search.tokens=1000000", "--study", study)
        assert main([*map(str, resume)]) == 0
        told = capsys.readouterr()
        assert "every answer to the confirmation items failed; no winner" in told.err
        assert "answers failed, the last: HTTP 503" in told.err
        assert "winner:" not in told.out
        server.answer = answer
        assert oversight(*resume)["search"]["winner"]["confirmed"] is not None


def test_a_finalist_whose_confirmation_fails_is_known_by_the_rest(tmp_path: Path, oversight: Any) -> None:
    with fake_openai(answer) as server:
        study = stopped_search(tmp_path, server.url, oversight)
        server.answer = failing(items_of(str(study), "confirm"), "Answer at once.")
        found = oversight("search", "resume", "--set", "search.tokens=1000000", "--study", study)["search"]
    winner = found["winner"]
    assert winner["confirmed"] is not None
    assert winner["low"] <= winner["reported"] <= winner["high"]


def test_a_test_that_failed_as_a_whole_says_so(tmp_path: Path, oversight: Any) -> None:
    with fake_openai(answer) as server:
        study = stopped_search(tmp_path, server.url, oversight)
        server.answer = failing(items_of(str(study), "test"))
        found = oversight("search", "resume", "--set", "search.tokens=1000000", "--study", study)["search"]
    assert found["winner"]["difference"] in (
        "unknown: no test item has answers of both the winner and the start",
        "the start workflow itself won",
    )
    assert "failed (left out)" in found["winner"]["unanswered"]


EDITS = {
    "parent": """update candidate set parents = '["gone"]'""",
    "winner": "update search_event set data = '[1]' where key = 'winner'",
    "finalists": """update search_event set data = '{"candidate": 1, "finalists": 7}' where key='winner'""",
    "slot": "update search_event set data = '{\"tokens\": \"many\"}' where key = 'slot/1'",
    "split": "update search_item set split = 'test'",
    "settings": "update search set spec = '{}'",
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_archive_that_was_edited_is_told_and_no_crash(
    edit: str, searched: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(searched, folder := tmp_path / "edited")
    with sqlite3.connect(folder / "study.db") as connection:
        connection.execute(EDITS[edit])
    study = ("--study", str(folder / "study.toml"))
    for words in (("show",), ("show", "--json"), ("show", "--page", str(tmp_path / "p.html"))):
        assert main(["search", *words, *study]) == 2
        assert "the archive does not fit together" in capsys.readouterr().err
    assert main(["search", "export", str(tmp_path / "w.py"), *study]) in (0, 2)
    assert not (tmp_path / "p.html").exists()
