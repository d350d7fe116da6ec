"""What any process writes is told, from SQLite and PostgreSQL, and after the server was restarted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from harness.store import Store
from tests.conftest import empty_database
from tests.view.conftest import N, Served, fill, lay_out, serve

ANSWER = """
import sys
from harness.store import Store
from harness.types import Answer, Verdict
with Store(sys.argv[1]) as store:
    answered = {a.question.id for a in store.content.read_answers()}
    q = next(q for q in store.content.read_questions() if q.id not in answered)
    store.content.add_answers([Answer(q, q.expert, Verdict.NO, "elsewhere")])
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    url = empty_database(request, tmp_path)
    fill(lay_out(tmp_path, url), answered=N // 2)
    return tmp_path


def answer_elsewhere(folder: Path) -> None:
    """One more answer, by another process."""
    url = lay_out_again(folder)
    subprocess.run([sys.executable, "-c", ANSWER, url], check=True)


def lay_out_again(folder: Path) -> str:
    from harness.config import read_study

    return read_study(folder / "study.toml").store_url


@contextmanager
def listen(served: Served) -> Iterator[Iterator[int]]:
    """The versions that the server tells."""
    connection = HTTPConnection("127.0.0.1", served.port, timeout=20)
    connection.request("GET", "/api/changes", headers={"Cookie": served.cookie})
    response = connection.getresponse()
    assert response.getheader("Content-Type") == "text/event-stream"
    try:
        yield _versions(response)
    finally:
        response.close()
        connection.close()


def _versions(response: HTTPResponse) -> Iterator[int]:
    while line := response.readline():
        if line.startswith(b"data: "):
            told = json.loads(line.removeprefix(b"data: "))
            assert told["trouble"] == ""
            yield told["version"]


def test_every_change_is_told_and_shown(folder: Path) -> None:
    with serve(folder) as served, listen(served) as told:
        first = next(told)
        before = served.read("progress")["rows"]
        answer_elsewhere(folder)
        assert next(told) > first
        after = served.read("progress")["rows"]
        assert after["answer"] == before["answer"] + 1  # type: ignore[index]
        overview = served.read("overview")
        assert overview["questions"]["answered"] == after["answer"]  # type: ignore[index]


def test_a_restarted_server_goes_on_with_the_same_page(folder: Path) -> None:
    with serve(folder) as served:
        port, cookie, before = served.port, served.cookie, served.read("progress")["rows"]
    answer_elsewhere(folder)
    with serve(folder, port) as again:
        assert again.cookie == cookie  # so that a page that is open need not ask for the token again
        assert again.read("progress")["rows"]["answer"] == before["answer"] + 1  # type: ignore[index]


def test_items_arriving_are_found(folder: Path) -> None:
    from harness.types import Item

    with serve(folder) as served, listen(served) as told:
        next(told)
        assert served.read("items", words="zebra")["matches"] == 0
        with Store(lay_out_again(folder)) as store:
            store.content.add_items([Item("new", "a zebra", ("red", "green"), (0, 1))])
        next(told)
        found = served.read("items", words="zebra")
        assert found["matches"] == 1
        assert served.read("items", column="level", stratum="easy")["matches"] == N // 2
