"""A run on a real Ray cluster of two nodes: every item once, a lost node is replaced, keys stay secret."""

from __future__ import annotations

import json
import shlex
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks.servers import empty_server
from oversight.harness.llm.local.weights import find_weights
from tests.e2e.joint import JointStudy, answer_until, finish, joint_study, slowly
from tests.e2e.test_joint_search import joint_search
from tests.fakes.openai_server import Reply
from tests.ray_cluster import QUIET, RayCluster, ray_cluster

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("servers")]

N = 600
CONCURRENCY = 4
KEY = "sk-never-to-be-seen-4711"


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with ray_cluster() as started:
        yield started


@pytest.fixture
def database(postgresql: str, monkeypatch: pytest.MonkeyPatch) -> str:
    empty_server(postgresql)
    for name, value in {**QUIET, "OPENAI_API_KEY": KEY, "PGPASSWORD": KEY[::-1]}.items():
        monkeypatch.setenv(name, value)
    return postgresql


def read_results(said: str) -> dict[str, Any]:
    found = json.loads(said[said.index("{") : said.rindex("\n}") + 2])
    return dict(found["models"]["m"])


def check_books(study: JointStudy, lost_nodes: int) -> None:
    books, calls = study.read_books(), len(study.server.prompts)
    assert books.answers == {"ok": N}
    assert (books.left, books.open) == (0, 0)
    assert study.count_repeats() <= books.lost <= CONCURRENCY * lost_nodes
    assert calls <= books.requests <= calls + books.lost


def test_two_nodes_ask_and_the_bar_is_here(cluster: RayCluster, database: str, tmp_path: Path) -> None:
    hold, go = answer_until(0)
    with joint_study(tmp_path, database, N, hold) as study:
        begun = study.run("--on", "ray", "--ray-address", cluster.address, "--json")
        study.wait_for_workers(3)  # the one that watches, and one on every node
        go.set()
        [said] = finish(begun)
        check_books(study, 0)
        assert set(study.server.keys) == {f"Bearer {KEY}"}
    assert "Ray: 2 workers on 2 nodes" in said
    assert f"{N}/{N}" in said
    assert read_results(said)["asked_now"] == N
    assert cluster.find_text(KEY) == []
    assert cluster.find_text(KEY[::-1]) == []


def test_a_node_that_is_killed_is_replaced(cluster: RayCluster, database: str, tmp_path: Path) -> None:
    endpoint, go = answer_until(150)
    with joint_study(tmp_path, database, N, endpoint) as study:
        begun = study.run("--on", "ray", "--ray-address", cluster.address, "--lease", "3s", "--json")
        study.wait_for_calls(150 + 2 * CONCURRENCY)  # both have all under way that they may
        cluster.kill(-1)
        cluster.add_node()
        go.set()
        [said] = finish(begun)
        check_books(study, 1)
        assert study.read_books().lost == CONCURRENCY
    assert "is taken for lost" in said


def test_a_run_that_is_stopped_settles_what_is_under_way(
    cluster: RayCluster, database: str, tmp_path: Path
) -> None:
    is_stopped = threading.Event()

    def slower(prompt: str, n: int) -> Reply:
        """Half a minute is left of the run when it is stopped, which takes its time to reach all nodes."""
        return Reply("green", stall=0.05 if n < 150 or is_stopped.is_set() else 0.5)

    with joint_study(tmp_path, database, N, slower) as study:
        words = ("--on", "ray", "--ray-address", cluster.address)
        begun = study.run(*words)
        study.wait_for_calls(150)
        begun.send_signal(signal.SIGTERM)
        [said] = finish(begun, code=130)
        books = study.read_books()
        assert books.lost == 0
        assert books.answers["ok"] == len(study.server.prompts) < N, said
        is_stopped.set()
        finish(study.run(*words))
        check_books(study, 0)
        assert study.count_repeats() == 0


def test_a_cap_holds_on_all_nodes(cluster: RayCluster, database: str, tmp_path: Path) -> None:
    with joint_study(tmp_path, database, N, slowly) as study:
        cap = ("--budget-usd", "0.01", "--on", "ray", "--ray-address", cluster.address)
        [said] = finish(study.run(*cap), code=1)
        spent = sum(sent + received for sent, received in study.server.bill) * 10 / 1e6
    assert "the budget of $0.01 is spent" in said
    assert 0.009 <= spent <= 0.01


def test_a_cluster_of_the_command_s_own_ends_with_it(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEGUN_BY", str(tmp_path))
    with joint_study(tmp_path, database, N, slowly) as study:
        begun = study.run("--on", "ray", "--workers", "2", "--json")
        study.wait_for_calls(1)
        assert find_ray(tmp_path)
        [said] = finish(begun)
        check_books(study, 0)
        assert read_results(said)["asked_now"] == N
    deadline, quiet = time.monotonic() + 30, threading.Event()
    while find_ray(tmp_path):  # a process that was ended is there until the system has taken it away
        assert time.monotonic() < deadline
        quiet.wait(0.1)


def test_what_a_worker_cannot_do_is_told(cluster: RayCluster, database: str, tmp_path: Path) -> None:
    with joint_study(tmp_path, database, N, lambda prompt, n: Reply(status=401, body="{}")) as study:
        [said] = finish(study.run("--on", "ray", "--ray-address", cluster.address), code=1)
    assert "HTTP 401" in said


def test_a_search_on_two_nodes_makes_one_worker_s_archive(
    cluster: RayCluster, database: str, tmp_path: Path
) -> None:
    with joint_search(tmp_path / "alone", "") as search:
        finish(search.start())
        search.url = f"sqlite:///{tmp_path / 'alone' / 'study.db'}"
        alone = search.digest(), len(search.server.prompts)
    with joint_search(tmp_path / "ray", database) as search:
        [said] = finish(search.start("--on", "ray", "--ray-address", cluster.address))
        assert (search.digest(), len(search.server.prompts)) == alone
        assert search.read_calls() == {"": (alone[1], 10 * alone[1])}
    assert "Ray: 2 workers on 2 nodes" in said


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
def test_every_node_serves_the_model_itself(database: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    # in a folder of its own: it would take the state of the server that other tests share for its own
    words = ["env", f"OVERSIGHT_CACHE={tmp_path}", sys.executable, "-m", "oversight.harness.llm.local.serve"]
    words += [str(find_weights()), str(port)]
    with joint_study(tmp_path, database, 4, slowly, "max_tokens = 4") as study:
        file = tmp_path / "study.toml"
        text = file.read_text().replace(study.server.url, f"http://127.0.0.1:{port}/v1")
        file.write_text(text.replace('model = "m"', 'model = "smollm2-135m-instruct"'))
        [said] = finish(study.run("--on", "ray", "--serve", shlex.join(words), "--json"))
        assert read_results(said)["predictions"] == 4
        assert study.server.prompts == []
