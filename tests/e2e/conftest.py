"""A real Label Studio server with real accounts, once for the whole run."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from oversight.harness.config import Study, read_study
from oversight.harness.store import Store
from oversight.protocols.collect import start_server, stop_server
from oversight.protocols.collect.label_studio.server.own_server import LabelStudioServer
from tests.fakes.faulty_proxy import Fault, FaultyProxy, faulty_proxy

CLASSES = ("red", "green", "blue")
EXPERTS = {"ana": "red", "bea": "green", "cem": "blue"}
PASSWORD = "correct-horse-7"


@dataclass(frozen=True)
class Person:
    """Somebody with an account, acting through the API as their browser would."""

    id: int
    email: str
    http: httpx.Client

    def answer(self, task: int, verdict: Any = "yes", **more: Any) -> Any:
        choices = verdict if isinstance(verdict, list) else [verdict]
        body = {"result": [region(choices)], "lead_time": 4.0, **more}
        return self.do("POST", f"/api/tasks/{task}/annotations/", body)

    def edit(self, annotation: int, verdict: str) -> Any:
        return self.do("PATCH", f"/api/annotations/{annotation}/", {"result": [region([verdict])]})

    def delete(self, annotation: int) -> None:
        self.do("DELETE", f"/api/annotations/{annotation}/")

    def do(self, method: str, path: str, body: Any = None) -> Any:
        reply = self.http.request(method, path, json=body)
        assert reply.status_code < 300, reply.text
        return reply.json() if reply.content else None


def region(choices: list[str], name: str = "verdict") -> dict[str, Any]:
    return {"from_name": name, "to_name": "item", "type": "choices", "value": {"choices": choices}}


@pytest.fixture(scope="session")
def label_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelStudioServer]:
    """The server; the first use on a machine installs it and makes its tables."""
    folder = tmp_path_factory.mktemp("label-studio")
    yield start_server(folder=folder)
    stop_server(folder=folder)


@pytest.fixture(scope="session")
def admin(label_studio: LabelStudioServer) -> Iterator[Person]:
    with client(label_studio, label_studio.token) as http:
        yield Person(http.get("/api/current-user/whoami").json()["id"], label_studio.admin, http)


@pytest.fixture(scope="session")
def people(label_studio: LabelStudioServer, admin: Person) -> Iterator[dict[str, Person]]:
    """The three experts, and eve, whom nobody asked."""
    made = {name: sign_up(label_studio, admin, f"{name}@example.org") for name in (*EXPERTS, "eve")}
    yield made
    for person in made.values():
        person.http.close()


def client(server: LabelStudioServer, token: str) -> httpx.Client:
    return httpx.Client(
        base_url=server.url, headers={"Authorization": f"Token {token}"}, timeout=60, trust_env=False
    )


def sign_up(server: LabelStudioServer, admin: Person, email: str) -> Person:
    """Make an account through the real form, as a person with the invitation link would."""
    link = admin.http.get("/api/invite").json()["invite_url"]
    with httpx.Client(base_url=server.url, timeout=60, trust_env=False) as browser:
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', browser.get(link).text)
        assert found is not None
        fields = {"email": email, "password": PASSWORD, "csrfmiddlewaretoken": found[1]}
        assert browser.post(link, data=fields, headers={"Referer": server.url + link}).status_code == 302
        me = browser.get("/api/current-user/whoami").json()
        token = browser.get("/api/current-user/token").json()["token"]
    return Person(me["id"], email, client(server, token))


@dataclass(frozen=True)
class Bench:
    """A study in a separate folder, pushed or not, with the command line to run in it."""

    folder: Path
    call: Callable[..., Any]
    people: dict[str, Person]
    admin: Person

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder / 'study.db'}"

    def tasks(self, expert: str) -> list[dict[str, Any]]:
        """An expert's tasks on the server, in the order in which the expert sees them."""
        project = self.project(expert)
        reply = self.admin.http.get(
            "/api/tasks/", params={"project": project, "fields": "all", "page_size": 1000}
        )
        return list(reply.json()["tasks"])

    def project(self, expert: str) -> int:
        with Store(self.url) as store:
            found = store.labelling.read_queues()[expert].project_id
        assert found is not None
        return found

    @property
    def study(self) -> Study:
        return read_study(self.folder / "study.toml")

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))


def lay_out(folder: Path, n: int, name: str, extra: str, classes: dict[str, str]) -> None:
    (folder / "study.toml").write_text(
        f"[study]\nname = {json.dumps(name)}\nseed = 3\n"
        f'[items]\nfile = "items.csv"\nclasses = {json.dumps(CLASSES)}\n{extra}'
        '[models.m]\nendpoint = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
    )
    (folder / "experts.toml").write_text(
        "".join(
            f'[[expert]]\nname = "{e}"\nclasses = ["{c}"]\nemail = "{e}@example.org"\n'
            for e, c in classes.items()
        )
    )
    (folder / "items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(n)))


@pytest.fixture
def make_bench(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    label_studio: LabelStudioServer,
    people: dict[str, Person],
    admin: Person,
    oversight: Callable[..., Any],
    request: pytest.FixtureRequest,
) -> Callable[..., Bench]:
    """Return a function that creates a study from an item count, further sections and experts' classes."""

    def make(n: int, extra: str = "", classes: dict[str, str] = EXPERTS) -> Bench:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("LABEL_STUDIO_URL", label_studio.url)
        monkeypatch.setenv("LABEL_STUDIO_API_KEY", label_studio.token)
        lay_out(tmp_path, n, request.node.name[:40], extra, classes)
        return Bench(tmp_path, oversight, people, admin)

    return make


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    """A study of 30 items with routed questions; nothing pushed yet."""
    made = make_bench(30)
    made.call("label", "route")
    return made


@pytest.fixture
def panel_bench(make_bench: Callable[..., Bench]) -> Bench:
    """A panel of three, two of whom rate each of 12 items; nothing pushed yet."""
    extra = '[experts]\nprotocol = "panel"\nannotators_per_item = 2\n'
    made = make_bench(12, extra, dict.fromkeys(EXPERTS, "*"))
    made.call("label", "route")
    return made


@pytest.fixture
def proxy(label_studio: LabelStudioServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    """The server behind something that fails on request."""
    with faulty_proxy(label_studio.url) as found:
        monkeypatch.setenv("LABEL_STUDIO_URL", found.url)
        yield found


def on(method: str, part: str, *faults: Fault) -> Callable[[str, str], Fault | None]:
    """Faults for the first requests that match, in this order; then none."""
    left = list(faults)

    def decide(seen: str, path: str) -> Fault | None:
        return left.pop(0) if left and seen == method and part in path else None

    return decide


def kill_at(bench: Bench, *words: str, proxy: FaultyProxy, method: str, part: str, forward: bool) -> None:
    """Run a command and kill it without warning when it waits for the answer to a request."""
    waits, killed = threading.Event(), threading.Event()

    def hold() -> None:
        waits.set()
        killed.wait(60)

    proxy.fault = on(method, part, Fault(hold=hold, forward=forward, drop=True))
    process = subprocess.Popen(
        [sys.executable, "-m", "oversight.harness.cli.main", *words],
        cwd=bench.folder,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "LABEL_STUDIO_URL": proxy.url},
    )
    assert waits.wait(60)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    killed.set()
    proxy.fault = lambda method, path: None
