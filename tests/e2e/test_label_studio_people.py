"""People's actions on the server between click and label lose, duplicate or forge no answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from oversight.harness.store import Store
from oversight.protocols.collect.label_studio.server.own_server import LabelStudioServer
from tests.e2e.conftest import Bench, Person, region, sign_up

pytestmark = [pytest.mark.label_studio, pytest.mark.slow]


def test_edits_deletions_and_second_answers_are_applied(bench: Bench) -> None:
    bench.call("label", "push")
    ana = bench.people["ana"]
    edited, deleted, doubled, torn = (task["id"] for task in bench.tasks("ana")[:4])
    first = ana.answer(edited, "yes")["id"]
    second = ana.answer(deleted, "no")["id"]
    ana.answer(doubled, "yes"), ana.answer(doubled, "yes")
    ana.answer(torn, "yes"), ana.answer(torn, "no")
    assert bench.call("label", "pull", "--no-requeue")["answers"] == 3
    reasons = Counter(q["reason"] for q in bench.call("label", "status")["quarantine"])
    assert reasons == {"second answer, same as the first": 1, "several answers that differ": 2}
    ana.edit(first, "no")
    ana.delete(second)
    changed = bench.call("label", "pull", "--no-requeue")
    assert (changed["changed"], changed["withdrawn"], changed["answers"]) == (1, 1, 2)
    row = bench.call("label", "status")["experts"]["ana"]
    assert (row["yes"], row["no"], row["revised"]) == (1, 1, 4)
    with Store(bench.url) as store:
        history = [r for r in store.labelling.read_revisions() if r.annotation_id in (first, second)]
    states: dict[int, list[tuple[str, bool]]] = {first: [], second: []}
    for r in history:
        states[r.annotation_id].append((r.result[0]["value"]["choices"][0], r.deleted))
    assert states == {
        first: [("yes", False), ("no", False)],
        second: [("no", False), ("no", True)],
    }
    ana.answer(deleted, "yes")
    assert bench.call("label", "pull", "--no-requeue")["new"] == 1


def test_deleting_an_account_withdraws_no_answer(
    bench: Bench, label_studio: LabelStudioServer, admin: Person
) -> None:
    dora = sign_up(label_studio, admin, "dora@example.org")
    bench.edit("experts.toml", "ana@example.org", "dora@example.org")
    bench.call("label", "push")
    first, second = (task["id"] for task in bench.tasks("ana")[:2])
    dora.answer(first, "yes")
    dora.delete(dora.answer(second, "no")["id"])
    assert bench.call("label", "pull")["answers"] == 1
    admin.do("DELETE", f"/api/users/{dora.id}/")
    dora.http.close()
    for _ in range(2):
        found = bench.call("label", "pull", "--full")
        assert (found["answers"], found["withdrawn"]) == (1, 0)


def test_foreign_annotations_do_not_count(bench: Bench) -> None:
    bench.call("label", "push")
    ana, eve, bea = bench.people["ana"], bench.people["eve"], bench.people["bea"]
    by_eve, by_bea, spoofed, changed, invited, own = (task["id"] for task in bench.tasks("ana")[:6])
    eve.answer(by_eve, "yes")
    bea.answer(by_bea, "no")
    eve.answer(spoofed, "yes", completed_by=ana.id, updated_by=ana.id, last_created_by=ana.id)
    eve.edit(ana.answer(changed, "no")["id"], "yes")
    data = bench.tasks("ana")[4]["data"]
    planted = {"completed_by": ana.id, "updated_by": ana.id, "result": [region(["yes"])]}
    project = bench.project("ana")
    eve.do("POST", f"/api/projects/{project}/import", [{"data": data, "annotations": [planted]}])
    eve.do("PATCH", f"/api/tasks/{invited}/", {"data": {**data, "text": "something else"}})
    ana.answer(invited, "yes")
    ana.answer(own, "no")
    assert bench.call("label", "pull", "--no-requeue")["answers"] == 1
    status = bench.call("label", "status")
    assert Counter(q["reason"] for q in status["quarantine"]) == {
        "answered by another user": 2,
        "written or changed by another user in the expert's name": 2,
        "a task that was never pushed": 1,
        "the task's text was changed on the server": 1,
    }
    assert status["experts"]["ana"]["foreign"] == 6
    # A stranger's answer does not close the question for the expert who was asked.
    ana.answer(by_eve, "no")
    assert bench.call("label", "pull", "--no-requeue")["answers"] == 2
    assert ana.do("GET", f"/api/projects/{project}/next")["id"] == by_bea


@pytest.mark.parametrize(
    "result",
    [
        [region(["maybe"])],
        [region(["yes", "no"])],
        [region([])],
        [region(["yes"]), region(["yes"])],
        [region(["yes"], name="other")],
        [],
    ],
)
def test_invalid_choices_count_for_nothing(bench: Bench, result: list[Any]) -> None:
    bench.call("label", "push")
    task = bench.tasks("cem")[0]["id"]
    bench.people["cem"].do("POST", f"/api/tasks/{task}/annotations/", {"result": result})
    assert bench.call("label", "pull")["answers"] == 0
    (row,) = bench.call("label", "status")["quarantine"]
    assert row["reason"] == "not one of the values offered"


def test_deleted_task_keeps_its_answer_and_open_ones_are_sent_again(bench: Bench) -> None:
    bench.call("label", "push")
    answered, untouched = (task["id"] for task in bench.tasks("ana")[:2])
    bench.people["ana"].answer(answered, "yes")
    bench.call("label", "pull")
    for task in (answered, untouched):
        bench.people["eve"].do("DELETE", f"/api/tasks/{task}/")
    assert bench.call("label", "pull")["answers"] == 1
    row = bench.call("label", "status")["experts"]["ana"]
    assert row["queued"] == row["asked"] - 2
    assert bench.call("label", "push")["sent"] == 1  # only unanswered questions are sent again
    assert len(bench.tasks("ana")) == row["asked"] - 1


def test_a_renamed_project_is_found_and_another_one_refused(bench: Bench) -> None:
    bench.call("label", "push")
    project = bench.project("ana")
    bench.people["eve"].do("PATCH", f"/api/projects/{project}/", {"title": "Something else"})
    bench.people["ana"].answer(bench.tasks("ana")[0]["id"])
    assert bench.call("label", "pull")["new"] == 1
    bench.people["eve"].do("PATCH", f"/api/projects/{project}/", {"description": ""})
    failed = bench.call("label", "pull", code=1)
    assert "belongs to another study, or its description was changed" in failed["error"]


def test_a_changed_page_is_noticed_and_put_back(bench: Bench) -> None:
    bench.call("label", "push")
    project = bench.project("ana")
    page = bench.admin.do("GET", f"/api/projects/{project}")["label_config"]
    swapped = page.replace('value="Yes" alias="yes"', 'value="No" alias="yes"')
    assert swapped != page
    bench.people["eve"].do("PATCH", f"/api/projects/{project}/", {"label_config": swapped})
    assert "page of 'ana' was changed" in bench.call("label", "pull", code=1)["error"]
    assert bench.call("label", "push")["experts"]["ana"]["restored"]
    assert bench.call("label", "pull")["answers"] == 0


def test_an_answer_from_elsewhere_stays(bench: Bench) -> None:
    bench.call("label", "push")
    tasks = bench.tasks("ana")
    bench.call("label", "export")
    path = bench.folder / "questions" / "questions-ana.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *(line.removesuffix(",,") + ",no," for line in lines[1:])]) + "\n")
    bench.call("label", "import", path)
    bench.people["ana"].answer(tasks[0]["id"], "no")
    bench.people["ana"].answer(tasks[1]["id"], "yes")
    assert bench.call("label", "pull")["answers"] == 0
    (row,) = bench.call("label", "status")["quarantine"]
    assert (row["reason"], row["detail"]) == ("the question has an answer from elsewhere", "no from offline")


def test_questions_of_an_erased_expert_are_sent_to_another(bench: Bench) -> None:
    bench.edit("experts.toml", '"green"', '"green", "red"')
    bench.call("label", "push")
    first, *left = [task["data"]["question_id"] for task in bench.tasks("ana")]
    bench.people["ana"].answer(bench.tasks("ana")[0]["id"], "yes")
    bench.call("label", "pull")
    roster = (bench.folder / "experts.toml").read_text().split("[[expert]]")
    kept = [part for part in roster if '"ana"' not in part]
    (bench.folder / "experts.toml").write_text("[[expert]]".join(kept))
    erased = bench.call("experts", "erase", "ana")
    assert (erased["answers"], erased["open"]) == (1, len(left))
    assert bench.call("label", "push")["sent"] == 0
    assert bench.call("label", "reassign", erased["name"], "bea")["moved"] == len(left)
    there = {task["data"]["question_id"] for task in bench.tasks("bea")}
    assert there >= {*left}
    assert first not in there


def test_an_answer_counts_when_the_one_from_elsewhere_is_withdrawn(bench: Bench) -> None:
    bench.call("label", "push")
    bench.call("label", "export")
    path = bench.folder / "questions" / "questions-ana.csv"
    head, *lines = path.read_text().splitlines()
    path.write_text("\n".join([head, *(line.removesuffix(",,") + ",no," for line in lines)]) + "\n")
    bench.call("label", "import", path)
    for task, verdict in zip(bench.tasks("ana"), ("no", "yes"), strict=False):
        bench.people["ana"].answer(task["id"], verdict)
    assert bench.call("label", "pull")["answers"] == 0
    with Store(bench.url) as store:
        queue = store.labelling.read_queues()["ana"]
        store.labelling.save_queue(replace(queue, cursor="2999-01-01T00:00:00+00:00"))
    path.write_text(path.read_text().replace(",no,", ",withdraw,"))
    bench.call("label", "import", path, "--change")
    assert bench.call("label", "pull")["new"] == 2
    assert bench.call("label", "status")["quarantine"] == []


def test_a_forgotten_comment_does_not_return(bench: Bench) -> None:
    bench.call("label", "push")
    task, ana = bench.tasks("ana")[0]["id"], bench.people["ana"]
    said = {"from_name": "comment", "to_name": "item", "type": "textarea", "value": {"text": ["My ward."]}}
    body = {"result": [region(["no"]), said]}
    number = ana.do("POST", f"/api/tasks/{task}/annotations/", body)["id"]

    def read_comments() -> list[str]:
        bench.call("label", "pull", "--full")
        with Store(bench.url) as store:
            return [reply.comment for reply in store.content.replies.read_replies().values()]

    assert read_comments() == ["My ward."]
    bench.call("experts", "forget", "ana")
    assert read_comments() == [""]
    said["value"] = {"text": ["Another ward."]}
    ana.do("PATCH", f"/api/annotations/{number}/", {"result": [region(["no"]), said]})
    assert read_comments() == ["Another ward."]
