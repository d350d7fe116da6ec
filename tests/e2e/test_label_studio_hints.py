"""Webhooks of a real server wake a pull early, and are never believed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from oversight.harness import ConfigError
from oversight.harness.store import Store
from oversight.protocols.collect import Campaign, start_server, stop_server
from oversight.protocols.collect.label_studio.server.webhooks import PATH, listen_for_webhooks
from tests.e2e.conftest import EXPERTS, Bench

pytestmark = pytest.mark.label_studio


@pytest.fixture
def bench(make_bench: Callable[..., Bench]) -> Bench:
    """A small study, pushed."""
    made = make_bench(9)
    made.call("label", "route")
    made.call("label", "push")
    return made


def hooks_of(bench: Bench) -> list[Any]:
    found = [bench.admin.do("GET", f"/api/webhooks/?project={bench.project(e)}") for e in EXPERTS]
    return [hook for hooks in found for hook in hooks]


@pytest.mark.slow
def test_an_answer_wakes_the_watch_long_before_its_time(bench: Bench) -> None:
    command = [
        sys.executable,
        "-m",
        "oversight.harness.cli.main",
        "label",
        "watch",
        "--every",
        "500",
        "--webhook",
        "0",
    ]
    started = time.monotonic()
    watch = subprocess.Popen(
        [*command, "--json"], cwd=bench.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert watch.stderr is not None
    first = next(line for line in watch.stderr if "0/" in line)  # the first pull is done, the hooks are there
    assert first
    registered = hooks_of(bench)
    assert len(registered) == len(EXPERTS)
    assert all(PATH in hook["url"] and not hook["send_payload"] for hook in registered)
    for expert in EXPERTS:
        for task in bench.tasks(expert):
            bench.people[expert].answer(task["id"], "no")
    out, _ = watch.communicate(timeout=120)
    assert watch.returncode == 0
    assert time.monotonic() - started < 120
    assert '"open": 0' in out
    assert hooks_of(bench) == []


def test_what_a_hook_says_is_never_read(bench: Bench) -> None:
    hint = threading.Event()
    with Store(bench.url) as store, Campaign(bench.study, store) as desk:
        with listen_for_webhooks(desk.find_projects(), 0, hint):
            url = hooks_of(bench)[0]["url"]
            forged = {"action": "ANNOTATION_CREATED", "annotation": {"result": ["yes"], "completed_by": 1}}
            assert httpx.post(url, json=forged, trust_env=False).status_code == 204
            assert hint.wait(10)
            hint.clear()
            assert (
                httpx.post(re.sub(r"[^/]+$", "guessed", url), json=forged, trust_env=False).status_code == 404
            )
            assert not hint.wait(0)
        assert desk.pull().answers == 0
        assert hooks_of(bench) == []


def test_hooks_that_a_killed_watch_left_are_removed(bench: Bench) -> None:
    left = {"url": f"http://127.0.0.1:9{PATH}old", "project": bench.project("ana"), "send_payload": False}
    bench.admin.do("POST", "/api/webhooks/", {**left, "actions": ["ANNOTATION_CREATED"]})
    foreign = {**left, "url": "http://127.0.0.1:9/somebody-elses"}
    kept = bench.admin.do("POST", "/api/webhooks/", foreign)["id"]
    with (
        Store(bench.url) as store,
        Campaign(bench.study, store) as desk,
        listen_for_webhooks(desk.find_projects(), 0, threading.Event()),
    ):
        assert len(hooks_of(bench)) == len(EXPERTS) + 1
    assert [hook["id"] for hook in hooks_of(bench)] == [kept]


@pytest.mark.slow
def test_servers_that_cannot_call_say_so(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        Store(bench.url) as store,
        Campaign(bench.study, store) as desk,
        listen_for_webhooks(desk.find_projects(), 0, threading.Event()),
    ):
        port = int(re.findall(r":(\d+)/", hooks_of(bench)[0]["url"])[0])
        with pytest.raises(ConfigError, match=f"--webhook {port}: cannot listen there"):
            listen_for_webhooks(desk.find_projects(), port, threading.Event()).__enter__()
    folder = tmp_path_factory.mktemp("careful")
    server = start_server(folder=folder)
    try:
        monkeypatch.setenv("LABEL_STUDIO_URL", server.url)
        monkeypatch.setenv("LABEL_STUDIO_API_KEY", server.token)
        Path("study.db").unlink()
        bench.call("label", "route")
        bench.call("label", "push")
        failed = bench.call("label", "watch", "--once", "--webhook", "0", code=2)["error"]
        assert "oversight label-studio start --hooks" in failed
        assert os.environ["LABEL_STUDIO_API_KEY"] not in failed
    finally:
        stop_server(folder=folder)
