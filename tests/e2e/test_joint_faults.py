"""What befalls workers on a joint run: stops, kills, a database that goes away; the books agree."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from benchmarks.servers import PostgreSQL, connect_to_server, start_server
from tests.e2e.joint import JointStudy, answer_until, finish, joint_study, slowly
from tests.fakes.openai_server import Reply

pytestmark = pytest.mark.slow

N = 600
CONCURRENCY = 4
LEASE = ("--lease", "2s")


@pytest.fixture
def own_server() -> Iterator[PostgreSQL]:
    """A PostgreSQL of the test's own, which it may stop."""
    with start_server() as server:
        yield server


def check_books(study: JointStudy, lost_workers: int) -> None:
    """Every item is answered once, and what was paid again was under way on workers that were lost."""
    books, calls = study.read_books(), len(study.server.prompts)
    assert books.answers == {"ok": N}
    assert (books.left, books.open) == (0, 0)
    assert study.count_repeats() <= books.lost <= CONCURRENCY * lost_workers
    assert calls <= books.requests <= calls + books.lost


def test_a_worker_that_stands_still_is_replaced_and_its_answers_are_late(
    own_server: PostgreSQL, tmp_path: Path
) -> None:
    endpoint, go = answer_until(100)
    with joint_study(tmp_path, own_server.url, N, endpoint) as study:
        first, second = study.run(*LEASE), study.run(*LEASE)
        study.wait_for_calls(100 + 2 * CONCURRENCY)  # both have all under way that they may
        first.send_signal(signal.SIGSTOP)
        go.set()
        wait_until_lost(study)
        first.send_signal(signal.SIGCONT)
        said, _ = finish(first, second)
        assert "begins anew" in said
        check_books(study, 1)
        books = study.read_books()
        assert books.late == books.lost == CONCURRENCY
        assert f"{books.late} answer" in said


def test_a_worker_that_stands_still_in_a_transaction_holds_nobody_up(
    own_server: PostgreSQL, tmp_path: Path
) -> None:
    with joint_study(tmp_path, own_server.url, N, slowly) as study:
        first, second = study.run(*LEASE), study.run(*LEASE)
        study.wait_for_workers(2)
        study.wait_for_calls(50)
        stop_in_transaction(first, own_server.url)
        finish(second)
        first.send_signal(signal.SIGCONT)
        [said] = finish(first)
        check_books(study, 1)
    assert "begins anew" in said


def stop_in_transaction(worker: subprocess.Popen[str], url: str) -> None:
    """Stop a process while the server waits for it in a transaction that wrote, in a batch of rows or not."""
    idle = sa.text(
        "SELECT pid, state_change FROM pg_stat_activity"
        " WHERE wait_event = 'ClientRead' AND backend_xid IS NOT NULL"
    )
    pause = threading.Event()
    with connect_to_server(url) as connection:
        for _ in range(2_000):
            worker.send_signal(signal.SIGSTOP)
            found = set(connection.execute(idle).tuples())
            if found:
                pause.wait(0.2)  # what lives goes on meanwhile
                if found & set(connection.execute(idle).tuples()):
                    return
            worker.send_signal(signal.SIGCONT)
            pause.wait(0.005)
    raise AssertionError("never in a transaction")


def wait_until_lost(study: JointStudy) -> None:
    """Wait until the others have noticed that a worker is gone."""
    pause = threading.Event()
    for _ in range(600):
        if study.read_books().lost:
            return
        pause.wait(0.1)
    raise AssertionError("nobody was taken for lost")


def test_workers_wait_for_a_database_that_restarts(own_server: PostgreSQL, tmp_path: Path) -> None:
    with joint_study(tmp_path, own_server.url, N, slowly) as study:
        workers = [study.run(), study.run()]
        study.wait_for_workers(2)
        for calls in (100, 250, 400):
            study.wait_for_calls(calls)
            own_server.stop()
            own_server.start()
        assert all("the database is back" in text for text in finish(*workers))
        assert study.count_repeats() == 0
        check_books(study, 0)
        assert study.read_books().requests == N


def test_ten_kills_at_random_moments(own_server: PostgreSQL, tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    moments = sorted(rng.choice(np.arange(20, 560), size=10, replace=False).tolist())
    with joint_study(tmp_path, own_server.url, N, slowly) as study:
        alive = [study.run(*LEASE), study.run(*LEASE)]
        for moment in moments:
            study.wait_for_calls(moment)
            victim = alive.pop(int(rng.integers(2)))
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            alive.append(study.join() if rng.integers(2) else study.run(*LEASE))
        finish(*alive)
        check_books(study, 10)


class Bucket:
    """An endpoint's own limit: so many calls a second, all others are refused."""

    def __init__(self, rate: float) -> None:
        self.refused, self._rate = 0, rate
        self._room, self._since, self._lock = 1.0, time.monotonic(), threading.Lock()

    def takes(self) -> bool:
        with self._lock:
            now = time.monotonic()
            self._room = min(5.0, self._room + (now - self._since) * self._rate)
            self._since = now
            takes = self._room >= 1
            self._room -= takes
            self.refused += not takes
        return takes


def test_two_workers_at_a_limit_that_nobody_told_them(own_server: PostgreSQL, tmp_path: Path) -> None:
    bucket, go = Bucket(rate=60), threading.Event()
    n = 3 * N  # half a minute

    def answer(prompt: str, _: int) -> Reply:
        go.wait(60)
        return Reply("green") if bucket.takes() else Reply(status=429)

    with joint_study(tmp_path, own_server.url, n, answer) as study:
        workers = study.run("--json"), study.run("--json")
        study.wait_for_workers(2)
        go.set()
        said = finish(*workers)
        assert study.read_books().answers == {"ok": n}
    asked = [int(re.findall(r'"asked_now": (\d+)', text)[0]) for text in said]
    assert min(asked) > n / 100  # who learns of it first may keep most, but neither starves
    assert bucket.refused < n / 2
