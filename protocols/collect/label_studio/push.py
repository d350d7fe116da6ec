"""Send what is queued: after any interruption, the same command leaves one task per question.

What is about to be sent is noted first. If the answer never comes, nobody knows whether the tasks
arrived; so the next push reads the project, adopts what is there and sends the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness import LabelStudioError
from harness.store import LabellingRepository, Queue, QueuedTask
from protocols.collect.label_studio.labelling_page import is_same_page
from protocols.collect.label_studio.server import Client, Project
from protocols.collect.label_studio.task_payload import TaskSheet, hash_task

CHUNK = 500
TITLE_LENGTH = 50  # Label Studio's own limit; at least 3
CLOSED = "This project is finished. Answers given from now on are not counted."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """What a push did for one expert.

    Attributes
    ----------
    project, url
        Where the expert's questions are.
    sent, adopted, removed
        Tasks sent now, found to be there already, and removed as doubles of an interrupted push.
    restored
        Whether the page had been changed on the server and was put back.
    """

    project: int
    url: str
    sent: int
    adopted: int = 0
    removed: int = 0
    restored: bool = False


def push_queue(
    client: Client,
    labels: LabellingRepository,
    queue: Queue,
    sheet: TaskSheet,
    data: Mapping[str, Mapping[str, object]],
    answered: Collection[str],
) -> Pushed:
    """Bring one expert's project to the state of the queue.

    Parameters
    ----------
    data
        Question id → what the task holds.
    answered
        Questions with an answer; a task of theirs that is gone is not sent again.

    Raises
    ------
    LabelStudioError
        If the server fails, or has another number of tasks in the end.
    """
    project, restored = _open_project(client, labels, queue, sheet)
    queue = replace(queue, project_id=project.id, server=client.url)
    tasks = _tasks_of(labels, queue)
    adopted = removed = 0
    known = {task.question_id: task.task_id for task in tasks if task.task_id is not None}
    if project.tasks != len(known) or any(task.sending for task in tasks):
        adopted, removed, known = _reconcile(client, labels, queue, tasks)
    left = [t for t in tasks if t.question_id not in known and t.question_id not in answered]
    for start in range(0, len(left), CHUNK):
        chunk = left[start : start + CHUNK]
        sent = [data[task.question_id] for task in chunk]
        labels.mark_sending(replace(t, digest=hash_task(d)) for t, d in zip(chunk, sent, strict=True))
        ids = client.import_tasks(project.id, sent)
        if ids is not None:
            labels.set_task_ids(dict(zip((t.question_id for t in chunk), ids, strict=True)))
    _check_count(client, labels, queue)
    return Pushed(
        project=project.id,
        url=f"{client.url}/projects/{project.id}/data?labeling=1",
        sent=len(left),
        adopted=adopted,
        removed=removed,
        restored=restored,
    )


def check_project(client: Client, queue: Queue, found: Mapping[int, Project]) -> Project:
    """Return an expert's project as it is on the server, whatever it is called there.

    Raises
    ------
    LabelStudioError
        If it is not there, or is another study's.
    """
    project = found.get(queue.project_id or 0)
    if project is None or queue.marker not in project.description:
        what = "is not there" if project is None else "is another study's, or its description was changed"
        raise LabelStudioError(
            f"{client.url}: project {queue.project_id} of {queue.expert!r} {what}. Is it the "
            f"server it was pushed to ({queue.server})? Its description must contain {queue.marker}"
        )
    return project


def finish_project(client: Client, queue: Queue, study: str) -> None:
    """Say on the server that the project is finished, where whoever opens it cannot overlook it."""
    client.update_project(
        queue.project_id or 0,
        title=make_project_title(study, queue.expert, closed=True),
        description=f"{CLOSED} [{queue.marker}]",
        expert_instruction=CLOSED,
        show_instruction=True,
        is_published=False,
    )


def make_project_title(study: str, expert: str, *, closed: bool = False) -> str:
    """Title of an expert's project."""
    return f"{'(closed) ' * closed}{study} · {expert}"[:TITLE_LENGTH].ljust(3, "·")


def _open_project(
    client: Client, labels: LabellingRepository, queue: Queue, sheet: TaskSheet
) -> tuple[Project, bool]:
    """Return the expert's project, made if need be, and whether its page had to be put back."""
    if queue.project_id is not None:
        project = check_project(client, queue, client.read_projects([queue.project_id]))
        restored = not is_same_page(project.page, sheet.page)
        if restored:
            client.update_project(project.id, label_config=sheet.page)
        return project, restored
    description = f"Questions of the study {sheet.study} for {queue.expert}. Do not edit. [{queue.marker}]"
    # An earlier push may have been killed after the project was made.
    made = client.find_project(queue.marker) or client.create_project(
        make_project_title(sheet.study, queue.expert), sheet.page, description, sheet.instructions
    )
    labels.save_queue(replace(queue, project_id=made.id, server=client.url))
    return made, False


def _reconcile(
    client: Client, labels: LabellingRepository, queue: Queue, tasks: list[QueuedTask]
) -> tuple[int, int, dict[str, int]]:
    """Compare with what is on the server; return adopted, removed, and question → task there now."""
    there: dict[str, list[dict[str, Any]]] = defaultdict(list)
    rows = client.read_tasks(queue.project_id or 0)
    for row in rows:
        there[str(row["data"].get("question_id"))].append(row)
    present = {row["id"] for row in rows}
    ids: dict[str, int | None] = {}
    known: dict[str, int] = {}
    removed = adopted = 0
    for task in tasks:
        ours = [row for row in there[task.question_id] if hash_task(row["data"]) == task.digest]
        found = min((row["id"] for row in ours), default=None)
        keep = task.task_id if task.task_id in present else found
        if keep is not None:
            known[task.question_id] = keep
            adopted += keep != task.task_id
        if keep != task.task_id or task.sending:
            ids[task.question_id] = keep
        for row in ours:
            if row["id"] != keep and not row["annotations"]:
                client.delete_task(row["id"])
                removed += 1
    labels.set_task_ids(ids)
    if adopted:  # what was answered there before it was known must not be passed over
        labels.save_queue(replace(queue, cursor=""))
    return adopted, removed, known


def _check_count(client: Client, labels: LabellingRepository, queue: Queue) -> None:
    """Compare the number of tasks with the queue; where ids were not told, read them back."""
    tasks = _tasks_of(labels, queue)
    if any(task.sending for task in tasks):
        _reconcile(client, labels, queue, tasks)
        tasks = _tasks_of(labels, queue)
    expected = sum(task.task_id is not None for task in tasks)
    there = check_project(client, queue, client.read_projects([queue.project_id or 0])).tasks
    if any(task.sending for task in tasks) or there < expected:
        raise LabelStudioError(
            f"{client.url}: project {queue.project_id} of {queue.expert!r} holds {there} tasks, {expected} "
            "were sent; run the same command again"
        )


def _tasks_of(labels: LabellingRepository, queue: Queue) -> list[QueuedTask]:
    """The expert's whole queue, in its order."""
    return [task for task in labels.read_tasks() if task.expert == queue.expert]
