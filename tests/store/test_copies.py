"""A copy of a study is marked: it can be read, and collects nothing until it is adopted."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.answer_page.conftest import draw, serve
from tests.store.test_copying import bring

Oversight = Callable[..., Any]
COLLECTS = (
    ("label", "route"),
    ("label", "import", "sheet.csv"),
    ("label", "export"),
    ("label", "serve"),
    ("label", "links"),
    ("label", "push"),
    ("label", "pull"),
    ("experts", "invite"),
    ("run",),
)


def test_a_copy_is_read_and_collects_nothing_until_it_is_adopted(
    tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bring("partitioned", tmp_path))
    before = [oversight(verb) for verb in ("estimate", "verify")]
    oversight("store", "copy", "copy.db")
    assert "is no copy" in oversight("store", "adopt", code=2)["error"]
    Path("copy.db").replace("study.db")
    for words in COLLECTS:
        assert "oversight store adopt" in oversight(*words, code=2)["error"]
    read = [oversight(verb) for verb in ("estimate", "verify")]
    marks = [read[1].pop("copy"), oversight("label", "status")["copy"]]
    assert read == before
    assert all(mark["source"].endswith("study.db") for mark in marks)
    assert oversight("store", "adopt")["source"].endswith("study.db")
    assert oversight("label", "route")["new"] == 0


def test_a_study_is_copied_while_its_page_serves(
    tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw(tmp_path / "ward")
    monkeypatch.chdir(tmp_path / "ward")
    with serve(tmp_path / "ward") as desk:
        own = desk.begin("ana")
        assert desk.answer(own)[0] == 200
        assert oversight("store", "copy", "copy.db")["tables"]["answer"] == 1
        assert desk.answer(own)[0] == 200
    with sqlite3.connect("copy.db") as copy:
        assert copy.execute("SELECT count(*) FROM answer").fetchone() == (1,)
