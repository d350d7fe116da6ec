"""kill -9 at ten moments of a search: the same archive, and only what was under way is paid for again."""

from __future__ import annotations

import subprocess
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from oversight.agents.search.fitness.archive import load_archive
from oversight.harness.store import Store
from tests.agents.search.test_told_writer import SETTINGS, Writer
from tests.cli.search_study import lay_out
from tests.e2e.test_kill import command, kill_when
from tests.fakes.openai_server import FakeOpenAI, fake_openai

CONCURRENCY = {"m": 4, "writer": 8}
"""Of the model that answers, and the default of the one that writes."""
KILLS = 10
LAST = 12
"""So many calls before the last one no search is killed any more: it might end before."""
SEARCHES = {
    "recombine": ("recombine", ""),
    "reflect": ("reflect", ""),
    "aflow": ("aflow", ""),
    "adas": ("adas", ""),
}


def begin(folder: Path, server: FakeOpenAI, name: str) -> None:
    policy, more = SEARCHES[name]
    folder.mkdir()
    settings = SETTINGS.format(policy=policy, more=more, url=server.url)
    lay_out(folder, server.url, concurrency=CONCURRENCY["m"], more=settings)
    (folder / "workflow.toml").write_text("max_tokens = 40\n")


def finish(folder: Path, verb: str) -> str:
    """Run a search to its end, and return the digest of all that was decided and answered."""
    subprocess.run(command("search", verb, "--json"), cwd=folder, check=True, capture_output=True)
    with Store(f"sqlite:///{folder / 'study.db'}") as store:
        (search,) = store.searches.read_searches()
        return load_archive(store, search["id"]).digest()


def count_stored(folder: Path, error: str = "") -> int:
    """Calls without an error, or with one that begins so."""
    engine = sa.create_engine(f"sqlite:///{folder / 'study.db'}")
    with engine.connect() as connection:
        errors = connection.execute(sa.text("select error from call")).scalars().all()
    engine.dispose()
    return sum(found.startswith(error) if error else not found for found in errors)


def requests_of(server: FakeOpenAI) -> Counter[str]:
    return Counter(f"{request['model']} {request['messages']}" for request in server.requests)


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_ten_kills_lose_nothing_but_what_is_under_way(name: str, tmp_path: Path) -> None:
    writer = Writer(wrong=(1,), mends=1)
    with fake_openai(writer) as server:
        writer.server = server
        begin(tmp_path / "whole", server, name)
        expected = finish(tmp_path / "whole", "start")
        asked, calls = requests_of(server), len(server.requests)
    assert calls > 5 * KILLS
    rng = np.random.default_rng([7, *name.encode()])
    moments = sorted(rng.choice(np.arange(1, calls - LAST), size=KILLS, replace=False).tolist())
    under_way = 0
    with fake_openai(writer) as server:
        writer.server = server
        begin(tmp_path / "cut", server, name)
        before = set(threading.enumerate())
        for j, moment in enumerate(moments):
            words = command("search", "resume" if j else "start")
            process = subprocess.Popen(
                words, cwd=tmp_path / "cut", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            wanted = moment + under_way
            assert kill_when(process, lambda wanted=wanted: len(server.requests) >= wanted)  # type: ignore[misc]
            for connection in set(threading.enumerate()) - before:
                connection.join(60)  # wait until the server has read all that the process sent
            lost = len(server.requests) - under_way - count_stored(tmp_path / "cut")
            assert 0 <= lost <= sum(CONCURRENCY.values())
            under_way += lost
        assert finish(tmp_path / "cut", "resume") == expected
        again = requests_of(server)
        paid = len(server.bill)
    assert not asked - again  # no request is missing
    assert (again - asked).total() == under_way
    assert paid - calls <= under_way
    # a call is recorded before it is sent, so a recorded call may not have been sent
    assert under_way <= count_stored(tmp_path / "cut", "lost:") <= KILLS * sum(CONCURRENCY.values())
