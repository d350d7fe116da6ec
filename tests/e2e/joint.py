"""A study on a server that several processes work on, an endpoint that counts, and what the books say."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from benchmarks.servers import connect_to_server
from oversight.harness.store import Store
from tests.e2e.test_kill import command, lay_out
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

_HELPING = """
select count(distinct p.worker) from program_portion p join program_work w on w.id = p.work_id
where p.worker not in ('', w.leader) and p.found is null
"""
Held = tuple[Callable[[str, int], Reply], threading.Event]
PRICES = "[models.m]\ninput = 10\noutput = 10\n"


@dataclass
class JointStudy:
    """A study's folder, its database, its endpoint, and the processes that were started on it."""

    folder: Path
    url: str
    server: FakeOpenAI
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def run(self, *words: str, verb: str = "run") -> subprocess.Popen[str]:
        """Start a process."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command(verb, *words), cwd=self.folder, stdout=pipe, stderr=pipe, text=True, env={**os.environ}
        )
        self.started.append(process)
        return process

    def join(self, *words: str) -> subprocess.Popen[str]:
        """Start a worker that knows the database alone."""
        return self.run("--join", self.url, *words, verb="worker")

    def wait_for_calls(self, number: int) -> None:
        """Wait until the endpoint has had so many calls."""
        deadline, quiet = time.monotonic() + 60, threading.Event()
        while len(self.server.prompts) < number:
            assert time.monotonic() < deadline, f"{len(self.server.prompts)} calls"
            quiet.wait(0.005)

    def wait_for_workers(self, number: int) -> None:
        """Wait until so many processes work on what was begun."""
        deadline, quiet, alive = time.monotonic() + 60, threading.Event(), 0
        with Store(self.url) as store:
            while alive < number:
                assert time.monotonic() < deadline, f"{alive} workers"
                quiet.wait(0.05)
                alive = sum(
                    len(store.joint_runs.find_alive(joint.id)) for joint in store.joint_runs.find_open()
                )

    def wait_for_help(self) -> None:
        """Wait until somebody runs a portion of a program's items who does not lead."""
        self.wait_for_calls(1)  # before which there may be no table
        deadline, quiet = time.monotonic() + 60, threading.Event()
        while not count_helping(self.url):
            assert time.monotonic() < deadline
            quiet.wait(0.05)

    def read_books(self) -> Books:
        """What stands in the database."""
        with Store(self.url) as store:
            [run] = store.runs.read_runs()
            usage = store.runs.sum_usage(run["id"])
            predictions = store.runs.read_predictions(run["id"])
            return Books(
                answers=Counter(p.status.value for p in predictions),
                reasons=Counter(p.kind for p in predictions if p.reason),
                requests=sum(part.requests for part in usage),
                tokens=sum(part.input_tokens + part.output_tokens for part in usage),
                lost=store.reservations.read_charge(run["id"]).answers,
                late=store.joint_answers.count_late(run["id"]),
                left=store.count_rows()["prediction"] - len(predictions),
                open=len(store.joint_runs.find_open()),
            )

    def count_repeats(self) -> int:
        """Calls beyond the first about each item."""
        asked = Counter(re.findall(r"number (\d+)\.", prompt)[0] for prompt in self.server.prompts)
        return sum(asked.values()) - len(asked)


@dataclass(frozen=True)
class Books:
    """Answers by status and reason; requests and tokens; answers lost and late; joint runs that are open."""

    answers: Counter[str]
    reasons: Counter[str]
    requests: int
    tokens: int
    lost: int
    late: int
    left: int
    open: int


@contextmanager
def joint_study(
    folder: Path,
    url: str,
    n: int,
    answer: Callable[[str, int], Reply],
    settings: str = "max_tokens = 20",
) -> Iterator[JointStudy]:
    """Lay a study out; processes that still run are killed at the end."""
    with fake_openai(answer) as server, ExitStack() as stack:
        lay_out(folder, n, server.url)
        file = folder / "study.toml"
        text = file.read_text().replace('name = "t"', f'name = "t"\nstore = "{url}"')
        file.write_text(f"{text}{settings}\n")
        (folder / "prices.toml").write_text(PRICES)
        study = JointStudy(folder, url, server)
        stack.callback(_end, study)
        yield study


def _end(study: JointStudy) -> None:
    for process in study.started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def count_helping(url: str) -> int:
    """How many run a portion of a program's items who do not lead."""
    with connect_to_server(url) as connection:
        found: int = connection.execute(sa.text(_HELPING)).scalar_one()
    return found


def slowly(prompt: str, n: int) -> Reply:
    return Reply("green", stall=0.05)


def answer_until(after: int, reply: Callable[[str, int], Reply] = slowly) -> Held:
    """An endpoint that answers so many calls at once, and the others when the event is set."""
    go = threading.Event()

    def answer(prompt: str, n: int) -> Reply:
        if n >= after:
            go.wait(60)
        return reply(prompt, n)

    return answer, go


def finish(*processes: subprocess.Popen[str], code: int = 0) -> list[str]:
    """Wait for processes and return what each said."""
    said = []
    for process in processes:
        out, err = process.communicate(timeout=240)
        assert process.returncode == code, err + out
        said.append(out + err)
    return said
