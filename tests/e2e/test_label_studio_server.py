"""The local server: one a name, found again, on its own port, and gone when it is stopped."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from oversight.harness import ConfigError
from oversight.harness.config import read_study
from oversight.harness.store import Store
from oversight.protocols.collect import (
    Campaign,
    find_server,
    invite,
    make_server_name,
    renew_password,
    start_server,
    stop_server,
)
from oversight.protocols.collect.label_studio.server.own_server import (
    LabelStudioServer,
    find_servers,
    reset_password,
)
from oversight.protocols.study_labels import route_questions
from tests.e2e.conftest import client

pytestmark = pytest.mark.label_studio


@pytest.mark.slow
def test_server_starts_stops_and_starts_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-secret-of-the-caller")
    assert find_server(folder=tmp_path / "none") is None
    assert not stop_server(folder=tmp_path / "none")
    first = start_server(folder=tmp_path)
    try:
        assert start_server(folder=tmp_path) == first == find_server(folder=tmp_path)
        environ = Path(f"/proc/{first.pid}/environ").read_bytes()
        assert b"a-secret-of-the-caller" not in environ
        assert b"COLLECT_ANALYTICS=false" in environ
        with pytest.raises(ConfigError, match=f"already runs on port {first.port}"):
            start_server(port=first.port + 1, folder=tmp_path)
        with client(first, first.token) as http:
            made = http.post("/api/projects/", json={"title": "kept"}).json()["id"]
            invited = http.get("/api/invite").json()["invite_url"]
            assert http.get(invited).status_code == 200
        assert invited.rpartition("=")[2].encode() not in (tmp_path / "server.log").read_bytes()
        others = [path for path in tmp_path.rglob("*") if path.lstat().st_mode & 0o077 and path != tmp_path]
        assert not others  # these files contain all experts' tokens
        assert not _listens_elsewhere(first.port)
    finally:
        assert stop_server(folder=tmp_path)
    assert find_server(folder=tmp_path) is None
    with pytest.raises(httpx.ConnectError):
        httpx.get(first.url, trust_env=False)
    with socket.socket() as other, contextlib.ExitStack() as stack:
        other.bind(("127.0.0.1", first.port))
        other.listen()
        with pytest.raises(ConfigError, match=f"port {first.port} is taken"):
            start_server(port=first.port, folder=tmp_path)
        again = start_server(folder=tmp_path)  # without a given port, the server takes a free one
        stack.callback(stop_server, folder=tmp_path)
        assert again.port != first.port
        assert again.token == first.token
        with client(again, again.token) as http:
            assert http.get(f"/api/projects/{made}").json()["title"] == "kept"


@pytest.mark.slow
def test_server_behind_a_tls_proxy_gives_its_public_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others reach it by https; this machine makes accounts at the server, and tells the public address."""
    public = "https://labels.example.org"
    for wrong in ("http://labels.example.org", "labels.example.org", "https://x.org/labels"):
        with pytest.raises(ConfigError, match="must be https"):
            start_server(folder=tmp_path / "none", public_url=wrong)
    monkeypatch.setenv("OVERSIGHT_DATA", str(tmp_path))
    for variable in ("LABEL_STUDIO_URL", "LABEL_STUDIO_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    running = start_server(public_url=public)
    try:
        (tmp_path / "study.toml").write_text(
            '[study]\nname = "public"\n[items]\nfile = "items.csv"\nclasses = ["a", "b"]\n'
        )
        (tmp_path / "items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(8)))
        roster = "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in "ab")
        (tmp_path / "experts.toml").write_text(roster)
        study = read_study(tmp_path / "study.toml")
        route_questions(study)
        with Store(study.store_url) as store, Campaign(study, store) as desk:
            pushed = desk.push()
            assert pushed["a"].url.startswith(f"{public}/projects/")
            first, second = invite(desk)
            assert first.exists
            assert second.password
            with _commands_seen() as seen:
                renewed = renew_password(desk, "a")
        assert renewed.password not in ("", first.password)
        assert any("reset_password" in command for command in seen)
        assert not any(renewed.password in command for command in seen)  # every user can list commands
        assert _logs_in(running, public, first.email, renewed.password)
        reset_password(running, first.email, "-begins-like-an-option")
        for password, works in (
            (first.password, False),
            (renewed.password, False),
            ("-begins-like-an-option", True),
        ):
            assert _logs_in(running, public, first.email, password) is works
    finally:
        stop_server()


@contextlib.contextmanager
def _commands_seen() -> Iterator[set[str]]:
    """The command lines of all processes of this machine meanwhile."""
    seen, over = set[str](), threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    seen.add(path.read_bytes().decode(errors="replace"))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        over.set()
        looking.join()


def _logs_in(server: LabelStudioServer, public: str, email: str, password: str) -> bool:
    """As a browser does through a proxy that speaks http to the server."""
    asked = {"Host": urlsplit(public).netloc, "X-Forwarded-Proto": "https", "Origin": public}
    with httpx.Client(base_url=server.url, headers=asked, trust_env=False) as proxy:
        form = proxy.get("/user/login/")
        token = form.text.partition('csrfmiddlewaretoken" value="')[2].partition('"')[0]
        cookies = "; ".join(f"{name}={value}" for name, value in form.cookies.items())
        fields = {"email": email, "password": password, "csrfmiddlewaretoken": token}
        headers = {"Cookie": cookies, "Referer": f"{public}/user/login/"}
        return proxy.post("/user/login/", data=fields, headers=headers).status_code == httpx.codes.FOUND


@pytest.mark.slow
def test_isolated_experts_share_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oversight: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    # this server is not called, because each expert has a separate one
    monkeypatch.setenv("LABEL_STUDIO_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "x")
    study = f"isolated-{os.getpid()}"
    Path("study.toml").write_text(
        f'[study]\nname = "{study}"\n[items]\nfile = "items.csv"\nclasses = ["a", "b"]\n'
        "[label_studio]\nisolated = true\n"
    )
    Path("items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}.\n" for j in range(8)))
    Path("experts.toml").write_text("".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in "ab"))
    oversight("label", "route")
    names = [make_server_name(study, expert) for expert in "ab"]
    missing = oversight("label", "push", code=2)["error"]
    assert "oversight server start label-studio" in missing
    try:
        servers = oversight("server", "start", "label-studio")["servers"]
        assert list(servers) == names
        invited = oversight("experts", "invite")["accounts"]
        pushed = oversight("label", "push")["experts"]
        for account, name in zip(invited, names, strict=True):
            assert pushed[account["expert"]]["url"].startswith(servers[name]["url"])
            running = find_server(name)
            assert running is not None
            with client(running, running.token) as http:
                users = {user["email"] for user in http.get("/api/users").json()}
                projects = http.get("/api/projects").json()["results"]
            assert users == {running.admin, account["email"]}
            assert [p["task_number"] for p in projects] == [pushed[account["expert"]]["sent"]]
        assert oversight("label", "pull")["answers"] == 0
        assert oversight("server", "status", "label-studio")["running"]
    finally:
        assert oversight("server", "stop", "label-studio")["stopped"] == names
        for name in names:
            shutil.rmtree(find_servers() / name)


def _listens_elsewhere(port: int) -> bool:
    """Whether the port answers on an address that other machines can reach."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends no packet, only selects the local address
        outside = probe.getsockname()[0]
    with socket.socket() as tried:
        return tried.connect_ex((outside, port)) == 0
