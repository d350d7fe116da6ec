"""The answer page's server accepts requests only from the page itself and only with a valid code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oversight.harness.store import Store
from oversight.protocols.collect.answer_page.expert_codes import normalise_code
from tests.answer_page.conftest import Desk, call, draw, serve

API = ("/api/state", "/api/previous", "/api/answers")


def answers(desk: Desk) -> dict[str, str]:
    with Store(f"sqlite:///{desk.folder / 'study.db'}") as store:
        return {name: reply.value for name, reply in store.content.replies.read_replies().items()}


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example:{port}"},
        {"Host": "127.0.0.1.evil.example:{port}"},
        {"Host": "127.0.0.1:1"},
        {"Host": "192.168.0.1:{port}"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:{port}.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_foreign_names_and_pages_are_refused(desk: Desk, headers: dict[str, str]) -> None:
    own = desk.begin("ana")
    filled = {name: value.format(port=desk.port) for name, value in headers.items()}
    before = answers(desk)
    for path in API[:2]:
        response, body = desk.ask(path, **own, **filled)
        assert response.status == 403
        assert "note" not in json.dumps(body)
    assert desk.sign_in(desk.codes["ana"], **filled)[0].status == 403
    body = {"key": "0" * 32, "id": "q000", "value": "yes"}
    assert desk.ask("/api/answers", "POST", body, **own, **filled)[0].status == 403
    assert answers(desk) == before


def test_a_link_in_a_mail_leads_to_the_page(desk: Desk) -> None:
    assert desk.ask("/", **{"Sec-Fetch-Site": "cross-site"})[0].status == 200
    assert desk.ask("/script.js", **{"Sec-Fetch-Site": "cross-site"})[0].status == 403


def test_requests_without_a_session_receive_no_data(desk: Desk) -> None:
    ana, bea = desk.begin("ana"), desk.begin("bea")
    name, _, session = ana["Cookie"].partition("=")
    code = desk.codes["ana"]
    wrong: list[dict[str, str]] = [
        {},
        {"X_Link": ana["X_Link"]},
        {"Cookie": ana["Cookie"]},
        {"Cookie": ana["Cookie"], "X_Link": bea["X_Link"]},
        {"Cookie": ana["Cookie"], "X_Link": "0" * 12},
        {"Cookie": ana["Cookie"], "X_Link": "../../etc/pw"},
        {"Cookie": f"{name}=", "X_Link": ana["X_Link"]},
        {"Cookie": f"{name}={code}", "X_Link": ana["X_Link"]},
        {"Cookie": f"{name}={normalise_code(code)}", "X_Link": ana["X_Link"]},
        {"Cookie": f"{name}={session[:-1]}", "X_Link": ana["X_Link"]},
        {"Cookie": f"{name}={'é' * 64}".encode().decode("latin-1"), "X_Link": ana["X_Link"]},
        {"Cookie": ana["Cookie"].replace(ana["X_Link"], bea["X_Link"]), "X_Link": bea["X_Link"]},
    ]
    told = set()
    for headers in wrong:
        for path in API:
            method = "POST" if path == "/api/answers" else "GET"
            response, body = desk.ask(path, method, {} if method == "POST" else None, **headers)
            assert response.status == 403, headers
            told.add(json.dumps(body))
    assert len(told) == 1  # no hint why


def test_wrong_code_is_refused_and_guessing_is_slowed_down(tmp_path: Path) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        good, revoked = desk.codes["ana"], desk.codes["bea"]
        link_id = desk.begin("ana")["X_Link"]
        assert desk.sign_in(revoked)[0].status == 200
        call(tmp_path, "label", "codes", "bea", "--revoke")
        [expired] = call(tmp_path, "label", "codes", "bea", "--days", "1e-9")["codes"]
        guesses = (
            "", "x", good + "x", good[:-1], good[:-1] + "u", good[::-1], revoked, expired["code"], "0" * 20,
            link_id, f"{link_id}.{good}", f"ana: {good}", good.replace("-", "é").encode().decode("latin-1"),
            good + "A" * 5000,
        )  # fmt: skip
        told = set()
        for guess in guesses:
            response, body = desk.sign_in(guess)
            assert response.status == 403
            assert response.getheader("Set-Cookie") is None
            told.add(json.dumps(body))
        assert len(told) == 1
        assert desk.ask("/session", "POST", Authorization=f"Basic {good}")[0].status == 403
        for _ in range(30):
            response, _ = desk.sign_in("x")
        assert response.status == 429
        assert int(response.getheader("Retry-After") or 0) >= 1
        # X-Forwarded-For is ignored unless a proxy was configured
        response, _ = desk.sign_in(good, X_Forwarded_For="10.9.8.7")
        assert response.status == 429


def test_a_revoked_code_ends_open_pages_at_once(tmp_path: Path) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        own = desk.begin("ana")
        assert desk.answer(own)[0] == 200
        question = desk.state(own)["questions"][0]["id"]
        call(tmp_path, "label", "codes", "ana", "--revoke")
        assert desk.ask("/api/state", **own)[0].status == 403
        status, _ = desk.answer(own, id=question)
        assert status == 403
        assert len(answers(desk)) == 1


def test_cookies_and_headers_are_strict(desk: Desk) -> None:
    response, _ = desk.sign_in(desk.codes["ana"])
    cookie = response.getheader("Set-Cookie") or ""
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert normalise_code(desk.codes["ana"]) not in cookie.replace("-", "")
    for path in ("/", "/script.js", "/style.css", "/api/state", "/nowhere", "/session"):
        response, _ = desk.ask(path)
        policy = response.getheader("Content-Security-Policy") or ""
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert response.getheader("X-Content-Type-Options") == "nosniff"
        assert response.getheader("Cache-Control") == "no-store"
        assert response.getheader("Referrer-Policy") == "no-referrer"
        assert response.getheader("Access-Control-Allow-Origin") is None


def test_behind_a_proxy_with_tls_cookies_travel_by_tls_alone(tmp_path: Path) -> None:
    draw(tmp_path)
    with serve(tmp_path, "--public-url", "https://answers.example.org") as desk:
        code, at = desk.codes["ana"], "https://answers.example.org"
        assert desk.url == at
        for host in ("answers.example.org", f"127.0.0.1:{desk.port}"):
            response, _ = desk.sign_in(code, Host=host, Origin=at)
            assert response.status == 200
        cookie = response.getheader("Set-Cookie") or ""
        assert cookie.startswith("__Host-")
        assert "Secure" in cookie
        for host, origin in (("answers.example.org", "http://answers.example.org"), ("evil.example", at)):
            assert desk.sign_in(code, Host=host, Origin=origin)[0].status == 403
        for j in range(25):  # the proxy appends the client's address, which is different for each guess
            assert desk.sign_in("x", X_Forwarded_For=f"10.0.0.1, 10.1.0.{j}")[0].status == 403
    assert "unencrypted" not in desk.errors[0]


def test_server_beyond_the_loopback_warns(tmp_path: Path) -> None:
    draw(tmp_path)
    with serve(tmp_path, "--host", "0.0.0.0") as desk:  # noqa: S104  that is what is tested
        assert desk.ask("/", Host=f"192.168.7.7:{desk.port}")[0].status == 200
        assert desk.ask("/", Host=f"evil.example:{desk.port}")[0].status == 403
    assert "unencrypted" in desk.errors[0]
    assert "--public-url https://" in desk.errors[0]
