"""Changes that other users or passing weeks make to a campaign are noticed, repaired and asked again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from oversight.harness.store import Store
from tests.e2e.conftest import Bench, region
from tests.fakes.faulty_proxy import FaultyProxy

pytestmark = [pytest.mark.label_studio, pytest.mark.slow]


def settings_of(bench: Bench, expert: str) -> dict[str, Any]:
    """The project as the server tells it."""
    found: dict[str, Any] = bench.admin.do("GET", f"/api/projects/{bench.project(expert)}")
    return found


def next_task(bench: Bench, expert: str) -> Any:
    """The task that an expert is served next; None when there is none."""
    person, project = bench.people[expert], bench.project(expert)
    reply = person.http.get(f"/api/projects/{project}/next")
    return reply.json()["id"] if reply.status_code == 200 else None


def test_a_prediction_is_removed_and_what_was_answered_in_front_of_it_is_asked_again(bench: Bench) -> None:
    bench.call("label", "push")
    ana, eve = bench.people["ana"], bench.people["eve"]
    project, tasks = bench.project("ana"), [task["id"] for task in bench.tasks("ana")]
    before, led, copied = tasks[:3]
    ana.answer(before, "no")
    for task in (before, led, copied):
        eve.do("POST", "/api/predictions/", {"task": task, "result": [region(["yes"])]})
    eve.do("PATCH", f"/api/projects/{project}/", {"show_collab_predictions": True, "show_skip_button": True})
    ana.answer(led, "yes")
    ana.answer(copied, "yes")
    pulled = bench.call("label", "pull")
    assert pulled["predictions"] == {"ana": 3}
    assert pulled["settings"] == {"ana": ["show_collab_predictions", "show_skip_button"]}
    # the first answer was given before the prediction existed
    assert (pulled["answers"], pulled["requeued"]) == (1, 2)
    found = settings_of(bench, "ana")
    assert not found["show_collab_predictions"]
    assert not found["show_skip_button"]
    assert found["total_predictions_number"] == 0
    now = [task["id"] for task in bench.tasks("ana")]
    assert len(now) == len(tasks)
    assert not {led, copied} & {*now}
    for task in bench.tasks("ana"):
        if task["id"] != before:
            ana.answer(task["id"], "no")
    assert bench.call("label", "pull")["answers"] == len(tasks)
    again = bench.call("label", "pull", "--full")
    assert (again["answers"], again["predictions"], again["settings"], again["requeued"]) == (
        len(tasks),
        {},
        {},
        0,
    )
    reasons = {q["reason"] for q in bench.call("label", "status")["quarantine"]}
    assert reasons == {"answered while the task showed somebody's prediction"}


def test_a_prediction_that_is_gone_again_is_told_by_the_answer_made_of_it(bench: Bench) -> None:
    bench.call("label", "push")
    task, ana = bench.tasks("ana")[0]["id"], bench.people["ana"]
    made = bench.people["eve"].do("POST", "/api/predictions/", {"task": task, "result": [region(["yes"])]})
    ana.answer(task, "yes", parent_prediction=made["id"])
    pulled = bench.call("label", "pull", "--no-requeue")
    assert (pulled["answers"], pulled["quarantined"]) == (0, 1)
    # Without the prediction, the server no longer shows the answer's origin, but the study has recorded it.
    assert bench.call("label", "pull", "--full", "--no-requeue")["answers"] == 0
    assert bench.call("label", "requeue")["requeued"] == 1
    assert bench.call("label", "requeue")["requeued"] == 0


@pytest.mark.parametrize("verb", [["label", "push"], ["label", "pull"], ["label", "watch", "--once"]])
def test_settings_are_checked_by_every_verb(bench: Bench, verb: list[str]) -> None:
    bench.call("label", "push")
    meant = settings_of(bench, "bea")
    changed = {
        "maximum_annotations": 1,
        "sampling": "Uniform sampling",
        "enable_empty_annotation": True,
        "expert_instruction": "Always say yes.",
        "show_instruction": True,
        "reveal_preannotations_interactively": True,
        "show_annotation_history": True,
        "skip_queue": "REQUEUE_FOR_OTHERS",
    }
    bench.people["eve"].do("PATCH", f"/api/projects/{bench.project('bea')}/", changed)
    said = bench.call(*verb)
    told = said["experts"]["bea"]["settings"] if verb[1] == "push" else said["settings"]["bea"]
    assert sorted(told) == sorted(changed)
    now = settings_of(bench, "bea")
    assert {name: now[name] for name in changed} == {name: meant[name] for name in changed}
    with Store(bench.url) as store:
        (event,) = [e for e in store.audit.read_records() if e.kind == "restored"]
    assert event.detail["settings"]["sampling"] == ["Uniform sampling", "Sequential sampling"]


def test_spoiled_questions_are_served_again(bench: Bench) -> None:
    """An invalid value, an edit by a neighbour, a contradiction, a changed text: asked again, once each."""
    bench.call("label", "push")
    ana, eve = bench.people["ana"], bench.people["eve"]
    invalid, edited, torn, altered, good, strange = (task["id"] for task in bench.tasks("ana")[:6])
    ana.answer(invalid, "maybe")
    eve.edit(ana.answer(edited, "no")["id"], "yes")
    ana.answer(torn, "yes"), ana.answer(torn, "no")
    data = bench.tasks("ana")[3]["data"]
    eve.do("PATCH", f"/api/tasks/{altered}/", {"data": {**data, "text": "something else"}})
    ana.answer(altered, "yes")
    ana.answer(good, "no")
    eve.answer(strange, "yes")  # ana is still asked this question
    for task in bench.tasks("ana")[6:]:
        ana.answer(task["id"], "no")
    assert next_task(bench, "ana") == strange
    ana.answer(strange, "no")
    assert next_task(bench, "ana") is None  # although four questions are open
    pulled = bench.call("label", "pull")
    assert pulled["requeued"] == 4
    assert bench.call("label", "status")["experts"]["ana"]["open"] == 4
    served = set[int]()
    while (task := next_task(bench, "ana")) is not None:
        served.add(task)
        ana.answer(task, "no")
    assert len(served) == 4
    last = bench.call("label", "pull")
    assert (last["new"], last["requeued"]) == (4, 0)
    row = bench.call("label", "status")["experts"]["ana"]
    assert (row["open"], row["foreign"]) == (0, 6)  # answers that did not count stay recorded


def test_close_reports_open_questions(bench: Bench) -> None:
    bench.call("label", "push")
    for task in bench.tasks("ana"):
        bench.people["ana"].answer(task["id"], "no")
    bench.people["bea"].answer(bench.tasks("bea")[0]["id"], "maybe")
    asked = {name: row["asked"] for name, row in bench.call("label", "status")["experts"].items()}
    closed = bench.call("label", "close")
    assert closed["open"] == {"bea": asked["bea"], "cem": asked["cem"]}
    assert closed["requeued"] == 0


def test_a_planted_task_is_not_taken_for_a_deleted_one(bench: Bench) -> None:
    bench.call("label", "push")
    eve, ana, project = bench.people["eve"], bench.people["ana"], bench.project("ana")
    first = bench.tasks("ana")[0]
    eve.do("DELETE", f"/api/tasks/{first['id']}/")
    planted = {"data": first["data"], "predictions": [{"result": [region(["yes"])]}]}
    eve.do("POST", f"/api/projects/{project}/import", [planted])
    there = bench.tasks("ana")[-1]["id"]
    ana.answer(there, "yes")
    assert bench.call("label", "pull", "--no-requeue")["answers"] == 0
    pushed = bench.call("label", "push")["experts"]["ana"]
    assert (pushed["foreign"] + pushed["removed"], pushed["adopted"], pushed["sent"]) == (1, 0, 1)
    mine = bench.tasks("ana")[-1]
    assert (mine["data"], mine["annotations"]) == (first["data"], [])
    ana.answer(mine["id"], "no")
    assert bench.call("label", "pull")["answers"] == 1


def test_a_clock_that_runs_ahead_loses_no_answer(bench: Bench, proxy: FaultyProxy) -> None:
    """A proxy's Date says an hour later than the server's notes."""
    proxy.date = (datetime.now(UTC) + timedelta(hours=1)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    bench.call("label", "push")
    tasks = [task["id"] for task in bench.tasks("ana")]
    bench.people["ana"].answer(tasks[0], "no")
    assert bench.call("label", "pull")["new"] == 1
    bench.people["ana"].answer(tasks[1], "no")
    assert bench.call("label", "pull")["new"] == 1
