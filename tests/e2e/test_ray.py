"""Runs and searches on a real Ray cluster of two nodes: whatever is killed, all books agree."""

from __future__ import annotations

import json
import math
import os
import shlex
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oversight.agents.search.fitness.archive import load_archive
from oversight.harness.llm.local.lifecycle import find_weights
from oversight.harness.store import Store
from tests.cli.search_study import answer as answer_search
from tests.cli.search_study import lay_out as lay_out_search
from tests.e2e.counted_study import CountedStudy, answer_until, counted_study, finish, slowly
from tests.fakes.openai_server import Reply, fake_openai
from tests.ray_cluster import QUIET, RayCluster, ray_cluster

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("servers")]

N = 600
CONCURRENCY = 4
KEY = "sk-never-to-be-seen-4711"
JSON_REPLY = json.dumps({"answer": "B", "thinking": ""})


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with ray_cluster() as started:
        yield started


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**QUIET, "OPENAI_API_KEY": KEY}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def on(cluster: RayCluster) -> tuple[str, ...]:
    """The options that name the cluster."""
    return ("--on", cluster.address)


def read_results(said: str, kind: str = "models") -> dict[str, Any]:
    found = json.loads(said[said.index("{") : said.rindex("\n}") + 2])
    [result] = found[kind].values()
    return dict(result)


def check_books(study: CountedStudy, most_lost: int) -> None:
    """Every item has its answer; calls were repeated for lost ones alone, and all are in the books."""
    books, calls = study.read_books(), len(study.server.prompts)
    assert books.answers == {"ok": N}
    assert study.count_repeats() <= most_lost
    assert calls <= books.requests <= calls + most_lost


def find_workers(cluster: RayCluster) -> list[int]:
    """Processes of the cluster that make calls."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if path.read_bytes().startswith(b"ray::NodeWorker"):
                log = str((path.with_name("fd") / "1").readlink())
                found += [int(path.parent.name)] * (str(cluster.folder) in log)
    return found


def test_two_nodes_make_the_calls(cluster: RayCluster, on: tuple[str, ...], tmp_path: Path) -> None:
    hold, go = answer_until(0)
    with counted_study(tmp_path, N, hold) as study:
        begun = study.run(*on, "--json")
        study.wait_for_calls(2 * CONCURRENCY)  # the number of calls that two workers make at once
        assert len(find_workers(cluster)) == 2
        go.set()
        [said] = finish(begun)
        check_books(study, 0)
        assert set(study.server.keys) == {f"Bearer {KEY}"}
    assert "Ray: 2 workers on 2 nodes" in said
    assert f"{N}/{N}" in said
    assert read_results(said)["asked_now"] == N
    assert cluster.find_text(KEY) == []


@pytest.mark.parametrize("uncertain", ["retry", "hold"])
def test_a_killed_worker_is_replaced(
    cluster: RayCluster, on: tuple[str, ...], uncertain: str, tmp_path: Path
) -> None:
    hold, go = answer_until(150)
    with counted_study(tmp_path, N, hold) as study:
        begun = study.run(*on, "--uncertain", uncertain)
        study.wait_for_calls(150 + 2 * CONCURRENCY)
        os.kill(find_workers(cluster)[0], signal.SIGKILL)
        go.set()
        [said] = finish(begun, code=int(uncertain == "hold"))
        if uncertain == "retry":
            check_books(study, CONCURRENCY)
            assert study.count_repeats() == CONCURRENCY
            return
        books = study.read_books()
        assert (books.answers, books.reasons) == (
            {"ok": N - CONCURRENCY, "failed": CONCURRENCY},
            {"lost": CONCURRENCY},
        ), said
        assert study.count_repeats() == 0
        assert books.requests == len(study.server.prompts) == N
        finish(study.run(*on, "--uncertain", uncertain, "--retry-errors"))
        assert study.read_books().answers == {"ok": N}


def test_a_killed_node_is_replaced(cluster: RayCluster, on: tuple[str, ...], tmp_path: Path) -> None:
    hold, go = answer_until(150)
    with counted_study(tmp_path, N, hold) as study:
        begun = study.run(*on, "--budget-usd", "1")
        study.wait_for_calls(150 + 2 * CONCURRENCY)
        cluster.kill(-1)
        cluster.add_node()
        go.set()
        finish(begun)
        check_books(study, CONCURRENCY)
        assert study.count_repeats() > 0  # a worker may outlive its node, and deliver some replies


@pytest.mark.parametrize("uncertain", ["retry", "hold"])
def test_a_killed_driver_goes_on(on: tuple[str, ...], uncertain: str, tmp_path: Path) -> None:
    # A fixed number, because Ray may still list the node that the previous test killed.
    words = (*on, "--workers", "2", "--budget-usd", "1", "--uncertain", uncertain)
    with counted_study(tmp_path, N, slowly) as study:
        begun = study.run(*words)
        study.wait_for_calls(150)
        begun.kill()
        begun.wait()
        [said] = finish(study.run(*words), code=int(uncertain == "hold"))
        books, calls = study.read_books(), len(study.server.prompts)
        under_way = 2 * CONCURRENCY
        assert "answers were unfinished when an earlier command ended" in said
        if uncertain == "retry":
            check_books(study, under_way)
            assert study.count_repeats() <= books.unfinished <= under_way
        else:
            assert study.count_repeats() == 0
            assert books.answers["ok"] + books.answers["failed"] == N
            assert 0 < books.reasons["lost"] <= under_way
            assert calls <= books.requests == N


def test_a_second_run_is_refused_or_waits(on: tuple[str, ...], tmp_path: Path) -> None:
    hold, go = answer_until(100)
    with counted_study(tmp_path, N, hold) as study:
        begun = study.run(*on)
        study.wait_for_calls(100 + 2 * CONCURRENCY)
        [said] = finish(study.run(), code=1)
        assert f"m: process {begun.pid} on {os.uname().nodename} has been working on this run" in said
        waiting = study.run("--wait")
        go.set()
        finish(begun, waiting)
        check_books(study, 0)


def test_a_run_that_is_stopped_loses_nothing(on: tuple[str, ...], tmp_path: Path) -> None:
    with counted_study(tmp_path, N, slowly) as study:
        begun = study.run(*on)
        study.wait_for_calls(150)
        begun.send_signal(signal.SIGTERM)
        [said] = finish(begun, code=143)
        assert study.read_books().answers["ok"] == len(study.server.prompts) < N, said
        finish(study.run(*on))
        check_books(study, 0)
        assert study.count_repeats() == 0


def test_a_cap_holds_on_all_nodes(on: tuple[str, ...], tmp_path: Path) -> None:
    with counted_study(tmp_path, N, slowly) as study:
        [said] = finish(study.run("--budget-usd", "0.01", *on), code=1)
        spent = sum(sent + received for sent, received in study.server.bill) * 10 / 1e6
    assert "the budget of $0.01 is spent" in said
    assert 0.009 <= spent <= 0.01


def test_a_cluster_of_the_command_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEGUN_BY", str(tmp_path))
    with counted_study(tmp_path, N, slowly) as study:
        begun = study.run("--on", "ray", "--workers", "2", "--json")
        study.wait_for_calls(1)
        assert find_ray(tmp_path)
        [said] = finish(begun)
        check_books(study, 0)
        assert read_results(said)["asked_now"] == N
    deadline, quiet = time.monotonic() + 30, threading.Event()
    while find_ray(tmp_path):  # an ended process stays listed until the system removes it
        assert time.monotonic() < deadline
        quiet.wait(0.1)


def test_an_error_of_the_endpoint_is_shown(on: tuple[str, ...], tmp_path: Path) -> None:
    with counted_study(tmp_path, N, lambda prompt, n: Reply(status=401, body="{}")) as study:
        [said] = finish(study.run(*on), code=1)
    assert "HTTP 401" in said


def test_a_workflow_goes_on_when_a_worker_is_killed(
    cluster: RayCluster, on: tuple[str, ...], tmp_path: Path
) -> None:
    items = 40
    hold, go = answer_until(30, lambda prompt, n: Reply(JSON_REPLY, stall=0.02))
    with counted_study(tmp_path, items, hold) as study:
        begun = study.run("--workflow", "cot-sc", *on, "--json")
        study.wait_for_calls(30 + 2 * CONCURRENCY)
        os.kill(find_workers(cluster)[0], signal.SIGKILL)
        go.set()
        [said] = finish(begun)
        calls = len(study.server.prompts)
        with Store(study.url) as store:
            [run] = store.runs.read_runs()
            spent = store.calls.read_spent(run["id"])
    assert read_results(said, "workflows")["ok"] == items
    assert 5 * items <= calls <= 5 * items + CONCURRENCY
    assert spent is not None
    assert calls <= spent.requests <= calls + CONCURRENCY


@contextmanager
def counted_search(
    folder: Path, held_from: float = math.inf
) -> Iterator[tuple[CountedStudy, threading.Event]]:
    """A search; of its calls, those from a number on have no answer before the event is set."""
    go = threading.Event()

    def answer(prompt: str, n: int) -> Reply:
        if n >= held_from:
            go.wait(60)
        return Reply(answer_search(prompt, n).text, stall=0.02)

    folder.mkdir(exist_ok=True)
    with fake_openai(answer) as server:
        lay_out_search(folder, server.url, CONCURRENCY)
        study = CountedStudy(folder, f"sqlite:///{folder / 'study.db'}", server)
        try:
            yield study, go
        finally:
            study.end()


def read_search(study: CountedStudy) -> tuple[str, dict[str, int]]:
    """Digest of the only archive, and calls by what became of them."""
    with Store(study.url) as store:
        (search,) = store.searches.read_searches()
        digest = load_archive(store, search["id"]).digest()
    engine = sa.create_engine(study.url)
    with engine.connect() as connection:
        rows = connection.execute(sa.text("select error, count(*) from call group by 1")).all()
    engine.dispose()
    return digest, {error.partition(":")[0]: number for error, number in rows}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int]:
    """The digest of the search without Ray, and its calls."""
    with counted_search(tmp_path_factory.mktemp("alone")) as (study, _):
        finish(study.run(verb="search start"))
        return read_search(study)[0], len(study.server.prompts)


@pytest.mark.parametrize("killed", ["nothing", "worker", "driver"])
def test_a_search_on_two_nodes_makes_the_same_archive(
    cluster: RayCluster, on: tuple[str, ...], alone: tuple[str, int], killed: str, tmp_path: Path
) -> None:
    digest, calls = alone
    held_from = calls - 5 * 11  # hold the calls of the confirmation and the test, which run many programs
    with counted_search(tmp_path, held_from) as (study, go):
        begun = study.run(*on, verb="search start")
        study.wait_for_calls(held_from + CONCURRENCY)
        [said] = finish(study.run(verb="search start"), code=1)
        assert f"process {begun.pid} on {os.uname().nodename}" in said
        if killed == "worker":
            os.kill(find_workers(cluster)[0], signal.SIGKILL)
        if killed == "driver":
            begun.kill()
            begun.wait()
            begun = study.run(*on, verb="search start")
        go.set()
        finish(begun)
        found, stored = read_search(study)
        asked = len(study.server.prompts)
    assert (found, stored[""]) == (digest, calls)
    lost = asked - calls
    assert lost <= (0 if killed == "nothing" else 2 * CONCURRENCY)
    if killed == "driver":
        assert lost <= stored["lost"] <= 2 * CONCURRENCY


def find_ray(begun_by: Path) -> set[int]:
    """Processes of a Ray cluster that the command of one test began, which they have in their environment."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_bytes()
            is_ray = words.startswith(b"ray::") or b"/raylet" in words or b"gcs_server" in words
            if is_ray and f"BEGUN_BY={begun_by}".encode() in path.with_name("environ").read_bytes():
                found.add(int(path.parent.name))
    return found


@pytest.mark.local_model
def test_every_node_serves_the_model_itself(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    # in a separate folder, because the model would otherwise use the state of the other tests' server
    words = ["env", f"OVERSIGHT_CACHE={tmp_path}", sys.executable, "-m", "oversight.harness.llm.local.serve"]
    words += [str(find_weights()), str(port)]
    with counted_study(tmp_path, 4, slowly) as study:
        file = tmp_path / "study.toml"
        text = file.read_text().replace(study.server.url, f"http://127.0.0.1:{port}/v1")
        file.write_text(text.replace('model = "m"', 'model = "smollm2-135m-instruct"'))
        [said] = finish(study.run("--on", "ray", "--serve", shlex.join(words), "--json"))
        assert read_results(said)["predictions"] == 4
        assert study.server.prompts == []
