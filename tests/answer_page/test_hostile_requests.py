"""Hostile requests to the answer page's server store nothing, read nothing and change nothing."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from oversight.harness.store import Store
from tests.answer_page.conftest import Desk, N, draw, serve
from tests.answer_page.test_answer_attacks import API, answers

GOOD: dict[str, Any] = {"key": "0" * 32, "id": "q000", "value": "yes"}


def wrong(field: str, *values: object) -> list[object]:
    return [{**GOOD, field: value} for value in values]


WRONG: list[object] = [
    b"", b"{", b"[]", b"null", b"\xff\xfe", b'"' + b"[" * 5000, b"[" * 20000, b"1" * 5000,
    {}, {**GOOD, "more": 1}, {"id": "q000", "value": "yes"},
    *wrong("key", 1, None, "", "x" * 32, "A" * 32, "0" * 31, ["0" * 32], {"$ne": 1}),
    *wrong("id", 0, None, "", [], "x" * 201),
    *wrong("value", True, 1, None, "", "maybe", "Yes", ["yes"], "yes\n", "99999", "0"),
    *wrong("was", 0, False, "", "maybe", []),
    *wrong("comment", None, 0, [], {}, "x" * 5001),
    *wrong("seconds", "1", True, -1, 86401, [], float("nan"), float("inf"), 10**400),
]  # fmt: skip


def test_a_malformed_answer_is_refused_and_not_stored(tmp_path: Path) -> None:
    draw(tmp_path, n=400)
    with serve(tmp_path) as desk:
        own = desk.begin("ana")
        with ThreadPoolExecutor(2) as pool:
            told = list(pool.map(lambda body: desk.ask("/api/answers", "POST", body, **own), WRONG))
        assert [response.status for response, _ in told] == [400] * len(WRONG)
        assert all(len(json.dumps(body)) < 200 for _, body in told)
        assert desk.ask("/api/answers", "POST", b" " * 70_000, **own)[0].status == 413
        for how in ("gzip", "deflate", "br"):
            response, _ = desk.ask("/api/answers", "POST", b"packed?", **own, **{"Content-Encoding": how})
            assert response.status == 400
        for kind in (
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "",
        ):
            body = json.dumps(GOOD).encode()
            response, _ = desk.ask("/api/answers", "POST", body, **own, **{"Content-Type": kind})
            assert response.status == 415
        assert answers(desk) == {}
    assert "Traceback" not in desk.errors[0]


@pytest.mark.parametrize("path", ["/", "/session", "/script.js", *API])
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_http_methods_are_refused(desk: Desk, path: str, method: str) -> None:
    signs_out = (method, path) == ("DELETE", "/session")
    allowed = (200,) if signs_out else (405, 429)
    assert desk.ask(path, method, **desk.begin("bea"))[0].status in allowed


@pytest.mark.parametrize(
    "path",
    [
        "/api/questions",
        "/api/state/../../study.db",
        "/study.db",
        "/page/page.html",
        "//evil.example/",
        "/api/",
    ],
)
def test_unknown_paths_are_not_found(desk: Desk, path: str) -> None:
    own = desk.begin("ana")
    response, _ = desk.ask(path, **own)
    assert response.status == 404
    assert response.getheader("Location") is None


def test_other_people_s_questions_are_neither_seen_nor_answered(tmp_path: Path) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        ana, bea = desk.begin("ana"), desk.begin("bea")
        theirs = desk.state(bea)["questions"][0]["id"]
        status, told = desk.answer(ana, id=theirs)
        unknown, same = desk.answer(ana, id="q999")
        assert (status, told["error"]) == (unknown, same["error"]) == (404, told["error"])
        assert desk.answer(bea)[0] == 200
        response, previous = desk.ask(f"/api/previous?before={theirs}", **ana)
        assert (response.status, previous) == (200, None)
        assert set(answers(desk)) == {theirs}


def test_questions_cannot_be_read_ahead(desk: Desk) -> None:
    own = desk.begin("ana")
    seen = set()
    for path in (
        "/api/state",
        "/api/state?after=q006&limit=100",
        "/api/state?person=bea",
        "/api/previous?before=q004",
    ):
        for _ in range(3):
            told = desk.ask(path, **own)[1]
            seen |= {question["id"] for question in (told or {}).get("questions", ())}
    assert len(seen) == 3


def test_a_request_may_be_replayed_and_sent_by_many_at_once(tmp_path: Path) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        own = desk.begin("ana")
        name = desk.state(own)["questions"][0]["id"]
        body = {"key": "a" * 32, "id": name, "value": "yes"}
        with ThreadPoolExecutor(8) as pool:
            told = list(
                pool.map(lambda _: desk.ask("/api/answers", "POST", body, **own)[1]["outcome"], range(16))
            )
        assert sorted(told) == ["repeated"] * 15 + ["stored"]
        assert desk.answer(own, "no", id=name, was="yes")[0] == 200
        assert desk.ask("/api/answers", "POST", body, **own)[1]["outcome"] == "repeated"
        assert answers(desk) == {name: "no"}
        with Store(f"sqlite:///{tmp_path / 'study.db'}") as store:
            assert [e.value for e in store.audit.read_records() if e.kind == "answer"] == ["yes", "no"]


def test_only_a_client_with_too_many_requests_waits(tmp_path: Path) -> None:
    draw(tmp_path)
    with serve(tmp_path) as desk:
        ana, bea = desk.begin("ana"), desk.begin("bea")
        with ThreadPoolExecutor(4) as pool:
            told = list(pool.map(lambda _: desk.ask("/api/state", **ana)[0].status, range(200)))
        assert 429 in told
        assert desk.ask("/api/state", **bea)[0].status == 200


def test_headers_are_not_injected(desk: Desk) -> None:
    for sent in (
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nHost: evil.example\r\n\r\n" % desk.port,
        b"GET / HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: 127.0.0.1\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"POST /session HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 5\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % desk.port,
    ):
        with socket.create_connection(("127.0.0.1", desk.port), timeout=30) as connection:
            connection.sendall(sent)
            assert connection.recv(4096).split()[1] in (b"400", b"403")


def test_hostile_texts_and_comments_come_back_as_they_are(tmp_path: Path) -> None:
    draw(tmp_path, text="<script>alert({})</script> \u202e")
    with serve(tmp_path) as desk:
        own = desk.begin("ana")
        comment = "<img src=x onerror=alert(1)> \ud800 \0 '; DROP TABLE answer; --"
        status, told = desk.answer(own, comment=comment)
        assert status == 200
        assert told["state"]["done"] == 1
        previous = desk.ask("/api/previous", **own)[1]
        assert previous["comment"].startswith("<img src=x onerror=alert(1)> ")
        response, _ = desk.ask("/api/state", **own)
        assert response.getheader("Content-Type", "").startswith("application/json")
        assert desk.state(own)["of"] == N // 2
