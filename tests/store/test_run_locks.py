"""Locks of runs on SQLite and PostgreSQL: one holder, and a dead one is in nobody's way."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oversight.harness.errors import RunHeld
from oversight.harness.store import Store
from oversight.harness.store.tables.study_tables import RUN_LOCK

M, N = {"m1": "m"}, {"n1": "n"}


def change(store: Store, **values: Any) -> None:
    with store.transaction() as connection:
        connection.execute(sa.update(RUN_LOCK).values(**values))


def count(store: Store) -> int:
    return len(store.read_rows(sa.select(RUN_LOCK)))


def test_a_run_has_one_holder_whom_the_refusal_names(url: str) -> None:
    with Store(url) as store, Store(url) as other:
        with store.locks.hold(M):
            with (
                pytest.raises(RunHeld, match=rf"m: process {os.getpid()} on .* since 20..-"),
                other.locks.hold(M),
            ):
                pass
            with pytest.raises(RunHeld), other.locks.hold(N | M):
                pass
            with other.locks.hold(N):  # no lock of the refused pair is kept
                assert count(store) == 2
        assert count(store) == 0
        with other.locks.hold(M):
            pass


def test_lock_of_a_dead_process_is_released(url: str) -> None:
    code = (
        "import os, sys; from oversight.harness.store import Store; store = Store(sys.argv[1])\n"
        "assert store.locks.acquire(['m1'], 'dead') is None; os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, url], check=False).returncode == 9
    with Store(url) as store:
        assert count(store) == 1
        with store.locks.hold(M) as held:
            held.check()


def test_reused_process_id_does_not_hold_the_lock(url: str) -> None:
    with Store(url) as store, store.locks.hold(M), Store(url) as other:
        change(store, started="another moment")
        with other.locks.hold(M) as held:
            holder = store.locks.acquire(M, "a third")
            assert holder is not None
            assert holder.owner == held.owner


def test_a_holder_on_another_machine_holds_until_the_user_says_that_it_has_ended(url: str) -> None:
    with Store(url) as store, store.locks.hold(M), Store(url) as other:
        change(store, machine="another", host="faraway", pid=1)
        with pytest.raises(RunHeld, match=r"process 1 on faraway.*--take-over"), other.locks.hold(M):
            pass
        with other.locks.hold(M, take_over=True):
            pass


def test_a_holder_on_this_machine_is_not_taken_over(url: str) -> None:
    with (
        Store(url) as store,
        store.locks.hold(M),
        Store(url) as other,
        pytest.raises(RunHeld, match=r"or stop that process$"),
        other.locks.hold(M, take_over=True),
    ):
        pass


def test_a_holder_whose_run_was_taken_over_stops(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oversight.harness.store.calls.run_locks._CHECKED", 0.0)
    with Store(url) as store, Store(url) as other, store.locks.hold(M) as held:
        held.check()
        change(store, machine="another", host="faraway", pid=1)
        with other.locks.hold(M, take_over=True) as taken:
            with pytest.raises(RunHeld, match="took this run over"):
                held.check()
            store.locks.release(held.owner)
            taken.check()


def test_a_waiting_command_says_so_once_and_continues(url: str) -> None:
    said: list[str] = []
    waiting = threading.Event()

    def tell(text: str) -> None:
        said.append(text)
        waiting.set()

    def wait() -> None:
        with Store(url) as other, other.locks.hold(M, wait=True, tell=tell):
            said.append("mine")

    thread = threading.Thread(target=wait)
    with Store(url) as store, store.locks.hold(M):
        thread.start()
        assert waiting.wait(60)
    thread.join(60)
    assert [text[:15] for text in said] == ["waiting for m: ", "mine"]


@pytest.mark.slow
def test_several_processes_may_open_a_new_database_at_once(url: str, tmp_path: Path) -> None:
    code = "import sys; from oversight.harness.store import Store; Store(sys.argv[1]).close()"
    started = [subprocess.Popen([sys.executable, "-c", code, url], stderr=subprocess.PIPE) for _ in range(6)]
    told = [process.communicate(timeout=120)[1].decode() for process in started]
    assert [process.returncode for process in started] == [0] * 6
    assert all("waiting for it" in line for text in told for line in text.splitlines())
