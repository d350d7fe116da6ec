"""Another user with an account moves or changes a task after an honest answer."""

from __future__ import annotations

from typing import Any

import pytest

from oversight.harness.store import Store
from tests.e2e.conftest import Bench

pytestmark = [pytest.mark.label_studio, pytest.mark.slow]


def act(bench: Bench, action: str, expert: str, tasks: list[int] | None = None, **more: Any) -> None:
    """Eve takes an action of the data manager upon an expert's tasks."""
    chosen = {"all": True, "excluded": []} if tasks is None else {"all": False, "included": tasks}
    path = f"/api/dm/actions?id={action}&project={bench.project(expert)}"
    bench.people["eve"].do("POST", path, {"selectedItems": chosen, **more})


def test_an_answer_that_was_moved_to_another_question_counts_for_nothing(bench: Bench) -> None:
    """The server moves answers of tasks that were made equal, and leaves their author and editor."""
    bench.call("label", "push")
    ana, eve = bench.people["ana"], bench.people["eve"]
    first, second = bench.tasks("ana")[:2]
    own = ana.answer(first["id"], "no")
    ana.answer(second["id"], "yes")
    assert bench.call("label", "pull")["answers"] == 2
    eve.do("PATCH", f"/api/tasks/{second['id']}/", {"data": first["data"]})
    act(bench, "remove_duplicates", "ana", [first["id"], second["id"]])
    eve.delete(own["id"])
    moved = bench.tasks("ana")[0]
    assert [(a["completed_by"], a["updated_by"]) for a in moved["annotations"]] == [(ana.id, ana.id)]
    pulled = bench.call("label", "pull")
    with Store(bench.url) as store:
        said = {a.question.id: a.verdict.value for a in store.content.read_answers()}
    assert said == {second["data"]["question_id"]: "yes"}
    assert (pulled["withdrawn"], pulled["requeued"]) == (1, 1)
    (row,) = bench.call("label", "status")["quarantine"]
    assert row["reason"] == "an answer to another question, moved to this one on the server"
    again = bench.call("label", "push")
    assert again["sent"] == 0
    tasks = {t["data"]["question_id"]: t for t in bench.tasks("ana")}
    ana.answer(tasks[first["data"]["question_id"]]["id"], "no")
    assert bench.call("label", "pull", "--full")["answers"] == 2
    assert bench.call("store", "verify")["holds"]


def test_answers_that_were_accepted_stay_when_their_texts_are_changed_later(bench: Bench) -> None:
    bench.call("label", "push")
    ana, tasks = bench.people["ana"], [task["id"] for task in bench.tasks("ana")]
    for task in tasks[:3]:
        ana.answer(task, "no")
    assert bench.call("label", "pull")["answers"] == 3
    act(bench, "add_data_field", "ana", value_name="text", value_type="String", value="something else")
    ana.answer(tasks[3], "yes")
    bench.people["eve"].edit(bench.tasks("ana")[2]["annotations"][0]["id"], "yes")
    pulled = bench.call("label", "pull", "--full", "--no-requeue")
    assert (pulled["answers"], pulled["withdrawn"]) == (2, 1)  # all except the answer that eve changed
    reasons = {q["reason"] for q in bench.call("label", "status")["quarantine"]}
    assert reasons == {"the task's text was changed on the server"}
    assert bench.call("label", "requeue")["requeued"] == 2
    open_before = bench.call("label", "status")["open"]
    closed = bench.call("label", "close")
    assert sum(closed["open"].values()) == open_before
    assert closed["answers"] == 2


def test_a_task_that_was_moved_here_in_place_of_one_is_found(bench: Bench) -> None:
    """As many tasks as were sent, and none behind the last: its number is one from before."""
    bench.call("label", "push")
    ana, eve, project = bench.people["ana"], bench.people["eve"], bench.project("ana")
    page = bench.admin.do("GET", f"/api/projects/{project}/")["label_config"]
    other = eve.do("POST", "/api/projects/", {"title": "a project of eve's", "label_config": page})["id"]
    gone, spoiled = bench.tasks("ana")[:2]
    planted = {"data": {**gone["data"], "question": "Is the answer something else?"}}
    eve.do("POST", f"/api/projects/{other}/import", [planted])
    number = eve.do("GET", f"/api/tasks/?project={other}")["tasks"][0]["id"]
    ana.answer(spoiled["id"], "maybe")
    # ana's repeated task gets a higher id than the planted task
    assert bench.call("label", "pull")["requeued"] == 1
    eve.do("DELETE", f"/api/tasks/{gone['id']}/")
    eve.do("PATCH", f"/api/tasks/{number}/?project={other}", {"project": project})
    assert number in {task["id"] for task in bench.tasks("ana")}
    assert bench.call("label", "pull")["foreign"] == {"ana": 1}
    pushed = bench.call("label", "push")["experts"]["ana"]
    assert (pushed["foreign"], pushed["sent"]) == (1, 1)
    asked = {task["data"]["question"] for task in bench.tasks("ana")}
    assert "Is the answer something else?" not in asked


def test_a_time_that_cannot_be_is_none(bench: Bench) -> None:
    """Times come from whoever sends the answer; hours are paid by them."""
    bench.call("label", "push")
    ana, tasks = bench.people["ana"], [task["id"] for task in bench.tasks("ana")]
    for task in tasks[:3]:
        ana.answer(task, "no", lead_time=-3600.0)
    bench.call("label", "pull")
    row = bench.call("label", "status")["experts"]["ana"]
    assert (row["answered"], row["timed"], row["hours"], row["seconds_left"]) == (3, 0, None, None)
