"""A copy of a study is marked: it can be read, and collects nothing until it is adopted."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from benchmarks._view_server import serve as serve_view
from oversight.harness.cli.main import main
from oversight.harness.config import ModelSection, read_study
from oversight.harness.errors import Stopped, StoreError
from oversight.harness.llm import make_spec, run
from oversight.harness.platform import write_whole
from oversight.harness.store import Store
from oversight.harness.store.copying import copy_store
from oversight.harness.types import Answer, Item, Verdict
from oversight.protocols.collect import LabelStudio
from oversight.protocols.study_labels import export_open, import_answers, route_questions, simulate_answers
from tests.answer_page.conftest import draw, serve
from tests.fakes.postgresql import empty_server
from tests.studies.opened import copy_study

pytestmark = pytest.mark.slow

Oversight = Callable[..., Any]
COLLECTS = (
    ("label", "route"),
    ("label", "import", "sheet.csv"),
    ("label", "export"),
    ("label", "serve"),
    ("label", "codes"),
    ("label", "push"),
    ("label", "pull"),
    ("experts", "invite"),
    ("run",),
    ("predictions", "import", "answers.csv", "--model", "m"),
    ("search", "start"),
    ("experts", "absent", "cardiology-1"),
)
READS = (
    ("report",),
    ("compare",),
    ("label", "audit"),
    ("label", "remind"),
    ("predictions", "export", "predictions.csv"),
    ("predictions", "reread"),
    ("predictions", "scores", "scores.jsonl", "--model", "careful"),
)


def test_copy_is_read_only_until_it_is_adopted(
    tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy_study("partitioned", tmp_path))
    before = [oversight("estimate"), oversight("store", "verify")]
    oversight("store", "copy", "copy.db")
    assert "is not marked as a copy" in oversight("store", "adopt", code=2)["error"]
    Path("copy.db").replace("study.db")
    for words in COLLECTS:
        assert "oversight store adopt" in oversight(*words, code=2)["error"]
    for words in READS:
        oversight(*words)
    with serve_view(Path.cwd()) as view:
        assert view.read("frame")["read_only"] is False  # an adopted copy is writable
        assert view.read("overview")["questions"] == before[0]["questions"]
    read = [oversight("estimate"), oversight("store", "verify")]
    marks = [read[1].pop("mark"), oversight("label", "status")["mark"]]
    assert read == before
    assert all(mark["source"].endswith("study.db") for mark in marks)
    assert oversight("store", "adopt")["source"].endswith("study.db")
    assert oversight("label", "route")["new"] == 0


def write_items(store: Store) -> object:
    return store.content.add_items([Item("new", "text", ("red", "green"), (0, 1))])


def write_question(store: Store) -> object:
    return store.content.add_questions([replace(store.content.read_questions()[0], id="0" * 16)])


def write_answer(store: Store) -> object:
    question = store.content.read_questions()[-1]
    return store.content.add_answers([Answer(question, question.expert, Verdict.NO, "python")])


def write_run(store: Store) -> None:
    store.runs.add_run(make_spec("m", ModelSection(model="m"), "$text", None))


def write_statement(store: Store) -> object:
    with store.transaction() as connection:
        return connection.exec_driver_sql("DELETE FROM answer")


def write_lock(store: Store) -> object:
    return store.locks.acquire(["run"], "owner")


WRITES = [write_items, write_question, write_answer, write_run, write_statement, write_lock]


def test_python_writes_nothing_into_a_copy(url: str, tmp_path: Path) -> None:
    folder = copy_study("partitioned", tmp_path / "from")
    with Store(read_study(folder / "study.toml").store_url) as study, Store(url) as copy:
        copy_store(study, copy)
    with Store(url) as copy:
        before = copy.content.read_answers()
        for write in WRITES:
            with pytest.raises(StoreError, match="oversight store adopt"):
                write(copy)
        with copy.rehearsing():
            write_items(copy)
        with pytest.raises(StoreError, match="oversight store adopt"):
            write_statement(copy)
        with pytest.raises(StoreError, match="oversight store adopt"):
            copy.marks.adopt()
        assert copy.content.read_answers() == before
        with Store(url, write_marked=True) as own:
            own.marks.adopt()
    with Store(url) as adopted:
        assert len(adopted.content.read_answers()) == len(before)
        write_items(adopted)


def test_calls_of_python_collect_nothing_in_a_copy(
    tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy_study("partitioned", tmp_path))
    oversight("store", "copy", "copy.db")
    Path("copy.db").replace("study.db")
    study = read_study("study.toml")
    calls: list[Callable[[], object]] = [
        lambda: route_questions(study),
        lambda: import_answers(study, ["sheet.csv"]),
        lambda: export_open(study, "sheets"),
        lambda: simulate_answers(study, "key.csv"),
        lambda: run(lambda prompt: "red", [Item("i", "t", ("red", "green"), (0, 1))], store="study.db"),
        lambda: LabelStudio.from_env().pull(),
    ]
    for call in calls:
        with pytest.raises(StoreError, match="oversight store adopt"):
            call()
    assert not Path("sheets").exists()


def test_a_run_is_priced_in_a_copy_and_changes_nothing_there(
    tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(
        '[study]\nname = "priced"\nseed = 3\n[items]\nfile = "items.csv"\nclasses = ["red", "green"]\n'
        '[models.m]\nendpoint = "http://127.0.0.1:9/v1"\nmodel = "m"\nmax_tokens = 4\n'
    )
    Path("items.csv").write_text("id,text\na,one\n")
    oversight("run", "--dry-run")
    oversight("store", "copy", "copy.db")
    Path("copy.db").replace("study.db")
    Path("items.csv").write_text("id,text\na,one\nb,two\n")
    assert oversight("run", "--dry-run")["forecast"][0]["calls"] == 2
    assert "oversight store adopt" in oversight("run", code=2)["error"]
    with Store("sqlite:///study.db") as store:
        assert store.count_rows("item") == {"item": 1}


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


def test_moved_study_collects_only_in_the_new_database(
    tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy_study("partitioned", tmp_path))
    text = Path("study.toml").read_text()
    before = [oversight("estimate"), oversight("store", "verify")]
    Path("study.toml").chmod(0o664)
    oversight("store", "move", "sub.db")
    assert stat.S_IMODE(Path("study.toml").stat().st_mode) == 0o664
    assert [oversight("estimate"), oversight("store", "verify")] == before
    assert oversight("label", "route")["new"] == 0
    moved = Path("study.toml").read_text()
    assert [line for line in moved.splitlines() if not line.startswith("store = ")] == text.splitlines()
    Path("study.toml").write_text(text)
    told = oversight("label", "route", code=2)["error"]
    assert "was moved to" in told
    assert "sub.db" in told
    assert "was moved to" in oversight("store", "move", "other.db", code=2)["error"]
    oversight("store", "move", "sub.db")  # simulates a move that was killed before it wrote study.toml
    assert Path("study.toml").read_text() == moved
    assert oversight("label", "route")["new"] == 0


def test_a_study_is_moved_to_a_server_and_back(
    postgresql: str, tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty_server(postgresql)
    monkeypatch.chdir(copy_study("partitioned", tmp_path))
    before = oversight("estimate")
    oversight("store", "move", postgresql)
    assert oversight("label", "route")["new"] == 0
    with Store(postgresql):
        assert "other connections are open" in oversight("store", "move", "back.db", code=2)["error"]
    oversight("store", "move", "back.db")
    assert oversight("estimate") == before
    assert oversight("label", "route")["new"] == 0


def test_a_study_that_is_in_use_is_not_moved(
    tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw(tmp_path / "ward")
    monkeypatch.chdir(tmp_path / "ward")
    text = Path("study.toml").read_text()
    with serve(tmp_path / "ward") as desk:
        own = desk.begin("ana")
        assert desk.answer(own)[0] == 200
        assert "stop all commands" in oversight("store", "move", "new.db", code=2)["error"]
        assert desk.answer(own)[0] == 200
    assert Path("study.toml").read_text() == text
    assert oversight("store", "move", "new.db")["tables"]["answer"] == 2
    with serve(tmp_path / "ward", port=desk.port) as desk:
        assert desk.answer(own)[0] == 200


@pytest.mark.parametrize("step", ["copy_store", "adopt", "write_whole"])
def test_a_move_that_is_killed_leaves_at_most_one_that_collects(
    step: str, tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy_study("partitioned", tmp_path))
    before = oversight("estimate")
    place = {
        "copy_store": "oversight.harness.store.copying.copy_store",
        "write_whole": "oversight.harness.cli.database_verbs.store.write_whole",
        "adopt": "oversight.harness.store.study_store.MarkRepository.adopt",
    }[step]
    code = (
        "import os\nfrom unittest import mock\n"
        "from oversight.harness.cli.main import main\n"
        f"with mock.patch({place!r}, side_effect=lambda *a, **k: os._exit(9)):\n"
        "    main(['store', 'move', 'new.db'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == 9
    assert "collects no answers" in oversight("label", "route", code=2)["error"]
    oversight("store", "move", "new.db")
    assert oversight("estimate") == before
    assert oversight("label", "route")["new"] == 0


def test_the_setting_is_replaced_or_left_to_the_user(
    tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy_study("partitioned", tmp_path))
    file = Path("study.toml")
    text = file.read_text()
    file.write_text(text.replace("[study]", "[study]\nstore = 'a#b.db'  # ours", 1))
    Path("study.db").rename("a#b.db")
    oversight("store", "move", "new.db")
    assert 'store = "new.db"  # ours\n' in file.read_text()
    odd = text.replace("[study]", '[study]\nstore = """\nnew.db"""', 1)
    file.write_text(odd)
    assert "write this under [study]" in oversight("store", "move", "last.db", code=2)["error"]
    assert (file.read_text(), Path("last.db").exists()) == (odd, False)


def test_copied_folder_of_a_moved_study_has_its_own_database(
    tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy_study("partitioned", tmp_path)
    monkeypatch.chdir(folder)
    oversight("store", "move", "ward.db")
    before = oversight("estimate")
    shutil.copytree(folder, tmp_path / "other")
    monkeypatch.chdir(tmp_path / "other")
    oversight("predictions", "import", "careful.csv", "--model", "only in the copy")
    assert "only in the copy" in str(oversight("estimate"))
    monkeypatch.chdir(folder)
    assert oversight("estimate") == before


@pytest.mark.parametrize("working", ["deep/partitioned", "deep", "other", "other/link"])
@pytest.mark.parametrize("verb", ["move", "copy"])
def test_relative_target_has_a_name_relative_to_study_toml(
    verb: str, working: str, tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy_study("partitioned", tmp_path / "deep")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/link").symlink_to(folder)
    monkeypatch.chdir(tmp_path / working)
    study = tmp_path / "other/link/study.toml"
    oversight("store", verb, "wörd ?1.db", "--study", study)
    assert Path("wörd ?1.db").is_file()
    named = os.path.relpath(Path("wörd ?1.db").resolve(), folder.resolve())
    if verb == "copy":
        name_store(study, named)
        assert oversight("store", "adopt", "--study", study)
    assert tomllib.loads(study.read_text())["study"]["store"] == named
    monkeypatch.chdir("/")
    assert oversight("label", "route", "--study", study)["new"] == 0
    assert oversight("store", "move", str(study.parent / named), "--study", study)["rows"] == 0


def name_store(study: Path, named: str) -> None:
    study.write_text(study.read_text().replace("[study]", f'[study]\nstore = "{named}"', 1))


def test_path_after_sqlite_is_relative_to_study_toml(
    tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = copy_study("partitioned", tmp_path) / "study.toml"
    name_store(study, "sqlite:///study.db")
    monkeypatch.chdir("/")
    assert oversight("label", "route", "--study", study)["new"] == 0


def test_studies_in_folders_with_a_question_mark_have_their_own_databases(
    tmp_path: Path, oversight: Oversight
) -> None:
    for name in ("ward?1", "ward?2"):
        copy_study("partitioned", tmp_path / name)
    for name in ("ward?1", "ward?2"):
        assert oversight("label", "route", "--study", tmp_path / name / "partitioned/study.toml")["new"] == 0
    assert not (tmp_path / "ward").exists()


def test_move_that_cannot_write_study_toml_is_taken_back(
    url: str, tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy_study("partitioned", tmp_path))
    to = url.replace("study.db", "new.db").removeprefix("sqlite:///")
    Path("study.toml.part").mkdir()  # study.toml is written under this name first
    assert "study.toml: cannot be written" in oversight("store", "move", to, code=2)["error"]
    assert oversight("label", "route")["new"] == 0
    if "://" in to:
        with Store(to) as new, pytest.raises(StoreError, match="oversight store adopt"):
            new.marks.refuse_mark()
    else:
        assert not list(tmp_path.glob("new.db*"))
    Path("study.toml.part").rmdir()
    oversight("store", "move", to)
    assert oversight("label", "route")["new"] == 0


def test_move_that_is_interrupted_after_it_wrote_study_toml_is_not_taken_back(
    url: str, tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy_study("partitioned", tmp_path))
    to = url.replace("study.db", "new.db").removeprefix("sqlite:///")

    def stop(*given: Any, **named: Any) -> None:
        write_whole(*given, **named)
        raise Stopped(signal.SIGTERM)

    with mock.patch("oversight.harness.cli.database_verbs.store.write_whole", stop):
        assert main(["store", "move", to]) == 128 + signal.SIGTERM
    assert oversight("label", "route")["new"] == 0
    with Store("sqlite:///study.db") as old, pytest.raises(StoreError, match="was moved to"):
        old.marks.refuse_mark()


def test_interrupted_move_never_continues_in_another_study(
    url: str, tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = url.replace("study.db", "new.db")
    with Store(to) as other:
        other.content.add_items([Item("other", "text", ("red", "green"), (0, 1))])
    monkeypatch.chdir(copy_study("partitioned", tmp_path))
    with Store("sqlite:///study.db", write_marked=True) as study:  # as after a kill right after the mark
        study.marks.mark_moved(to.removeprefix("sqlite:///"))
    text = Path("study.toml").read_text()
    error = oversight("store", "move", to.removeprefix("sqlite:///"), code=2)["error"]
    assert "already contains a study" in error
    assert Path("study.toml").read_text() == text


def test_copies_to_one_file_at_once_leave_one_whole_copy(
    tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy_study("partitioned", tmp_path))
    words = (sys.executable, "-m", "oversight.harness.cli.main", "store", "copy", "backup.db")
    copies = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(3)]
    assert sorted(copy.wait() for copy in copies) == [0, 2, 2]
    with Store("sqlite:///study.db") as study, Store("sqlite:///backup.db") as copy:
        assert copy.count_rows() == study.count_rows()
