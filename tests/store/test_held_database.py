"""A database that another program holds: told at once, waited for, and given up with nothing written."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from oversight.harness.cli.main import main
from oversight.harness.errors import StoreError
from oversight.harness.store import Store
from tests.fakes.postgresql import connect_to_server, empty_server

HOLD = """
import sqlite3, sys
connection = sqlite3.connect("study.db", isolation_level=None)
connection.execute(sys.argv[1]) if sys.argv[1].startswith("PRAGMA") else None
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
connection.rollback()
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text\n1,one\n2,two\n3,three\n")
    Path("p.csv").write_text("id,prediction\n1,x\n2,y\n3,x\n")
    Path("study.toml").write_text(
        '[study]\nname = "held"\n[items]\nfile = "items.csv"\nclasses = ["x", "y"]\n'
    )
    Path("experts.toml").write_text('[[expert]]\nname = "ana"\nclasses = ["x", "y"]\n')
    assert main(["label", "route"]) == 0
    return tmp_path


@contextmanager
def held(how: str = "") -> Iterator[Callable[[], None]]:
    """Another program holds the database until it is let go."""
    command = [sys.executable, "-c", HOLD, how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process.stdin.close
        finally:
            process.kill()


@pytest.mark.parametrize("how", ["", "PRAGMA locking_mode=EXCLUSIVE"])
def test_wait_for_a_locked_database_names_the_holder_and_ends(
    how: str, study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OVERSIGHT_LOCK_WAIT", "1.5")
    with held(how):
        assert main(["predictions", "import", "p.csv", "--model", "m"]) == 2
        told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert all(f"{study / 'study.db'}: another program has locked the database" in line for line in told)
    assert "at most 2 s" in told[0]
    assert "nothing was written" in told[1]
    if sys.platform == "linux":
        assert "process " in told[0]
        assert Path(sys.executable).name in told[0]
    assert main(["predictions", "export", "out.csv"]) == 2  # fails only because no model was imported
    assert "another program" not in capsys.readouterr().err


def test_switch_to_a_log_waits_for_a_program_that_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself refuses to switch at once, for example while another command creates the study."""
    monkeypatch.setenv("OVERSIGHT_LOCK_WAIT", "0.5")
    url = f"sqlite:///{tmp_path / 'new.db'}"
    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another program has locked the database"), Store(url):
            pass
        other.execute("ROLLBACK")
        with Store(url) as store:
            assert store.content.read_items() == []


def test_work_continues_when_the_database_is_free(study: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "oversight.harness.cli.main",
        "predictions",
        "import",
        "p.csv",
        "--model",
        "m",
    ]
    code = f"import sys; from oversight.harness.cli.main import main; sys.exit(main({words[3:]!r}))"
    with held() as let_go:
        command = [sys.executable, "-c", code]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waiting:
            assert waiting.stderr is not None
            assert "another program has locked the database" in waiting.stderr.readline()
            let_go()
            out, err = waiting.communicate()
    assert waiting.returncode == 0, err
    assert "3 answers to 3 items" in out


def test_wait_that_is_not_a_number_is_refused(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for given in ("soon", "-1", "inf", "nan"):
        monkeypatch.setenv("OVERSIGHT_LOCK_WAIT", given)
        with held():
            assert main(["predictions", "import", "p.csv", "--model", "m"]) == 2
        assert f"OVERSIGHT_LOCK_WAIT must be a number of seconds of at least 0, is '{given}'" in (
            capsys.readouterr().err
        )


def test_server_names_the_holder_of_a_lock(
    postgresql: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OVERSIGHT_LOCK_WAIT", "1.5")
    empty_server(postgresql)  # remove the tables of earlier tests
    lock = 0x6F76657273
    with Store(postgresql) as store, connect_to_server(postgresql) as other:
        other.execute(sa.text("SET application_name = 'long import'"))
        other.execute(sa.select(sa.func.pg_advisory_lock(lock)))
        with (
            pytest.raises(StoreError, match="another program has locked the database"),
            store.together(exclusive=True),
        ):
            pass
        told = capsys.readouterr().err
        assert "long import" in told
        other.execute(sa.select(sa.func.pg_advisory_unlock(lock)))
        with store.together(exclusive=True):
            pass
    assert os.environ.get("PGPASSWORD", "no password") not in told
