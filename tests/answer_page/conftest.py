"""Small studies of both kinds, and the real server of the answer page on them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from oversight.harness.config import Study, read_study
from oversight.harness.store import Store
from oversight.harness.types import Assignment, Item, Question

ROOT = Path(__file__).parents[2]
OPTIONS = ("heart", "brain", "skin")
N = 12
SETTINGS = """\
[study]
name = "Notes <b>of</b> a ward"
seed = 3
{store}
[items]
file = "items.csv"
classes = ["heart", "brain", "skin"]
{experts}
[label_studio]
instructions = "Read the note.\\nWould you treat <i>this</i> patient?"

[label_studio.descriptions]
heart = "Heart & vessels"
"""
PANEL = '[experts]\nprotocol = "panel-random"\nannotators_per_item = 2\n'


def lay_out(folder: Path, *, panel: bool = False, store: str = "") -> Study:
    """A study's files, in a folder."""
    settings = SETTINGS.format(experts=PANEL if panel else "", store=store and f'store = "{store}"')
    (folder / "study.toml").write_text(settings, encoding="utf-8")
    classes = ("*", "*", "*") if panel else OPTIONS
    (folder / "experts.toml").write_text(
        "".join(
            f'[[expert]]\nname = "{n}"\nclasses = ["{c}"]\n'
            for n, c in zip(("ana", "bea", "cleo"), classes, strict=True)
        ),
        encoding="utf-8",
    )
    return read_study(folder / "study.toml")


def fill(study: Study, text: str = "note {}", n: int = N) -> None:
    """Items, and what each person is asked: ana about hearts, bea about brains; of a panel all about all."""
    items = [
        Item(f"i{j}", text.replace("{}", str(j)), OPTIONS, (2, 0, 1), {"truth": "SEALED"}) for j in range(n)
    ]
    with Store(study.store_url) as store:
        store.content.add_items(items)
        if study.experts.is_panel:
            store.panel.add_assignments(
                [
                    Assignment(f"a{j:03}{name}", f"i{j}", name, 0.5, "panel-random", 3)
                    for j in range(n)
                    for name in ("ana", "bea")
                ]
            )
        else:
            store.content.add_questions(
                Question(f"q{j:03}", f"i{j}", j % 2, ("ana", "bea")[j % 2], 3, "partitioned", 0.5, 3)
                for j in range(n)
            )


def draw(folder: Path, *, panel: bool = False, text: str = "note {}", n: int = N) -> Study:
    """A study that is drawn."""
    folder.mkdir(exist_ok=True)
    study = lay_out(folder, panel=panel)
    fill(study, text, n)
    return study


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "oversight.harness.cli.main", *words]


def call(folder: Path, *words: str) -> Any:
    """Run a command and return the JSON that it prints."""
    done = subprocess.run(
        command(*words, "--json"), cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@dataclass
class Desk:
    """A server that runs, with the address and the codes that it printed."""

    folder: Path
    port: int
    url: str
    codes: dict[str, str]
    process: subprocess.Popen[str]
    errors: list[str] = field(default_factory=list)

    def ask(
        self, path: str, method: str = "GET", body: object = None, **headers: str
    ) -> tuple[HTTPResponse, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if sent is not None:
            named.setdefault("Content-Type", "application/json")
        connection.request(method, path, sent, named)
        response = connection.getresponse()
        read = response.read()
        connection.close()
        is_json = response.getheader("Content-Type", "").startswith("application/json")
        return response, json.loads(read) if is_json and read else read

    def sign_in(self, code: str, **headers: str) -> tuple[HTTPResponse, Any]:
        return self.ask("/session", "POST", Authorization=f"Bearer {code}", **headers)

    def begin(self, expert: str) -> dict[str, str]:
        """Sign in with an expert's code; returns the headers that the browser then sends."""
        response, told = self.sign_in(self.codes[expert])
        assert response.status == 200, told
        cookie = (response.getheader("Set-Cookie") or "").partition(";")[0]
        return {"Cookie": cookie, "X_Link": told["link"]}

    def state(self, own: dict[str, str]) -> Any:
        response, told = self.ask("/api/state", **own)
        assert response.status == 200, told
        return told

    def answer(
        self, own: dict[str, str], value: str = "yes", key: str = "", **others: Any
    ) -> tuple[int, Any]:
        """Answer the first open question, or another."""
        name = others.pop("id", None) or self.state(own)["questions"][0]["id"]
        body = {"key": key or os.urandom(16).hex(), "id": name, "value": value, **others}
        response, told = self.ask("/api/answers", "POST", body, **own)
        return response.status, told


@contextmanager
def serve(folder: Path, *words: str, port: int = 0) -> Iterator[Desk]:
    """The real command, ended by SIGTERM, which is no failure."""
    process = subprocess.Popen(
        command("label", "serve", "--json", "--port", str(port), *words),
        cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    told = list[str]()
    try:
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        found = json.loads(line)
        real = port or urlsplit(found["url"]).port or _port_in(found)
        codes = {made["expert"]: made["code"] for made in found["codes"]}
        yield Desk(folder, real, found["url"], codes, process, told)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
        told.append(errors)
    assert process.returncode in (0, -signal.SIGKILL), errors


def _port_in(found: dict[str, Any]) -> int:
    return int(found["port"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study's folder; tests of a module share it."""
    found = tmp_path_factory.mktemp("study")
    draw(found)
    return found


@pytest.fixture(scope="module")
def desk(folder: Path) -> Iterator[Desk]:
    """The server on that study."""
    with serve(folder) as running:
        yield running
