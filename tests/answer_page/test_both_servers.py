"""One study on the page and on Label Studio at once: one answer for each question, never overwritten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oversight.harness.store import SOURCE, Pulled, Queue, QueuedTask, Response, Store
from oversight.protocols.collect.answer_page.answer_desk import AnswerDesk, Outcome
from oversight.protocols.collect.answer_page.given_answer import GivenAnswer
from oversight.protocols.collect.label_studio.labelling_page import TaskSheet, hash_task
from oversight.protocols.collect.label_studio.pull import Snapshot, examine, keep_accepted
from oversight.protocols.collect.label_studio.push import remove_answered
from tests.answer_page.conftest import draw

QUEUE = Queue("ana", "m1", "http://x", 3, "ana@example.org", 5, "2026-01-01T00:00:00+00:00")


def push(study: Any, store: Store) -> dict[str, dict[str, object]]:
    """Ana's questions, as they lie on a server: question → what the task holds."""
    sheet, items = TaskSheet.of(study), store.read_shown_items()
    own = [q for q in store.content.read_questions() if q.expert == "ana"]
    data = {q.id: sheet.data(q, items[q.item_id]) for q in own}
    store.labelling.save_queue(QUEUE)
    store.labelling.add_tasks(
        [QueuedTask(name, "ana", j, hash_task(sent)) for j, (name, sent) in enumerate(data.items())]
    )
    store.labelling.set_task_ids({name: 100 + j for j, name in enumerate(data)})
    return data


def annotated(data: dict[str, dict[str, object]], name: str, verdict: str) -> list[dict[str, Any]]:
    """Label Studio's annotations of a task that ana answered there."""
    result = [{"from_name": "verdict", "value": {"choices": [verdict]}}]
    said = {
        "id": 7,
        "completed_by": 5,
        "updated_by": 5,
        "result": result,
        "updated_at": "2026-03-01T10:00:00Z",
    }
    return [{"id": 100 + list(data).index(name), "digest": hash_task(data[name]), "annotations": [said]}]


def test_an_answer_of_the_page_is_not_replaced_by_the_server(tmp_path: Path) -> None:
    study = draw(tmp_path)
    with Store(study.store_url) as store:
        data, desk = push(study, store), AnswerDesk(study, store)
        name = desk.tell_state("ana")["questions"][0]["id"]
        assert (
            desk.store_answer("ana", GivenAnswer(key="0" * 32, asked_id=name, value="yes")) is Outcome.STORED
        )
        for verdict, quarantined in (("no", ["the question has an answer from elsewhere"]), ("yes", [])):
            rows = annotated(data, name, verdict)
            pulled = examine(QUEUE, rows, Snapshot(study, store), there=None)
            assert pulled.replies == ()
            assert [row.reason for row in pulled.quarantine] == quarantined
            store.labelling.apply_look(QUEUE, pulled, store.replies(panel=False))
            assert store.content.replies.read_replies()[name] == Response(name, "ana", "yes", "page")
            assert len(store.labelling.read_quarantine()) == len(quarantined)


def test_an_answer_on_the_page_during_a_pull_is_kept(tmp_path: Path) -> None:
    study = draw(tmp_path)
    with Store(study.store_url) as store:
        data, desk = push(study, store), AnswerDesk(study, store)
        first, second = (question["id"] for question in desk.tell_state("ana")["questions"][:2])
        rows = annotated(data, first, "no") + annotated(data, second, "no")
        rows[1]["annotations"][0]["id"] = 8
        pulled = examine(QUEUE, rows, Snapshot(study, store), there=None)
        assert len(pulled.replies) == 2
        assert (
            desk.store_answer("ana", GivenAnswer(key="0" * 32, asked_id=first, value="yes")) is Outcome.STORED
        )
        store.labelling.apply_look(QUEUE, pulled, store.replies(panel=False))
        said = {i: (r.value, r.source) for i, r in store.content.replies.read_replies().items()}
        assert said == {first: ("yes", "page"), second: ("no", SOURCE)}
        assert store.labelling.read_queues()["ana"].cursor == ""
        again = examine(QUEUE, rows, Snapshot(study, store), there=set(range(100, 106)))
        assert [row.question_id for row in again.quarantine] == [first]
        assert (
            desk.store_answer("ana", GivenAnswer(key="1" * 32, asked_id=second, value="yes"))
            is Outcome.ELSEWHERE
        )


class Project:
    """The two calls about tasks, on a project that holds six of them."""

    def __init__(self, answered: int) -> None:
        self.tasks = [{"id": j, "annotations": [1] * (j == answered)} for j in range(100, 106)]

    def list_tasks(self, _project: int) -> list[dict[str, Any]]:
        return list(self.tasks)

    def delete_task(self, number: int) -> None:
        self.tasks = [task for task in self.tasks if task["id"] != number]


def test_a_question_answered_on_the_page_leaves_the_servers_queue(tmp_path: Path) -> None:
    study = draw(tmp_path)
    with Store(study.store_url) as store:
        data, desk = push(study, store), AnswerDesk(study, store)
        for key in ("0", "1"):
            name = desk.tell_state("ana")["questions"][0]["id"]
            desk.store_answer("ana", GivenAnswer(key=key * 32, asked_id=name, value="yes"))
        answered = list(store.content.replies.read_replies())
        places = [100 + list(data).index(name) for name in answered]
        project: Any = Project(answered=places[0])
        assert remove_answered(project, store.labelling, QUEUE, set(answered)) == 1
        assert places[1] not in {task["id"] for task in project.tasks}
        assert len(project.tasks) == 5, "what was answered there, too, waits for the next pull"
        ids = {task.question_id: task.task_id for task in store.labelling.read_tasks()}
        assert (ids[answered[0]], ids[answered[1]]) == (places[0], None)


def test_a_question_withdrawn_on_the_server_is_asked_on_the_page(tmp_path: Path) -> None:
    study = draw(tmp_path)
    with Store(study.store_url) as store:
        data, desk = push(study, store), AnswerDesk(study, store)
        name = desk.tell_state("ana")["questions"][0]["id"]
        pulled = examine(QUEUE, annotated(data, name, "no"), Snapshot(study, store), there=None)
        store.labelling.apply_look(QUEUE, pulled, store.replies(panel=False))
        assert desk.tell_state("ana")["elsewhere"] == 1
        gone = Pulled(frozenset(), frozenset({name}), (), (), ())
        store.labelling.apply_look(QUEUE, gone, store.replies(panel=False))
        assert desk.tell_state("ana")["questions"][0]["id"] == name
        assert (
            desk.store_answer("ana", GivenAnswer(key="0" * 32, asked_id=name, value="yes")) is Outcome.STORED
        )


@pytest.mark.parametrize("left", ["annotation without an author", "annotation without an editor", "nothing"])
@pytest.mark.parametrize("has_account", [True, False])
def test_a_deleted_account_withdraws_nothing_and_its_expert_may(
    left: str, tmp_path: Path, *, has_account: bool
) -> None:
    study = draw(tmp_path)
    with Store(study.store_url) as store:
        data, desk = push(study, store), AnswerDesk(study, store)
        name = desk.tell_state("ana")["questions"][0]["id"]
        rows, replies = annotated(data, name, "no"), store.replies(panel=False)
        store.labelling.apply_look(QUEUE, examine(QUEUE, rows, Snapshot(study, store), there=None), replies)
        if left == "nothing":
            rows = []
        else:
            rows[0]["annotations"][0]["updated_by"] = None
        if left == "annotation without an author":
            rows[0]["annotations"][0]["completed_by"] = None
        for _ in range(2):
            known = Snapshot(study, store)
            pulled = examine(QUEUE, rows, known, there=set(range(100, 106)))
            pulled = keep_accepted(QUEUE, pulled, known, [5, 9] if has_account else [9])
            store.labelling.apply_look(QUEUE, pulled, replies)
        stays = left != "nothing" or not has_account
        assert (name in store.content.replies.read_replies()) is stays
        assert store.labelling.read_quarantine() == []
