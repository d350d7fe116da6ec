"""After network faults and bad input, no task or answer is lost, duplicated or partly sent."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from oversight.harness import BadInput, ConfigError, LabelStudioError
from oversight.harness.store import Store
from oversight.protocols.collect import Campaign, find_server, start_server, stop_server
from tests.e2e.conftest import EXPERTS, Bench, kill_at, on
from tests.fakes.faulty_proxy import Fault, FaultyProxy, faulty_proxy

pytestmark = [pytest.mark.label_studio, pytest.mark.slow]


def questions_there(bench: Bench) -> Counter[str]:
    return Counter(t["data"]["question_id"] for expert in EXPERTS for t in bench.tasks(expert))


@pytest.mark.parametrize(
    ("part", "forward"), [("/api/projects/", True), ("/import", True), ("/import", False)]
)
def test_push_killed_anywhere_leaves_one_task_per_question(
    bench: Bench, proxy: FaultyProxy, part: str, forward: Any
) -> None:
    """Killed after a project was made, after tasks arrived, and before they were sent."""
    kill_at(bench, "label", "push", proxy=proxy, method="POST", part=part, forward=forward)
    made = bench.call("label", "push")
    assert len(made["experts"]) == 3
    assert bench.call("label", "push")["sent"] == 0
    there = questions_there(bench)
    assert len(there) == 30
    assert set(there.values()) == {1}
    with Store(bench.url) as store:
        markers = {q.marker for q in store.labelling.read_queues().values()}
    projects = bench.admin.do("GET", "/api/projects?page_size=1000")["results"]
    assert sum(any(m in p["description"] for m in markers) for p in projects) == 3
    task = bench.tasks("ana")[0]
    bench.people["ana"].answer(task["id"])
    assert bench.call("label", "pull")["new"] == 1


def test_a_reassignment_that_could_not_be_sent_says_how_to_send_it(bench: Bench, proxy: FaultyProxy) -> None:
    bench.edit("experts.toml", '"green"', '"green", "red"')
    bench.call("label", "push")
    moved = [task["data"]["question_id"] for task in bench.tasks("ana")]
    proxy.fault = lambda method, path: Fault(status=500, forward=False) if "/import" in path else None
    error = bench.call("label", "reassign", "ana", "bea", code=1)["error"]
    assert error.startswith(f"{len(moved)} open questions of ana were given to bea, but not all were sent")
    assert error.endswith("; send them with: oversight label push")
    proxy.fault = lambda method, path: None
    assert bench.call("label", "push")["sent"] == len(moved)
    assert not bench.tasks("ana")
    assert {task["data"]["question_id"] for task in bench.tasks("bea")} >= {*moved}


def test_a_replaced_expert_is_absent_if_questions_could_not_be_sent(bench: Bench, proxy: FaultyProxy) -> None:
    bench.edit("experts.toml", '"green"', '"green", "red"')
    bench.call("label", "push")
    proxy.fault = lambda method, path: Fault(status=500, forward=False) if "/import" in path else None
    assert "not all were sent" in bench.call("experts", "replace", "ana", "bea", code=1)["error"]
    with Store(bench.url) as store:
        assert list(store.people.read_absences()) == ["ana"]


def test_duplicates_of_a_repeated_import_are_removed(bench: Bench, proxy: FaultyProxy) -> None:
    """The answer to an import is lost, the import is repeated by somebody: one task a question stays."""
    bench.call("label", "push")
    project, tasks = bench.project("ana"), bench.tasks("ana")
    again = [{"data": task["data"]} for task in tasks]
    bench.admin.do("POST", f"/api/projects/{project}/import", again)
    pushed = bench.call("label", "push")
    assert pushed["experts"]["ana"]["removed"] == len(tasks)
    assert [t["id"] for t in bench.tasks("ana")] == [t["id"] for t in tasks]


def test_ids_are_read_back_if_the_server_does_not_tell_them(bench: Bench, proxy: FaultyProxy) -> None:
    proxy.fault = lambda method, path: Fault(body=lambda _: b'{"import": 7}') if "/import" in path else None
    assert bench.call("label", "push")["sent"] == 30
    with Store(bench.url) as store:
        assert all(task.task_id for task in store.labelling.read_tasks())
    bench.people["bea"].answer(bench.tasks("bea")[1]["id"])
    assert bench.call("label", "pull")["new"] == 1


def test_pull_killed_stores_a_project_whole_or_not_at_all(bench: Bench, proxy: FaultyProxy) -> None:
    bench.call("label", "push")
    for expert in EXPERTS:
        for task in bench.tasks(expert):
            bench.people[expert].answer(task["id"], "no")
    second = bench.project("bea")
    kill_at(bench, "label", "pull", proxy=proxy, method="GET", part=f"project={second}", forward=True)
    stored = bench.call("label", "status")["experts"]
    for expert, row in stored.items():
        assert row["answered"] in (0, row["asked"]), expert
    assert 0 < sum(row["answered"] for row in stored.values()) < 30
    assert bench.call("label", "pull")["answers"] == 30
    assert bench.call("label", "pull", "--full")["new"] == 0


def test_pull_goes_on_through_a_restart(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("restarting")
    server = start_server(folder=folder)
    try:
        monkeypatch.setenv("LABEL_STUDIO_API_KEY", server.token)
        with faulty_proxy(server.url) as proxy:
            monkeypatch.setenv("LABEL_STUDIO_URL", proxy.url)
            bench.call("label", "push")
            stop_server(folder=folder)
            assert find_server(folder=folder) is None
            starts = threading.Thread(target=lambda: start_server(folder=folder))

            def begin() -> None:
                if not starts.is_alive():
                    starts.start()

            proxy.fault = on("GET", "/api/projects", Fault(forward=False, status=502, hold=begin))
            with Store(bench.url) as store, Campaign(bench.study, store, patience=90) as desk:
                assert desk.pull().answers == 0
            starts.join()
            # The restarted server has the same port, token and tasks.
            assert find_server(folder=folder) is not None
            assert len(proxy.seen) > 5
    finally:
        stop_server(folder=folder)


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        (Fault(status=401, body=lambda _: b'{"detail": "Invalid token."}'), ConfigError, "refuses the token"),
        (Fault(status=403, body=lambda _: b'{"detail": "no"}'), ConfigError, "is not allowed to do this"),
        (Fault(status=500, body=lambda _: b'{"detail": "boom"}'), LabelStudioError, "status 500: boom"),
        (Fault(status=502, body=lambda _: b"<html>gateway</html>"), LabelStudioError, "status 502"),
        (Fault(drop=True), LabelStudioError, "cannot be reached"),
        (Fault(body=lambda data: data[: len(data) // 2]), LabelStudioError, "200|unreadable"),
    ],
)
def test_a_failing_server_changes_nothing(
    bench: Bench, proxy: FaultyProxy, fault: Fault, error: type[Exception], message: str
) -> None:
    bench.call("label", "push")
    for task in bench.tasks("ana"):
        bench.people["ana"].answer(task["id"])
    before = _snapshot(bench)
    proxy.fault = lambda method, path: fault if "/api/tasks" in path else None
    with Store(bench.url) as store, Campaign(bench.study, store, patience=0.3) as desk:
        with pytest.raises(error, match=message) as caught:
            desk.pull()
        assert os.environ["LABEL_STUDIO_API_KEY"] not in str(caught.value)
        assert _snapshot(bench) == before
        proxy.fault = lambda method, path: None
        assert desk.pull().new == len(bench.tasks("ana"))


def test_a_server_that_hangs_is_left(bench: Bench, proxy: FaultyProxy) -> None:
    bench.call("label", "push")
    done = threading.Event()
    proxy.fault = lambda method, path: Fault(hold=lambda: done.wait(60)) if "/api/tasks" in path else None
    with Store(bench.url) as store, Campaign(bench.study, store, patience=0, timeout=0.5) as desk:
        with pytest.raises(LabelStudioError, match="did not answer within"):
            desk.pull()
        done.set()


def test_a_short_failure_is_waited_out(bench: Bench, proxy: FaultyProxy) -> None:
    bench.call("label", "push")
    proxy.seen.clear()
    proxy.fault = on("GET", "/api/tasks", Fault(status=503), Fault(drop=True), Fault(body=lambda d: d[:20]))
    assert bench.call("label", "pull")["answers"] == 0
    # per expert: the number of later tasks, and the answered tasks
    assert sum("/api/tasks" in path for path in proxy.seen) == 3 + 2 * len(EXPERTS)


def test_truncated_pages_are_noticed(bench: Bench, proxy: FaultyProxy) -> None:
    import json

    bench.call("label", "push")
    for task in bench.tasks("ana")[:3]:
        bench.people["ana"].answer(task["id"], "no")

    def cut(data: bytes) -> bytes:
        page = json.loads(data)
        if "tasks" not in page:
            return data
        return json.dumps({**page, "tasks": page["tasks"][:-2]}).encode()

    proxy.fault = lambda method, path: Fault(body=cut) if "/api/tasks" in path else None
    short = pytest.raises(LabelStudioError, match=r"returned \d+ of \d+ entries of a list")
    with Store(bench.url) as store, Campaign(bench.study, store, patience=0.3) as desk, short:
        desk.pull()
    proxy.fault = on("GET", "/api/tasks", Fault(body=cut))
    assert bench.call("label", "pull")["answers"] == 3


def test_concurrent_pushes_do_not_send_twice(bench: Bench, proxy: FaultyProxy) -> None:
    waits, go = threading.Event(), threading.Event()

    def hold() -> None:
        waits.set()
        go.wait(60)

    proxy.fault = on("POST", "/import", Fault(hold=hold))
    first = subprocess.Popen(
        [sys.executable, "-m", "oversight.harness.cli.main", "label", "push"],
        cwd=bench.folder,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "LABEL_STUDIO_URL": proxy.url},
    )
    assert waits.wait(60)
    assert "is running: wait" in bench.call("label", "push", code=1)["error"]
    go.set()
    assert first.wait(60) == 0
    assert set(questions_there(bench).values()) == {1}


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("items.csv", "number 3.", " ", ("items.csv:5", "[text]")),
        ("experts.toml", "bea@example.org", "ana@example.org", ("experts.toml", "[email]")),
        ("experts.toml", 'name = "bea"', 'name = "bob"', ("experts.toml", "[name]", "'bea'")),
        ("experts.toml", "bea@example.org", "bea", ("experts.toml", "expert 2.email")),
        ("study.toml", "[models.m]", '[label_studio]\npage = "p.xml"\n[models.m]', ("p.xml:2", "'unsure'")),
        (
            "study.toml",
            "[models.m]",
            "[label_studio]\nisolated = 3\n[models.m]",
            ("study.toml:8", "isolated"),
        ),
        (
            "study.toml",
            "[models.m]",
            '[label_studio.descriptions]\npink = "?"\n[models.m]',
            ("study.toml", "descriptions.pink"),
        ),
    ],
)
def test_bad_input_is_named_before_anything_is_sent(
    bench: Bench, proxy: FaultyProxy, file: str, old: str, new: str, words: tuple[str, ...]
) -> None:
    Path("p.xml").write_text(
        '<View><Text name="item" value="$text"/>\n<Choices name="verdict" toName="item" choice="single">\n'
        '<Choice value="yes"/><Choice value="no"/></Choices></View>'
    )
    bench.edit(file, old, new)
    verb = "route" if file == "items.csv" else "push"
    failed = bench.call("label", verb, code=2)
    assert all(word in failed["error"] for word in words), failed["error"]
    assert proxy.seen == []
    with Store(bench.url) as store:
        assert store.labelling.read_queues() == {}


def test_pull_before_push_is_refused(bench: Bench) -> None:
    early = pytest.raises(BadInput, match="nothing was pushed yet")
    with Store(bench.url) as store, Campaign(bench.study, store) as desk, early:
        desk.pull()


def _snapshot(bench: Bench) -> Any:
    with Store(bench.url) as store:
        campaign = store.labelling
        return (
            store.content.read_answers(),
            campaign.read_queues(),
            campaign.read_quarantine(),
            campaign.read_revisions(),
        )
