"""A search on several workers: its archive is that of one process, and no call is paid for twice."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import sqlalchemy as sa

from benchmarks.servers import connect_to_server, empty_server, start_server
from oversight.agents.search.fitness import load_archive
from oversight.harness.store import Store
from tests.cli.search_study import answer, lay_out
from tests.e2e.joint import count_helping, finish
from tests.e2e.test_kill import command
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

pytestmark = pytest.mark.slow

CONCURRENCY = 4
_CALLS = """
select split_part(error, ':', 1), count(*), sum(input_tokens + output_tokens) from call group by 1
"""
_LAST_CALLS = 5 * 11
"""Of the confirmation and the test: the finalists are three, and two are tested, on 11 items each."""


@dataclass
class JointSearch:
    """A study with a search, its endpoint, and the processes that were started on it."""

    folder: Path
    url: str
    server: FakeOpenAI
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    go: threading.Event = field(default_factory=threading.Event)

    def run(self, *words: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(command(*words), cwd=self.folder, stdout=pipe, stderr=pipe, text=True)
        self.started.append(process)
        return process

    def start(self, *words: str) -> subprocess.Popen[str]:
        return self.run("search", "start", "--json", *words)

    def join(self) -> subprocess.Popen[str]:
        return self.run("worker", "--join", self.url, "--stay", "--json")

    def wait_for_calls(self, number: int) -> None:
        deadline, quiet = time.monotonic() + 60, threading.Event()
        while len(self.server.prompts) < number:
            assert time.monotonic() < deadline, f"{len(self.server.prompts)} calls"
            quiet.wait(0.005)

    def wait_for_help(self, number: int) -> None:
        """Wait until so many run a portion who do not lead."""
        self._wait(lambda: count_helping(self.url) >= number)

    def wait_for_lost(self) -> None:
        """Wait until somebody was taken for lost."""
        self._wait(lambda: "lost" in self._find_ends())

    def stop_at_work(self, helper: subprocess.Popen[str]) -> None:
        """Stop a process while it runs a portion."""

        def is_stopped() -> bool:
            helper.send_signal(signal.SIGSTOP)
            if count_helping(self.url):
                return True
            helper.send_signal(signal.SIGCONT)
            return False

        self._wait(is_stopped)

    def _find_ends(self) -> list[str | None]:
        """How each worker ended, if it did."""
        with Store(self.url) as store:
            works = store.program_work.find_works()
            return [w.ended for work in works for w in store.program_work.find_workers(work.joint.id)]

    @staticmethod
    def _wait(ready: Callable[[], bool]) -> None:
        deadline, quiet = time.monotonic() + 60, threading.Event()
        while not ready():
            assert time.monotonic() < deadline
            quiet.wait(0.05)

    def digest(self) -> str:
        with Store(self.url) as store:
            (search,) = store.searches.read_searches()
            return load_archive(store, search["id"]).digest()

    def read_calls(self) -> dict[str, tuple[int, int]]:
        """By what became of them ("" if all is well): how many calls, and their tokens."""
        with connect_to_server(self.url) as connection:
            rows = connection.execute(sa.text(_CALLS)).all()
            assert connection.execute(sa.text("select count(*) from call_claim")).scalar_one() == 0
            assert connection.execute(sa.text("select count(*) from program_portion")).scalar_one() == 0
        return {name: (calls, tokens) for name, calls, tokens in rows}


@contextmanager
def joint_search(folder: Path, url: str, held_from: float = math.inf) -> Iterator[JointSearch]:
    """A search; of its calls, those from a number on have no answer before they are let go."""

    def slowly(prompt: str, n: int) -> Reply:
        if n >= held_from:
            search.go.wait(60)
        reply = answer(prompt, n)
        return Reply(reply.text, stall=0.02)

    folder.mkdir(exist_ok=True)
    with fake_openai(slowly) as server:
        lay_out(folder, server.url, CONCURRENCY, store=url)
        search = JointSearch(folder, url, server)
        try:
            yield search
        finally:
            for process in search.started:
                if process.poll() is None:
                    process.kill()
                process.communicate()


@pytest.fixture
def database(postgresql: str) -> str:
    empty_server(postgresql)
    return postgresql


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int]:
    """The digest of the search by one process on a file, and its calls."""
    folder = tmp_path_factory.mktemp("alone")
    with joint_search(folder, "") as search:
        finish(search.start())
        search.url = f"sqlite:///{folder / 'study.db'}"
        return search.digest(), len(search.server.prompts)


def test_two_workers_make_one_worker_s_archive(alone: tuple[str, int], database: str, tmp_path: Path) -> None:
    # the finalists make six portions, and a worker runs two at once: while calls are held, each has some
    with joint_search(tmp_path, database, held_from=alone[1] - _LAST_CALLS) as search:
        helpers = [search.join(), search.join()]
        begun = search.start()
        search.wait_for_help(2)
        search.go.set()
        finish(begun)
        for helper in helpers:
            helper.send_signal(signal.SIGTERM)
        said = finish(*helpers)
        assert (search.digest(), len(search.server.prompts)) == alone
        assert search.read_calls() == {"": (alone[1], 10 * alone[1])}
    assert min(map(count_helped, said)) > 0


def count_helped(said: str) -> int:
    """Items that a worker answered, by what it printed."""
    found = json.loads(said[said.index("{") : said.rindex("\n}") + 2])
    return sum(work["asked_now"] for work in found["programs"].values())


def check_books(search: JointSearch, alone: tuple[str, int], most_lost: int) -> None:
    """The archive is the same, and what was paid again was under way on workers that were lost."""
    digest, calls = alone
    assert search.digest() == digest
    rows, asked = search.read_calls(), len(search.server.prompts)
    lost, late = rows.get("lost", (0, 0)), rows.get("late", (0, 0))
    assert rows[""] == (calls, 10 * calls)
    assert asked - calls <= lost[0] <= most_lost
    assert late[0] <= lost[0]
    billed = sum(sent + received for sent, received in search.server.bill)
    assert billed <= rows[""][1] + lost[1] + late[1]


def test_a_worker_that_is_killed_is_replaced(alone: tuple[str, int], database: str, tmp_path: Path) -> None:
    with joint_search(tmp_path, database, held_from=alone[1] - _LAST_CALLS) as search:
        helper = search.join()
        begun = search.start("--lease", "2s")
        search.wait_for_help(1)
        helper.send_signal(signal.SIGKILL)
        search.go.set()
        finish(begun)
        check_books(search, alone, CONCURRENCY)


def test_a_worker_that_stands_still_has_late_calls(
    alone: tuple[str, int], database: str, tmp_path: Path
) -> None:
    with joint_search(tmp_path, database, held_from=alone[1] - _LAST_CALLS) as search:
        helper = search.join()
        begun = search.start("--lease", "2s")
        search.stop_at_work(helper)
        search.go.set()
        search.wait_for_lost()
        helper.send_signal(signal.SIGCONT)
        finish(begun)
        helper.send_signal(signal.SIGTERM)
        [said] = finish(helper)
        check_books(search, alone, CONCURRENCY)
    assert "begins anew" in said


def test_who_leads_may_be_killed(alone: tuple[str, int], database: str, tmp_path: Path) -> None:
    with joint_search(tmp_path, database) as search:
        helper = search.join()
        for part in (4, 2):
            begun = search.start("--lease", "2s")
            search.wait_for_calls(alone[1] // part)
            begun.send_signal(signal.SIGKILL)
            begun.wait()
        finish(search.start("--lease", "2s"))
        helper.send_signal(signal.SIGTERM)
        finish(helper)
        check_books(search, alone, 2 * CONCURRENCY)


def test_one_cap_holds_for_all_and_may_be_raised(
    alone: tuple[str, int], database: str, tmp_path: Path
) -> None:
    cap = 5 * alone[1]
    with joint_search(tmp_path, database, held_from=alone[1] - _LAST_CALLS) as search:
        helper = search.join()
        [said] = finish(search.start("--tokens", str(cap)), code=0)
        assert "tokens is spent" in said
        assert sum(map(sum, search.server.bill)) <= cap
        raised = search.start()
        search.wait_for_help(1)
        search.go.set()
        finish(raised)
        helper.send_signal(signal.SIGTERM)
        finish(helper)
        check_books(search, alone, 0)


def test_all_wait_for_a_database_that_restarts(alone: tuple[str, int], tmp_path: Path) -> None:
    held_from = alone[1] - _LAST_CALLS
    with start_server() as server, joint_search(tmp_path, server.url, held_from) as search:
        helper = search.join()
        begun = search.start()
        search.wait_for_help(1)
        search.go.set()
        for calls in (held_from + 1, held_from + 20):
            search.wait_for_calls(calls)
            server.stop()
            server.start()
        finish(begun)
        helper.send_signal(signal.SIGTERM)
        finish(helper)
        check_books(search, alone, 0)


def test_one_process_leads(database: str, tmp_path: Path) -> None:
    with joint_search(tmp_path, database, held_from=0) as search:
        begun = search.start()
        search.wait_for_calls(1)
        [said] = finish(search.start(), code=1)
        search.go.set()
        assert f"process {begun.pid} on" in said
        assert "oversight worker --join" in said
        finish(begun)
