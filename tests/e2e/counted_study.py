"""A study whose endpoint counts its calls, the commands that were started on it, and what its books say."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from oversight.harness.store import Store
from tests.e2e.test_kill import command, lay_out
from tests.fakes.openai_server import FakeOpenAI, Reply, fake_openai

Held = tuple[Callable[[str, int], Reply], threading.Event]
PRICES = "[models.m]\ninput = 10\noutput = 10\n"


@dataclass
class CountedStudy:
    """A study's folder, its database, its endpoint, and the processes that were started on it."""

    folder: Path
    url: str
    server: FakeOpenAI
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def run(self, *words: str, verb: str = "run") -> subprocess.Popen[str]:
        """Start a command."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command(*verb.split(), *words),
            cwd=self.folder,
            stdout=pipe,
            stderr=pipe,
            text=True,
            env={**os.environ},
        )
        self.started.append(process)
        return process

    def wait_for_calls(self, number: int) -> None:
        """Wait until the endpoint has received `number` calls."""
        deadline, quiet = time.monotonic() + 120, threading.Event()
        while len(self.server.prompts) < number:
            assert time.monotonic() < deadline, f"{len(self.server.prompts)} calls"
            assert self.started[-1].poll() is None, self.started[-1].communicate()
            quiet.wait(0.005)

    def read_books(self) -> Books:
        """Counts of the only run, read from the database."""
        with Store(self.url) as store:
            [run] = store.runs.read_runs()
            predictions = store.runs.read_predictions(run["id"])
            return Books(
                answers=Counter(p.status.value for p in predictions),
                reasons=Counter(p.kind for p in predictions if p.reason),
                requests=sum(part.requests for part in store.runs.sum_usage(run["id"])),
                unfinished=store.calls.read_charge(run["id"]).answers,
            )

    def count_repeats(self) -> int:
        """Calls beyond the first about each item."""
        asked = Counter(re.findall(r"number (\d+)\.", prompt)[0] for prompt in self.server.prompts)
        return sum(asked.values()) - len(asked)

    def end(self) -> None:
        """Kill the commands that still run."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()


@dataclass(frozen=True)
class Books:
    """Answers by status and by reason, requests, and answers that a killed command had under way."""

    answers: Counter[str]
    reasons: Counter[str]
    requests: int
    unfinished: int


@contextmanager
def counted_study(
    folder: Path, n: int, answer: Callable[[str, int], Reply], url: str = ""
) -> Iterator[CountedStudy]:
    """Lay a study out, in a file or in the database at `url`, and kill its commands at the end."""
    with fake_openai(answer) as server:
        lay_out(folder, n, server.url)
        file = folder / "study.toml"
        text = file.read_text()
        if url:
            text = text.replace('name = "t"', f'name = "t"\nstore = "{url}"')
        file.write_text(f"{text}max_tokens = 20\n")
        (folder / "prices.toml").write_text(PRICES)
        study = CountedStudy(folder, url or f"sqlite:///{folder / 'study.db'}", server)
        try:
            yield study
        finally:
            study.end()


def slowly(prompt: str, n: int) -> Reply:
    return Reply("green", stall=0.05)


def answer_until(after: int, reply: Callable[[str, int], Reply] = slowly) -> Held:
    """An endpoint that answers the first `after` calls immediately and the others when the event is set."""
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
