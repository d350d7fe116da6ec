"""The server reports writes of any process, from SQLite and PostgreSQL, also after a restart."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, cast

import pytest
import sqlalchemy as sa

from benchmarks._view_server import Served, serve
from oversight.harness.store import Store
from oversight.harness.view.server.live import ChangeFeed
from tests.conftest import empty_database
from tests.view.conftest import N, fill, lay_out

pytestmark = pytest.mark.slow

ANSWER = """
import sys
from oversight.harness.store import Store
from oversight.harness.types import Answer, Verdict
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
    from oversight.harness.config import read_study

    return read_study(folder / "study.toml").store_url


@contextmanager
def hear(served: Served) -> Iterator[Iterator[dict[str, Any]]]:
    """The server's stream of changes."""
    connection = HTTPConnection("127.0.0.1", served.port, timeout=20)
    connection.request("GET", "/api/changes", headers={"Cookie": served.cookie})
    response = connection.getresponse()
    assert response.getheader("Content-Type") == "text/event-stream"
    try:
        yield (json.loads(line[6:]) for line in iter(response.readline, b"") if line.startswith(b"data: "))
    finally:
        response.close()
        connection.close()


@contextmanager
def listen(served: Served) -> Iterator[Iterator[int]]:
    """The versions that the server tells, all of them without trouble."""
    with hear(served) as told:
        yield _versions(told)


def _versions(told: Iterator[dict[str, Any]]) -> Iterator[int]:
    for each in told:
        assert each["trouble"] == ""
        yield each["version"]


def test_every_change_is_sent_and_shown(folder: Path) -> None:
    with serve(folder) as served, listen(served) as told:
        first = next(told)
        before = served.read("progress")["rows"]
        answer_elsewhere(folder)
        assert next(told) > first
        after = served.read("progress")["rows"]
        assert after["answer"] == before["answer"] + 1  # type: ignore[index]
        overview = served.read("overview")
        assert overview["questions"]["answered"] == after["answer"]  # type: ignore[index]


def test_changed_settings_are_reported(tmp_path: Path) -> None:
    fill(lay_out(tmp_path, ""), answered=N // 2)
    file = tmp_path / "study.toml"
    text = file.read_text()
    with serve(tmp_path) as served, hear(served) as told:
        assert next(told)["trouble"] == ""
        file.write_text(text + "[estimate]\nlevel = 0.8\n")
        assert "the study file was changed" in next(told)["trouble"]
        answer_elsewhere(tmp_path)
        assert "the study file was changed" in next(told)["trouble"]
        file.write_text(text)
        assert next(told)["trouble"] == ""


def test_a_restarted_server_goes_on_with_the_same_page(folder: Path) -> None:
    with serve(folder) as served:
        port, cookie, before = served.port, served.cookie, served.read("progress")["rows"]
    answer_elsewhere(folder)
    with serve(folder, port) as again:
        assert again.cookie == cookie  # an open page does not need the token again
        assert again.read("progress")["rows"]["answer"] == before["answer"] + 1  # type: ignore[index]


def test_items_arriving_are_found(folder: Path) -> None:
    from oversight.harness.types import Item

    with serve(folder) as served, listen(served) as told:
        next(told)
        assert served.read("items", words="zebra")["matches"] == 0
        with Store(lay_out_again(folder)) as store:
            store.content.add_items([Item("new", "a zebra", ("red", "green"), (0, 1))])
        # Messages about the former database may arrive late.
        assert any(served.read("items", words="zebra")["matches"] == 1 for _ in told)
        assert served.read("items", column="level", stratum="easy")["matches"] == N // 2


def test_many_open_pages_do_not_keep_the_server_from_its_end(folder: Path) -> None:
    with serve(folder) as served, contextlib.ExitStack() as pages:
        for _ in range(100):
            next(pages.enter_context(listen(served)))
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(timeout=20) == 0
    assert served.errors == [""]


def test_long_transaction_is_noticed_when_it_ends(folder: Path) -> None:
    """Others that began later have ended before."""
    url = lay_out_again(folder)
    if url.startswith("sqlite"):
        pytest.skip("one at a time writes there")
    engine = sa.create_engine(url)
    with Store(url) as store, store.watching() as read, engine.connect() as old, engine.connect() as young:
        for number, connection in enumerate((old, young)):
            connection.execute(sa.text(f"CREATE TABLE more_{number} (x int)"))
        young.commit()
        before = read()
        assert read() == before
        old.commit()
        assert read() != before
    engine.dispose()


def test_change_during_a_notification_is_sent_next() -> None:
    async def follow() -> list[int | None]:
        feed = ChangeFeed(cast(Store, None), Path("study.toml"))
        told = feed.versions()
        feed.count_change()
        found = [await anext(told)]
        for _ in range(2):
            feed.count_change()
            found.append(await anext(told))
            feed.count_change()  # counted while the previous message is being sent
            found.append(await asyncio.wait_for(anext(told), 5))
        feed.end()
        return [*found, *[version async for version in told]]

    assert asyncio.run(follow()) == [1, 2, 3, 4, 5]


def test_a_file_that_is_taken_away_or_replaced_is_said_and_shown_again(tmp_path: Path) -> None:
    fill(lay_out(tmp_path, ""), answered=N // 2)
    shutil.copytree(tmp_path, tmp_path / "other")
    answer_elsewhere(tmp_path / "other")
    file = tmp_path / "study.db"
    with serve(tmp_path) as served, hear(served) as told:
        assert next(told)["trouble"] == ""
        before = served.read("progress")["rows"]
        file.rename(tmp_path / "aside.db")
        assert any("file was removed" in each["trouble"] for each in told)
        for name in ("frame", "items", "overview", "differences", "closing?model=good"):
            response, body = served.ask(f"/api/{name}")
            assert response.status == 400
            assert b"file was removed" in body
        assert not file.exists()  # no empty file was created in its place
        (tmp_path / "aside.db").rename(file)
        assert next(told)["trouble"] == ""
        assert served.read("progress")["rows"] == before
        assert "why" not in served.read("overview")
        (tmp_path / "other" / "study.db").replace(file)
        assert "replaced" in next(told)["trouble"]
        assert next(told)["trouble"] == ""
        assert served.read("progress")["rows"]["answer"] == before["answer"] + 1  # type: ignore[index]
