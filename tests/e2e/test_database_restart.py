"""A run and a search go on when their PostgreSQL server is restarted under way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from oversight.agents.search.fitness.archive import load_archive
from oversight.harness.store import Store
from tests.cli.search_study import answer as answer_search
from tests.cli.search_study import lay_out as lay_out_search
from tests.e2e.counted_study import CountedStudy, counted_study, finish, slowly
from tests.fakes.openai_server import Reply, fake_openai
from tests.fakes.postgresql import PostgreSQL, start_server

pytestmark = pytest.mark.slow

N = 300


@pytest.fixture
def own_server() -> Iterator[PostgreSQL]:
    """A PostgreSQL of the test's own, which it may stop."""
    with start_server() as server:
        yield server


def test_a_run_waits_for_a_database_that_restarts(own_server: PostgreSQL, tmp_path: Path) -> None:
    with counted_study(tmp_path, N, slowly, own_server.url) as study:
        begun = study.run("--budget-usd", "1")
        for calls in (80, 200):
            study.wait_for_calls(calls)
            own_server.stop()
            own_server.start()
        [said] = finish(begun)
        books = study.read_books()
        assert "the database answers again" in said
        assert (books.answers, books.requests, len(study.server.prompts)) == ({"ok": N}, N, N)


def test_a_search_waits_for_a_database_that_restarts(own_server: PostgreSQL, tmp_path: Path) -> None:
    def answer(prompt: str, n: int) -> Reply:
        return Reply(answer_search(prompt, n).text, stall=0.02)

    found = dict[str, tuple[str, int]]()
    for name, url in (("file", ""), ("server", own_server.url)):
        folder = tmp_path / name
        folder.mkdir()
        with fake_openai(answer) as server:
            lay_out_search(folder, server.url, 4, store=url)
            study = CountedStudy(folder, url or f"sqlite:///{folder / 'study.db'}", server)
            try:
                begun = study.run(verb="search start")
                if url:
                    for part in (3, 2):
                        study.wait_for_calls(found["file"][1] // part)
                        own_server.stop()
                        threading.Event().wait(1)
                        own_server.start()
                [said] = finish(begun)
            finally:
                study.end()
            with Store(study.url) as store:
                (search,) = store.searches.read_searches()
                found[name] = load_archive(store, search["id"]).digest(), len(server.prompts)
    assert "the database answers again" in said
    assert found["server"] == found["file"]
