# ruff: noqa: PT012  the command tells its error where it ends
"""The database of a served study is moved away, or copied as a file."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from oversight.harness.store import Store
from tests.answer_page.conftest import call, draw, serve


def count_answers(file: Path) -> int:
    with Store(f"sqlite:///{file}") as store:
        return store.count_rows("answer")["answer"]


def test_the_page_ends_with_an_error_and_what_it_confirmed_is_saved(tmp_path: Path) -> None:
    draw(tmp_path / "ward")
    file = tmp_path / "ward" / "study.db"
    with pytest.raises(AssertionError, match="saved in"), serve(file.parent) as desk:
        own = desk.begin("ana")
        assert desk.answer(own)[0] == 200
        shown = desk.state(own)["questions"][0]["id"]
        file.rename(file.with_name("moved.db"))
        assert desk.answer(own, id=shown)[0] == 503
        assert desk.process.wait(30) == 1
    assert count_answers(file.with_name("study-rescued.db")) == 1
    file.with_name("study-rescued.db").rename(file)
    with serve(file.parent, port=desk.port) as desk:
        assert desk.answer(own)[0] == 200
    assert count_answers(file) == 2


def test_a_plain_copy_of_an_idle_page_has_all_answers(tmp_path: Path) -> None:
    draw(tmp_path / "ward")
    folder = tmp_path / "ward"
    with serve(folder) as desk:
        own = desk.begin("ana")
        for _ in range(3):
            assert desk.answer(own)[0] == 200
        shutil.copytree(folder, tmp_path / "copy", ignore=shutil.ignore_patterns("*-wal", "*-shm"))
        end = time.monotonic() + 30
        while count_answers(tmp_path / "copy" / "study.db") < 3:
            assert time.monotonic() < end
            shutil.copyfile(folder / "study.db", tmp_path / "copy" / "study.db")
    assert call(tmp_path / "copy", "store", "verify")["holds"], json.dumps(
        call(tmp_path / "copy", "store", "verify")
    )
