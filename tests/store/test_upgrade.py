"""A study of an older version is copied into a new database; the old one is unchanged."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.store import HEAD, Store, name_schema, upgrade_database
from oversight.harness.types import Candidate, Item, Program, Usage
from tests.fakes.postgresql import run_sql
from tests.store.test_copying import read_all
from tests.store.test_study_store import fill
from tests.studies.opened import ROOT

Oversight = Callable[..., Any]
STUDIES = sorted(path.parent.name for path in ROOT.glob("*/study.db"))


def bring(study: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a frozen study with the database as the older version wrote it."""
    shutil.copytree(ROOT / study, folder / study, ignore=shutil.ignore_patterns("expected"))
    monkeypatch.chdir(folder / study)
    return folder / study


def make_older(url: str, *statements: str) -> None:
    """Take back the version of a study's tables, and what else the statements say."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        for statement in (*statements, "UPDATE alembic_version SET version_num = '0026'"):
            connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.mark.parametrize("study", STUDIES)
def test_study_of_the_first_version_continues_in_a_new_file(
    study: str, tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = bring(study, tmp_path, monkeypatch)
    old, new = folder / "study.db", folder / f"study-{HEAD}.db"
    before = old.read_bytes()
    found = oversight("store", "upgrade")
    assert (found["from"], found["to"]) == ("study.db", new.name)
    assert old.read_bytes() == before
    assert found["rows"] == sum(found["tables"].values()) > 0
    assert f'store = "{new.name}"\n' in Path("study.toml").read_text()
    assert oversight("store", "verify")["holds"] is True
    assert oversight("label", "route")["new"] == 0
    assert "nothing to upgrade" in oversight("store", "upgrade", code=2)["error"]


@pytest.mark.parametrize("words", [("estimate",), ("label", "route"), ("verify",), ("run", "--dry-run")])
def test_other_verbs_name_the_command(
    words: tuple[str, ...], tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = bring("half", tmp_path, monkeypatch)
    error = oversight(*words, code=2)["error"]
    assert error.endswith("copy the study into a new database with: oversight store upgrade")
    with closing(sqlite3.connect(folder / "study.db")) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("0006",)


def test_columns_and_tables_that_this_version_has_not_are_left_out(
    url: str, tmp_path: Path, items: list[Item]
) -> None:
    with Store(url) as store:
        fill(store, items)
        before = read_all(store)
    make_older(
        url,
        "ALTER TABLE run ADD COLUMN old VARCHAR",
        "ALTER TABLE question DROP COLUMN place",
        "CREATE TABLE first_look (run_id VARCHAR PRIMARY KEY)",
        "INSERT INTO first_look VALUES ('r')",
        "DROP TABLE look",
    )
    with pytest.raises(StoreError, match="with: oversight store upgrade"):
        Store(url)
    is_file = url.startswith("sqlite")
    to = str(tmp_path / "new.db") if is_file else "newer"
    address = f"sqlite:///{to}" if is_file else name_schema(url, to)
    found = upgrade_database(url, to)
    with Store(address) as store:
        after = read_all(store)
        assert store.content.read_items() == items
        assert not store.read_only
    caches = {"run_version", "run_columns"}
    assert {n: rows for n, rows in after.items() if n not in caches} == {
        n: rows for n, rows in before.items() if n not in caches
    }
    assert found == {n: len(rows) for n, rows in after.items() if rows and n not in caches}
    with pytest.raises(StoreError, match="already exists"):
        upgrade_database(url, to)
    with pytest.raises(StoreError, match="oversight store upgrade"):  # the old database was not upgraded
        Store(url)


OLDER_TABLES = (
    "CREATE TABLE guessed_usage (run_id VARCHAR, item_id VARCHAR, sample INTEGER, calls INTEGER)",
    "INSERT INTO guessed_usage SELECT run_id, item_id, sample, 2 FROM prediction WHERE item_id = 'i0'",
    "CREATE TABLE served_model (run_id VARCHAR, name VARCHAR)",
    "INSERT INTO served_model SELECT id, 'm-2026' FROM run",
    "CREATE TABLE reservation (run_id VARCHAR, item_id VARCHAR, sample INTEGER, requests INTEGER, "
    "input_tokens INTEGER, output_tokens INTEGER)",
    "INSERT INTO reservation SELECT id, 'i5', 0, 1, 10, 4 FROM run",
    "CREATE TABLE charge (run_id VARCHAR, requests INTEGER, input_tokens INTEGER, output_tokens INTEGER, "
    "answers INTEGER)",
    "INSERT INTO charge SELECT id, 3, 30, 12, 2 FROM run",
    "CREATE TABLE spent (run_id VARCHAR, requests INTEGER, input_tokens BIGINT, output_tokens BIGINT)",
    "INSERT INTO spent SELECT id, 5, 50, 20 FROM run",
    "CREATE TABLE calls_under_way (run_id VARCHAR, requests INTEGER, input_tokens BIGINT, "
    "output_tokens BIGINT)",
    "INSERT INTO calls_under_way SELECT id, 1, 100, 40 FROM run",
    "CREATE TABLE call_claim (work_id VARCHAR, requests INTEGER, input_tokens INTEGER, "
    "output_tokens INTEGER)",
    "INSERT INTO call_claim SELECT id, 1, 7, 3 FROM run",
    "INSERT INTO call_claim SELECT id, 1, 8, 3 FROM run",
    "INSERT INTO call_claim VALUES ('a run that was never stored', 1, 7, 3)",
    "CREATE TABLE candidate_parent (search_id VARCHAR, child VARCHAR, parent VARCHAR, position INTEGER)",
    "INSERT INTO candidate_parent SELECT search_id, id, 'b', 1 FROM candidate WHERE name = 'child'",
    "INSERT INTO candidate_parent SELECT search_id, id, 'a', 0 FROM candidate WHERE name = 'child'",
    "DELETE FROM ledger",
    "ALTER TABLE prediction DROP COLUMN guessed",
    "ALTER TABLE run DROP COLUMN served_as",
    "ALTER TABLE candidate DROP COLUMN parents",
)


def test_rows_of_older_tables_are_in_the_tables_of_this_version(
    url: str, tmp_path: Path, items: list[Item]
) -> None:
    with Store(url) as store:
        fill(store, items)
        store.searches.add_search("s", {}, {"select": ["i0"]})
        programs = [Program("child", "x = 1", ""), Program("alone", "x = 2", "")]
        for program in programs:
            store.searches.add_candidate("s", Candidate(program, 0, "fresh"))
        (run,) = (row["id"] for row in store.runs.read_runs())
    make_older(url, *OLDER_TABLES)
    is_file = url.startswith("sqlite")
    to = str(tmp_path / "new.db") if is_file else "merged"
    upgrade_database(url, to)
    with Store(f"sqlite:///{to}" if is_file else name_schema(url, to)) as store:
        assert [(p.item_id, p.guessed) for p in store.runs.read_samples(run) if p.guessed] == [("i0", 2)]
        assert store.runs.read_served_as(run) == "m-2026"
        account = store.calls
        assert account.read_charge(run) == Usage(3, 30, 12, answers=2)
        assert account.read_spent(run) == Usage(5, 50, 20)
        assert account.charge_calls_left(run) == Usage(3, 115, 46, answers=3)
        assert account.charge_left(run) == Usage(1, 10, 4, answers=1)
        assert account.read_charge(run) == Usage(7, 155, 62, answers=6)
        found = {c.program.name: c.parents for c in store.searches.read_candidates("s")}
        assert found == {"child": ("a", "b"), "alone": ()}


def test_study_on_a_server_continues_in_a_new_schema(
    postgresql: str, tmp_path: Path, items: list[Item], oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_sql(postgresql, "DROP SCHEMA IF EXISTS ward CASCADE", "CREATE SCHEMA ward")
    run_sql(postgresql, f"DROP SCHEMA IF EXISTS ward_{HEAD} CASCADE")
    monkeypatch.chdir(tmp_path)
    ward = name_schema(postgresql, "ward")
    with Store(ward) as store:
        fill(store, items)
    make_older(ward.replace("postgresql:", "postgresql+psycopg:"))
    Path("study.toml").write_text(
        f'[study]\nname = "t"\nstore = "{ward}"\n[items]\nfile = "i.csv"\nclasses = ["red", "green"]\n'
    )
    Path("i.csv").write_text("id,text\n")
    assert "not a schema name" in oversight("store", "upgrade", "No Name", code=2)["error"]
    found = oversight("store", "upgrade")
    assert found["to"] == name_schema(postgresql, f"ward_{HEAD}")
    with Store(found["to"]) as store:
        assert store.content.read_items() == items
    assert "nothing to upgrade" in oversight("store", "upgrade", code=2)["error"]


def test_existing_database_is_left_alone(
    tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring("half", tmp_path, monkeypatch)
    Store("sqlite:///other.db").close()
    settings, before = Path("study.toml").read_text(), Path("other.db").read_bytes()
    assert "already exists" in oversight("store", "upgrade", "other.db", code=2)["error"]
    assert "the folder does not exist" in oversight("store", "upgrade", "none/new.db", code=2)["error"]
    assert (Path("study.toml").read_text(), Path("other.db").read_bytes()) == (settings, before)
    found = oversight("store", "upgrade", "third.db")
    assert found["to"] == "third.db"
    assert json.dumps(found["to"]) in Path("study.toml").read_text()


@pytest.mark.parametrize("to", [(), ("new.db",)])
@pytest.mark.parametrize("kind", ["relative", "absolute"])
def test_name_of_the_new_file_stays_relative_or_absolute(
    to: tuple[str, ...],
    kind: str,
    tmp_path: Path,
    oversight: Oversight,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = bring("half", tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    settings = folder / "study.toml"
    is_absolute = kind == "absolute"
    start = f"{folder}/" if is_absolute else ""
    settings.write_text(settings.read_text().replace("[study]", f'[study]\nstore = "{start}study.db"', 1))
    words = tuple(f"{folder}/{name}" if is_absolute else f"half/{name}" for name in to)
    found = oversight("store", "upgrade", *words, "--study", "half/study.toml")
    assert found["to"] == (start + to[0] if to else f"{start}study-{HEAD}.db")
    folder.rename(tmp_path / "ward")
    assert oversight("label", "status", "--study", "ward/study.toml", code=2 * is_absolute)


def test_a_whole_file_that_was_not_renamed_is_made_again(
    tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring("half", tmp_path, monkeypatch)
    upgrade_database("sqlite:///study.db", "new.db")
    Path("new.db").rename(f"study-{HEAD}.db.unfinished")
    with closing(sqlite3.connect("study.db")) as connection, connection:
        connection.execute("DELETE FROM answer WHERE question_id = (SELECT min(question_id) FROM answer)")
    assert oversight("store", "upgrade")["tables"]["answer"] == 24
    assert not list(Path().glob("*.unfinished*"))


def test_a_study_in_use_or_damaged_is_refused(
    tmp_path: Path, oversight: Oversight, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring("half", tmp_path, monkeypatch)
    opens = (
        "import sqlite3\nc = sqlite3.connect('study.db')\nc.execute('SELECT * FROM item')\n"
        "print(1, flush=True)\ninput()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", opens], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert f"process {other.pid}" in oversight("store", "upgrade", code=2)["error"]
        other.kill()
    with closing(sqlite3.connect("study.db")) as connection, connection:
        connection.execute("DELETE FROM question WHERE id = (SELECT min(question_id) FROM answer)")
    assert "the database is damaged" in oversight("store", "upgrade", code=2)["error"]
    assert not Path(f"study-{HEAD}.db").exists()


def test_a_database_that_collects_nothing_stays_so(tmp_path: Path, items: list[Item]) -> None:
    with Store(f"sqlite:///{tmp_path / 'study.db'}", write_marked=True) as store:
        fill(store, items)
        store.marks.mark_moved("elsewhere")
    make_older(f"sqlite:///{tmp_path / 'study.db'}")
    upgrade_database(f"sqlite:///{tmp_path / 'study.db'}", str(tmp_path / "new.db"))
    with Store(f"sqlite:///{tmp_path / 'new.db'}") as store, pytest.raises(StoreError, match="was moved to"):
        store.marks.refuse_mark()
