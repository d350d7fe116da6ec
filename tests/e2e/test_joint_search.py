"""A search on several workers: its archive is that of one process, and no call is paid for twice."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import sqlalchemy as sa

from agents.search.fitness import load_archive
from harness.store import Store
from tests.cli.search_study import answer, lay_out
from tests.conftest import empty_server
from tests.e2e.joint import finish
from tests.e2e.test_kill import command
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

CONCURRENCY = 4
_CALLS = """
select split_part(error, ':', 1), count(*), sum(input_tokens + output_tokens) from call group by 1
"""


@dataclass
class JointSearch:
    """A study with a search, its endpoint, and the processes that were started on it."""

    folder: Path
    url: str
    server: FakeOpenAI
    started: list[subprocess.Popen[str]] = field(default_factory=list)

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

    def digest(self) -> str:
        with Store(self.url) as store:
            (search,) = store.searches.read_searches()
            return load_archive(store, search["id"]).digest()

    def read_calls(self) -> dict[str, tuple[int, int]]:
        """By what became of them ("" if all is well): how many calls, and their tokens."""
        engine = sa.create_engine(self.url.replace("postgresql:", "postgresql+psycopg:"))
        with engine.connect() as connection:
            rows = connection.execute(sa.text(_CALLS)).all()
            assert connection.execute(sa.text("select count(*) from call_claim")).scalar_one() == 0
            assert connection.execute(sa.text("select count(*) from program_portion")).scalar_one() == 0
        engine.dispose()
        return {name: (calls, tokens) for name, calls, tokens in rows}


@contextmanager
def joint_search(folder: Path, url: str) -> Iterator[JointSearch]:
    def slowly(prompt: str, n: int) -> Reply:
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
    with joint_search(tmp_path, database) as search:
        helpers = [search.join(), search.join()]
        begun = search.start()
        finish(begun)
        for helper in helpers:
            helper.send_signal(signal.SIGTERM)
        said = finish(*helpers)
        assert (search.digest(), len(search.server.prompts)) == alone
        assert search.read_calls() == {"": (alone[1], 10 * alone[1])}
    helped = [
        sum(
            work["asked_now"]
            for work in json.loads(text[text.index("{") : text.rindex("\n}") + 2])["programs"].values()
        )
        for text in said
    ]
    assert min(helped) > 0
