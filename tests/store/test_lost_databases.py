"""A database that is moved, deleted, replaced or overwritten while a command works with it."""

# ruff: noqa: PT012  closing the store may also raise the error
from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import sqlalchemy as sa

from oversight.harness.errors import LostDatabase, StoreError
from oversight.harness.store import Store
from oversight.harness.types import Item
from tests.fakes.postgresql import connect_to_server, empty_server

WRITER = """
import sys
from oversight.harness.store import Store
from oversight.harness.types import Item
with Store("sqlite:///study.db") as store:
    for j in range(300):
        store.content.add_items([Item(f"{sys.argv[1]}-{j}", "text " * 300, ("a", "b"), (0, 1))])
"""


def make_items(name: str, number: int = 5) -> list[Item]:
    return [Item(f"{name}{j}", "text", ("a", "b"), (0, 1)) for j in range(number)]


def count_items(file: Path) -> int:
    with Store(f"sqlite:///{file}") as store:
        return len(store.content.read_items())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "ward").mkdir()
    with Store(f"sqlite:///{tmp_path / 'other.db'}") as other:
        other.content.add_items(make_items("other", 3))
    return tmp_path / "ward" / "study.db"


def remove_all(file: Path) -> None:
    for each in file.parent.iterdir():
        each.unlink()


def put_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def put_other(file: Path) -> None:
    (file.parents[1] / "other.db").replace(file)


def put_empty(file: Path) -> None:
    file.unlink()
    file.touch()


@pytest.mark.parametrize(
    "lose",
    [
        lambda file: file.rename(file.with_name("moved")),
        lambda file: file.with_name("study.db-wal").unlink(),
        lambda file: file.with_name("study.db-shm").unlink(),
        remove_all,
        put_folder,
        put_other,
        put_empty,
    ],
)
def test_rows_are_saved_beside_a_lost_file(lose: Callable[[Path], object], file: Path) -> None:
    (file.with_name("study-rescued.db")).touch()  # this name is taken, so another one is chosen
    with pytest.raises(LostDatabase) as told, Store(f"sqlite:///{file}") as store:
        store.content.add_items(make_items("one"))
        file.with_name("study-rescued.db").touch()
        lose(file)
        store.content.add_items(make_items("two"))
    assert told.value.exit_code == 1
    [saved] = [each for each in file.parent.glob("study-rescued*.db") if each.stat().st_size]
    assert str(saved) in str(told.value)
    assert saved.stat().st_mode & 0o077 == 0
    assert count_items(saved) >= len(make_items("one"))


def test_loss_after_the_last_commit_is_reported(file: Path) -> None:
    with pytest.raises(LostDatabase, match="file was removed"), Store(f"sqlite:///{file}") as store:
        store.content.add_items(make_items("one"))
        file.unlink()
    assert count_items(file.with_name("study-rescued.db")) == len(make_items("one"))


def test_a_moved_folder_is_named_and_whole(file: Path) -> None:
    with (
        pytest.raises(LostDatabase, match="the rows could not be saved") as told,
        Store(f"sqlite:///{file}") as s,
    ):
        s.content.add_items(make_items("one"))
        file.parent.rename(file.parents[1] / "moved")
        s.content.add_items(make_items("two"))
    moved = file.parents[1] / "moved" / "study.db"
    if sys.platform == "linux":
        assert str(moved) in str(told.value)
    assert count_items(moved) >= len(make_items("one"))


@pytest.mark.skipif(sys.platform == "win32", reason="the log's index is read as a file")
def test_backup_copied_onto_an_open_file_is_unchanged(file: Path) -> None:
    with pytest.raises(LostDatabase, match="another program wrote"), Store(f"sqlite:///{file}") as store:
        store.content.add_items(make_items("one"))
        shutil.copyfile(file.parents[1] / "other.db", file)
        store.content.add_items(make_items("two"))
    assert count_items(file) == 3


def test_lost_file_behind_a_link_is_rescued(file: Path) -> None:
    link = file.parents[1] / "link.db"
    link.symlink_to(file)
    with pytest.raises(LostDatabase, match="file was removed"), Store(f"sqlite:///{link}") as store:
        store.content.add_items(make_items("one"))
        file.unlink()
        store.content.add_items(make_items("two"))
    assert count_items(file.with_name("study-rescued.db")) >= 5


def test_concurrent_writers_cause_no_error(tmp_path: Path) -> None:
    words = [sys.executable, "-c", WRITER]
    writers = [subprocess.Popen([*words, str(j)], cwd=tmp_path, stderr=subprocess.PIPE) for j in range(3)]
    for writer in writers:
        _, told = writer.communicate()
        assert writer.returncode == 0, told.decode()
    assert count_items(tmp_path / "study.db") == 900


def test_idle_file_without_its_log_has_all_rows(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oversight.harness.store.engines.held_file._PAUSE", 0.01)
    with Store(f"sqlite:///{file}") as store:
        store.content.add_items(make_items("one"))
        end, found = time.monotonic() + 10, -1
        for number in itertools.count():
            copy = file.with_name(f"copy-{number}.db")
            shutil.copyfile(file, copy)
            with suppress(StoreError):  # fails if SQLite wrote the log into the file during the copy
                found = count_items(copy)
            if found == len(make_items("one")) or time.monotonic() > end:
                break
        assert found == len(make_items("one"))


@pytest.mark.parametrize("follows", ["empty", "other"])
def test_replaced_database_on_a_server_is_reported(follows: str, postgresql: str) -> None:
    empty_server(postgresql)
    with pytest.raises(LostDatabase, match="removed or replaced"), Store(postgresql) as store:
        store.content.add_items(make_items("one"))
        empty_server(postgresql)
        if follows == "other":
            Store(postgresql).close()
        store._engine.dispose()  # noqa: SLF001  as a server that is restarted does
        store.content.add_items(make_items("two"))
    with connect_to_server(postgresql) as connection:
        tables = sa.inspect(connection).get_table_names()
        assert bool(tables) == (follows == "other")
        assert not tables or connection.execute(sa.text("SELECT count(*) FROM item")).scalar_one() == 0
