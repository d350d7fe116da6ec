"""`oversight doctor` names the one fault of a Label Studio server and how to repair it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from oversight.protocols.collect.label_studio.server.own_server import LabelStudioServer
from tests.e2e.conftest import PASSWORD, Bench, Person, sign_up
from tests.fakes.faulty_proxy import Fault, faulty_proxy
from tests.fakes.openai_server import Reply, fake_openai

pytestmark = pytest.mark.label_studio


@pytest.fixture
def ask(
    label_studio: LabelStudioServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    oversight: Callable[..., Any],
) -> Callable[..., dict[str, tuple[str, str]]]:
    """Run the doctor with this address and token; what it finds of Label Studio."""
    monkeypatch.chdir(tmp_path)

    def call(url: str, token: str, code: int) -> dict[str, tuple[str, str]]:
        monkeypatch.setenv("LABEL_STUDIO_URL", url)
        monkeypatch.setenv("LABEL_STUDIO_API_KEY", token)
        found = oversight("doctor", code=code)["findings"]
        assert token not in json.dumps(found)
        return {f["what"]: (f["state"], f["detail"]) for f in found if f["what"].startswith("Label Studio")}

    return call


@pytest.fixture
def personal(
    label_studio: LabelStudioServer, admin: Person, tmp_path: Path
) -> Iterator[tuple[str, httpx.Client]]:
    """A personal access token, made as its owner would in the browser, and the session it was made in."""
    email = f"pat-{tmp_path.name[-12:]}@example.org".lower()
    sign_up(label_studio, admin, email).http.close()
    with httpx.Client(base_url=label_studio.url, trust_env=False) as browser:
        form = browser.get("/user/login/").text
        token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)[0]
        fields = {"email": email, "password": PASSWORD, "csrfmiddlewaretoken": token}
        there = {"Referer": f"{label_studio.url}/user/login/"}
        assert browser.post("/user/login/", data=fields, headers=there).status_code == 302
        browser.headers.update({**there, "X-CSRFToken": browser.cookies["csrftoken"]})
        made = browser.post("/api/token/")
        assert made.status_code == 201, made.text
        yield made.json()["token"], browser


def test_both_kinds_of_tokens_pass_all_checks(
    ask: Callable[..., Any], label_studio: LabelStudioServer, personal: tuple[str, httpx.Client]
) -> None:
    for token, kind in ((label_studio.token, "legacy"), (personal[0], "personal")):
        found = ask(label_studio.url, token, 0)
        assert {state for state, _ in found.values()} == {"ok"}
        assert found["Label Studio token"][1].startswith(f"{kind} token of ")
        assert "1.23" in found["Label Studio version"][1]


def test_push_and_pull_with_a_personal_token(
    bench: Bench, personal: tuple[str, httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", personal[0])
    assert bench.call("label", "push")["sent"] == 30
    bench.people["ana"].answer(bench.tasks("ana")[0]["id"])
    assert bench.call("label", "pull")["new"] == 1


def test_doctor_names_the_fault_of_a_token(
    ask: Callable[..., Any],
    label_studio: LabelStudioServer,
    admin: Person,
    personal: tuple[str, httpx.Client],
) -> None:
    token, browser = personal
    access = browser.post("/api/token/refresh/", json={"refresh": token}).json()["access"]
    assert "expires after five minutes" in ask(label_studio.url, access, 1)["Label Studio"][1]
    assert "does not know this token; copy it again" in ask(label_studio.url, "0" * 40, 1)["Label Studio"][1]
    browser.post("/api/token/blacklist/", json={"refresh": token}).raise_for_status()
    assert "revoked" in ask(label_studio.url, token, 1)["Label Studio"][1]
    admin.do("POST", "/api/jwt/settings", {"legacy_api_tokens_enabled": False, "api_tokens_enabled": True})
    try:
        off = ask(label_studio.url, label_studio.token, 1)["Label Studio"][1]
        assert "which this server does not accept; make a new one under" in off
    finally:
        _switch_legacy_tokens_on(label_studio)
    assert ask(label_studio.url, label_studio.token, 0)["Label Studio token"][0] == "ok"


def test_doctor_names_the_fault_of_an_address(
    ask: Callable[..., Any], label_studio: LabelStudioServer
) -> None:
    refused = ask("http://127.0.0.1:9", "sekret", 1)["Label Studio address"]
    assert refused[0] == "wrong"
    assert "cannot be reached" in refused[1]
    with fake_openai(lambda prompt, n: Reply("x")) as other:
        assert "is not Label Studio" in ask(other.url, "sekret", 1)["Label Studio"][1]
    too_long = ask(f"{label_studio.url}/projects", label_studio.token, 1)
    assert "without /api or /projects" in too_long["Label Studio"][1]


def test_missing_rights_and_other_versions_are_reported(
    ask: Callable[..., Any], label_studio: LabelStudioServer
) -> None:
    with faulty_proxy(label_studio.url) as proxy:
        proxy.fault = lambda method, path: Fault(status=403) if path.startswith("/api/users") else None
        found = ask(proxy.url, label_studio.token, 1)
        assert found["Label Studio token"][0] == "ok"
        assert "not allowed to list users: use the token of an owner" in found["Label Studio"][1]
        old = Fault(body=lambda _: b'{"release": "1.9.2"}')
        proxy.fault = lambda method, path: old if path == "/api/version" else None
        found = ask(proxy.url, label_studio.token, 0)
        assert found["Label Studio version"] == ("missing", "1.9.2; tested with 1.23.2 only")


def _switch_legacy_tokens_on(server: LabelStudioServer) -> None:
    """In the browser, as no token is left to do it with."""
    with httpx.Client(base_url=server.url, trust_env=False) as browser:
        form = browser.get("/user/login/").text
        token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)[0]
        fields = {"email": server.admin, "password": server.password, "csrfmiddlewaretoken": token}
        there = {"Referer": f"{server.url}/user/login/"}
        assert browser.post("/user/login/", data=fields, headers=there).status_code == 302
        settings = {"legacy_api_tokens_enabled": True, "api_tokens_enabled": True}
        there["X-CSRFToken"] = browser.cookies["csrftoken"]
        browser.post("/api/jwt/settings", json=settings, headers=there).raise_for_status()
