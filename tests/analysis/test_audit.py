"""A study's own database, checked: whatever is changed past the program is found and named."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oversight.harness.analysis.audit.design_freeze import compare_parts, find_changes
from oversight.harness.config import read_study
from oversight.harness.store import START, Absence, Store
from oversight.protocols.study_labels import route_questions
from tests.analysis.audited_study import LOOKED_AT, answer_on_server, lay_out_audited
from tests.analysis.tampering import CHANGES, WHERE, tamper
from tests.protocols.test_controls import lay_out
from tests.studies.opened import copy_study

Oversight = Callable[..., Any]
STUDIES = Path(__file__).parents[1] / "studies"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audited") / "study"
    lay_out_audited(folder)
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(finished, tmp_path / "study")
    monkeypatch.chdir(tmp_path / "study")
    return tmp_path / "study"


def one(folder: Path, sql: str) -> Any:
    with closing(sqlite3.connect(folder / "study.db")) as database:
        return database.execute(sql).fetchone()[0]


def test_a_study_that_nobody_touched_holds(folder: Path, oversight: Oversight) -> None:
    found = oversight("store", "verify")
    assert found["holds"]
    assert (found["answers"], found["uncovered"], found["unchecked"]) == (
        one(folder, "SELECT count(*) FROM answer") + one(folder, "SELECT count(*) FROM control_answer"),
        0,
        0,
    )
    assert found["frozen_before_first_answer"]
    assert found["comments"] > 0
    assert found["designs"][0]["numbers"].keys() == {"questions", "controls", "gold"}
    assert found["head"] == one(folder, "SELECT link FROM audit_event ORDER BY position DESC")


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_found_and_named(name: str, folder: Path, oversight: Oversight) -> None:
    sql, told = CHANGES[name]
    tamper(folder, sql.format_map(WHERE))
    found = oversight("store", "verify", code=1)
    assert not found["holds"]
    assert any(re.search(told, text) for text in found["findings"]), found["findings"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('name = "s"', 'name = "s"\nseed = 3', "setting study.seed: 0 when frozen, 3 now"),
        ("repeat = 0.3", "repeat = 0.2", "setting experts.repeat: 0.3 when frozen, 0.2 now"),
        (
            "[experts]",
            "[estimate]\nlevel = 0.9\n[experts]",
            "setting estimate.level: 0.95 when frozen, 0.9 now",
        ),
    ],
)
def test_a_setting_that_changed_is_named(
    folder: Path, oversight: Oversight, before: str, after: str, told: str
) -> None:
    path = folder / "study.toml"
    path.write_text(path.read_text().replace(before, after))
    assert oversight("store", "verify", code=1)["findings"] == [told]


def test_another_roster_is_told_but_no_other_address(folder: Path, oversight: Oversight) -> None:
    path = folder / "experts.toml"
    text = path.read_text()
    path.write_text(text.replace('name = "red0"', 'name = "red0"\nemail = "r@example.org"'))
    assert oversight("store", "verify")["holds"]
    path.write_text(text.replace('name = "red0"', 'name = "red0"\nabsent = true'))
    assert "the roster now differs from" in oversight("store", "verify", code=1)["findings"][0]
    path.unlink()
    assert "the roster now differs from" in oversight("store", "verify", code=1)["findings"][0]


def test_a_trail_that_is_gone_covers_nothing_and_no_head(folder: Path, oversight: Oversight) -> None:
    before = oversight("store", "verify")
    tamper(folder, "DELETE FROM audit_event")
    tamper(folder, "DELETE FROM handover")
    found = oversight("store", "verify")
    assert (found["uncovered"], found["designs"]) == (before["answers"], [])
    assert (
        "the given head is not in the chain"
        in oversight("store", "verify", "--head", before["head"], code=1)["findings"][0]
    )


def test_bytes_that_are_no_text_are_stored_in_visible_form(folder: Path, oversight: Oversight) -> None:
    """What Python makes of them no file takes: the trail keeps it in visible form."""
    with Store(read_study("study.toml").store_url) as store:
        store.people.add_absence(Absence(expert="red1", since="2026-01-02", until="", reason="krank \udce4"))
        told = store.audit.find_last("absent")
    assert told is not None
    assert told.comment is not None
    assert "udce4" in told.comment
    assert "\udce4" not in told.comment
    assert oversight("store", "verify")["holds"]
    oversight("label", "audit")
    assert oversight("store", "verify", "audit.jsonl")["holds"]


def test_many_findings_are_counted(folder: Path, oversight: Oversight) -> None:
    tamper(folder, "UPDATE answer SET source = 'x' WHERE source = 'label_studio'")
    tamper(folder, "UPDATE audit_event SET at = 'x'")
    found = oversight("store", "verify", code=1)
    assert len(found["findings"]) == 20
    assert found["number"] > 20


def test_comments_may_be_forgotten(folder: Path, oversight: Oversight) -> None:
    before = oversight("store", "verify")
    tamper(folder, "UPDATE audit_event SET comment = NULL, salt = '' WHERE comment_digest != ''")
    tamper(folder, "UPDATE answer SET comment = '' WHERE source = 'label_studio'")
    tamper(folder, "UPDATE control_answer SET comment = ''")
    found = oversight("store", "verify", "--head", before["head"])
    assert (found["comments"], found["forgotten"]) == (0, before["comments"])
    assert found["covered"] == found["events"]


def test_earlier_head_covers_only_earlier_events(folder: Path, oversight: Oversight) -> None:
    early = one(folder, "SELECT link FROM audit_event WHERE position = 4")
    found = oversight("store", "verify", "--head", early)
    assert (found["covered"], found["holds"]) == (5, True)
    assert oversight("store", "verify", "--head", START)["covered"] == 0
    assert (
        "the given head is not in the chain"
        in oversight("store", "verify", "--head", "a" * 64, code=1)["findings"][0]
    )
    assert "64 hexadecimal digits" in oversight("store", "verify", "--head", "abc", code=2)["error"]
    # A rewritten chain is consistent, but its head differs from the noted head.
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        records = list(store.audit.read_records())
    link = START
    tamper(folder, "UPDATE audit_event SET at = '2020' WHERE position = 1")
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        for record in list(store.audit.read_records()):
            link = record.find_link(link)
            tamper(folder, "UPDATE audit_event SET link = ? WHERE position = ?", link, record.position)
    assert oversight("store", "verify")["holds"]
    assert not oversight("store", "verify", "--head", records[-1].link, code=1)["holds"]


def test_answers_change_on_a_server_and_are_withdrawn(folder: Path, oversight: Oversight) -> None:
    tamper(folder, "DELETE FROM answer WHERE expert = ? AND source != 'label_studio'", LOOKED_AT)
    study = read_study(folder / "study.toml")
    before = oversight("store", "verify", code=1)["number"]
    answer_on_server(study, verdict="yes", but=2)
    assert oversight("store", "verify", code=1)["number"] == before


def test_question_altered_before_a_new_freeze_is_found(tmp_path: Path, oversight: Oversight) -> None:
    study = lay_out(tmp_path, "questions = 20\n")
    route_questions(study)
    where = ("--study", tmp_path / "study.toml")
    oversight("label", "route", *where)
    assert len(oversight("store", "verify", *where)["designs"]) == 1
    oversight("label", "simulate", "--key", tmp_path / "key.csv", *where)
    oversight("label", "route", "--more", "5", *where)
    found = oversight("store", "verify", *where)
    assert [(d["answers"], d["numbers"]["questions"]) for d in found["designs"]] == [(0, 20), (20, 25)]
    tamper(tmp_path, "UPDATE question SET expert = 'eve' WHERE rowid = 2")
    oversight("label", "route", "--more", "5", *where)
    (told,) = oversight("store", "verify", *where, code=1)["findings"]
    assert re.match(r"event \d+ \(design\): its digests differ from the freeze before", told)


def test_settings_that_changed_from_freeze_to_freeze_are_told(tmp_path: Path, oversight: Oversight) -> None:
    study = lay_out(tmp_path, "")
    route_questions(study)
    path = tmp_path / "study.toml"
    path.write_text(path.read_text() + "[estimate]\nlevel = 0.8\n")
    oversight("label", "route", "--study", path)
    first, second = oversight("store", "verify", "--study", path)["designs"]
    assert first["changes"] == []
    assert second["changes"] == ["setting estimate.level: 0.95 before, 0.8 then"]


def test_several_options_of_an_item_are_hashed_as_they_are_read(tmp_path: Path, oversight: Oversight) -> None:
    study = lay_out(tmp_path, "options_per_item = 2\n")
    route_questions(study)
    assert oversight("store", "verify", "--study", tmp_path / "study.toml")["designs"][0]["numbers"] == {
        "questions": 120
    }


@pytest.mark.parametrize("name", ["partitioned", "panel", "sequential", "targeted", "desk"])
def test_studies_of_older_versions_are_not_covered(
    name: str, tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy_study(name, tmp_path))
    found = oversight("store", "verify")
    assert (found["holds"], found["events"], found["designs"]) == (True, 0, [])
    assert found["uncovered"] == found["answers"] > 0
    oversight("label", "route")
    assert oversight("store", "verify") == found
    assert oversight("label", "audit")["not_covered"] == found["answers"]
    assert oversight("store", "verify", "audit.jsonl")["uncovered"] == found["answers"]


@pytest.mark.parametrize("name", ["panel", "panel-random", "sequential"])
def test_panels_and_sequential_studies_verify(
    name: str, tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(copy_study(name, tmp_path))
    if name == "sequential":
        tamper(tmp_path / name, "DELETE FROM answer")
        tamper(tmp_path / name, "DELETE FROM question")
        while oversight("label", "route")["questions"]:
            oversight("label", "simulate", "--key", "key.csv")
    else:
        (tmp_path / name / "study.db").unlink()
        oversight("label", "route")
        oversight("label", "import", *sorted(Path("filled").glob("*.csv")))
    found = oversight("store", "verify")
    assert (found["holds"], found["uncovered"]) == (True, 0)
    assert found["frozen_before_first_answer"]
    assert len(found["designs"]) == (1 if name != "sequential" else len(found["designs"]) or 2)
    if name == "sequential":
        assert len(found["designs"]) > 1
        return
    tamper(tmp_path / name, "UPDATE rating SET label = 'soon' WHERE position = 4")
    tamper(tmp_path / name, "UPDATE assignment SET propensity = 0.1 WHERE rowid = 4")
    told = oversight("store", "verify", code=1)["findings"]
    assert len(told) in (1, 2)
    assert told[-1].startswith("assignments: altered")


def test_a_study_without_a_database_is_refused(tmp_path: Path, oversight: Oversight) -> None:
    lay_out(tmp_path)
    where = ("--study", tmp_path / "study.toml")
    assert "no database" in oversight("store", "verify", *where, code=2)["error"]
    assert "no database" in oversight("label", "audit", *where, tmp_path / "a", code=2)["error"]
    assert not (tmp_path / "study.db").exists()


def test_database_on_a_server_verifies(
    url: str, tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "study.toml"
    lay_out(tmp_path)
    path.write_text(path.read_text().replace('name = "s"', f'name = "s"\nstore = "{url}"'))
    study = read_study(path)
    route_questions(study)
    answer_on_server(study, but=1)
    oversight("label", "simulate", "--key", "key.csv")
    found = oversight("store", "verify")
    assert (found["holds"], found["uncovered"], found["frozen_before_first_answer"]) == (True, 0, True)
    done = oversight("label", "audit")
    assert oversight("store", "verify", "audit.jsonl", "--head", done["head"])["holds"]
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE question SET propensity = 0.5 WHERE option = 1"))
        connection.execute(sa.text("UPDATE answer SET verdict = 'skip' WHERE source != 'label_studio'"))
        connection.execute(sa.text("UPDATE audit_event SET at = '2020' WHERE position = 2"))
    engine.dispose()
    told = " ".join(oversight("store", "verify", code=1)["findings"])
    for text in ("questions: altered", "its answers differ from those received", "event 2 (revision"):
        assert text in told


def test_read_only_database_verifies(
    folder: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # the tests may run as root
    assert oversight("store", "verify")["holds"]
    monkeypatch.undo()
    assert not list(folder.glob("study.db-*"))


@pytest.mark.parametrize(
    "change", ["SET author = 6", "SET result = '[1]'", "SET question_id = 'x'", "SET task_id = 999"]
)
def test_altered_state_of_an_annotation_is_found(folder: Path, oversight: Oversight, change: str) -> None:
    with sqlite3.connect("study.db") as connection:
        connection.execute(f"UPDATE label_revision {change} WHERE position = 0")
    assert "differs from what was received" in oversight("store", "verify", code=1)["findings"][0]


def test_removed_setting_of_an_older_design_is_no_finding() -> None:
    frozen = {"settings": {"estimate": {"level": 0.95, "looks": 5}}, "roster": ""}
    now = {"settings": {"estimate": {"level": 0.95}}, "roster": ""}
    assert find_changes(frozen, now) == []


def test_part_that_a_design_did_not_record_was_added_unless_its_version_knew_none() -> None:
    now = {name: {"number": 1, "digest": "d"} for name in ("questions", "units")}
    assert compare_parts({"parts": {}}, now) == [
        "questions: 0 were frozen, 1 are stored: added after the freeze"
    ]
