"""A small study with everything a page shows, and the real server on it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from oversight.harness.config import ModelSection, Study, read_study
from oversight.harness.llm import make_spec
from oversight.harness.store import Store
from oversight.harness.types import Answer, Item, Prediction, PredictionStatus, Question, Verdict
from oversight.protocols.routing import Partitioned, one_expert_per_class

CLASSES = ("red", "green", "blue", "black")
N = 80
SETTINGS = """\
[study]
name = "Colours"
seed = 3
{store}
[items]
file = "items.csv"
classes = ["red", "green", "blue", "black"]
meta = ["level"]
"""


@dataclass(frozen=True)
class Served:
    """A server that runs, its address, and what a browser sends after its first visit.

    `errors` has what it told on the terminal, once it has ended.
    """

    url: str
    process: subprocess.Popen[str]
    cookie: str = ""
    errors: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    @property
    def token(self) -> str:
        return self.url.rpartition("=")[2]

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=({"Cookie": self.cookie} if self.cookie else {}) | named)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response, body

    def read(self, part: str, /, **params: str | int) -> dict[str, object]:
        response, body = self.ask(f"/api/{part}?{urlencode(params)}")
        assert response.status == 200, body
        found: dict[str, object] = json.loads(body)
        return found


@contextmanager
def serve(folder: Path, port: int = 0, *words: str) -> Iterator[Served]:
    """The real command, ended by SIGTERM, which is no failure."""
    command = [
        sys.executable,
        "-m",
        "oversight.harness.cli.main",
        "view",
        "--no-browser",
        "--port",
        str(port),
        "--json",
    ]
    process = subprocess.Popen(
        [*command, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    told = list[str]()
    try:
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        served = Served(json.loads(line)["url"], process)
        response, _ = served.ask("/session", "POST", Authorization=f"Bearer {served.token}")
        cookie = (response.getheader("Set-Cookie") or "").partition(";")[0]
        yield Served(served.url, process, cookie, told)
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
        told.append(errors)
    assert process.returncode == 0, errors


def fill(study: Study, texts: Callable[[int], str] = "text {}".format, answered: int = N - 10) -> None:
    """Items, one question each, most of them answered, and the predictions of two models."""
    items = [
        Item(f"i{j}", texts(j), CLASSES, (0, 1, 2, 3), {"level": ("easy", "hard")[j % 2]}) for j in range(N)
    ]
    with Store(study.store_url) as store:
        store.content.add_items(items)
        store.content.add_questions(Partitioned(one_expert_per_class(CLASSES), seed=1).route(items))
        asked = store.content.read_questions()[:answered]
        store.content.add_answers(Answer(q, q.expert, verdict_on(q), "test", "seen") for q in asked)
        for name, wrong in (("good", 10), ("bad", 3)):
            spec = make_spec(name, ModelSection(model=name), "$text", None)
            store.runs.add_run(spec)
            store.runs.store_predictions([(spec.id, predict(j, wrong)) for j in range(N)])


def verdict_on(question: Question) -> Verdict:
    number = int(question.item_id[1:])
    if number % 17 == 3:
        return Verdict.UNSURE
    return Verdict.YES if question.option == number % 4 else Verdict.NO


def predict(j: int, wrong: int) -> Prediction:
    if j % 20 == 7:
        return Prediction(f"i{j}", None, PredictionStatus.UNREADABLE, "several", raw="red or blue")
    if j % 40 == 9:
        return Prediction(f"i{j}", None, PredictionStatus.FAILED, "HTTP 500: oops")
    option = (j % 4 + (j % wrong == 0)) % 4
    return Prediction(f"i{j}", option, raw=f"It is {CLASSES[option]}.", input_tokens=9, output_tokens=4)


def lay_out(folder: Path, store: str = "") -> Study:
    (folder / "study.toml").write_text(SETTINGS.format(store=store and f'store = "{store}"'))
    return read_study(folder / "study.toml")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study's folder; tests of a module share it, and none changes it."""
    found = tmp_path_factory.mktemp("study")
    fill(lay_out(found))
    return found


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    """The server on that study."""
    with serve(folder) as running:
        yield running
