"""Send queued questions. After an interruption, repeat the command: each question still gets only one task.

Tasks are recorded before they are sent. If no reply arrives, it is unknown whether the server has them. So
the next push reads the project, adopts the tasks that it finds and sends the missing ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from oversight.harness import LabelStudioError
from oversight.harness.store import SOURCE, AuditEvent, LabellingRepository, Queue, QueuedTask, Response
from oversight.protocols.collect.label_studio.labelling_page import TaskSheet, hash_task, is_same_page
from oversight.protocols.collect.label_studio.server.client import Client, Project

CHUNK = 1000
# Label Studio accepts titles of 3 to 50 characters.
TITLE_LENGTH = 50
CLOSED = "This project is finished. Answers given from now on are not counted."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """Result of a push for one expert.

    Attributes
    ----------
    project, url
        Project with the expert's questions, and its address.
    sent, adopted, removed
        Numbers of tasks: sent by this push; sent by an interrupted push and now found on the server; removed
        because they were duplicates.
    restored
        Whether somebody had changed the page on the server, so that this push restored it.
    settings
        Other project settings that somebody had changed and this push restored.
    foreign
        Number of tasks that no push had sent and that were removed from the project.
    """

    project: int
    url: str
    sent: int
    adopted: int = 0
    removed: int = 0
    restored: bool = False
    settings: tuple[str, ...] = ()
    foreign: int = 0


def push_queue(
    client: Client,
    labels: LabellingRepository,
    queue: Queue,
    sheet: TaskSheet,
    data: Mapping[str, Mapping[str, object]],
    answered: Mapping[str, Response],
) -> Pushed:
    """Make one expert's project match the queue.

    Parameters
    ----------
    data
        Question id → data of the task.
    answered
        Question id → answer. If the task of an answered question was deleted, it is not sent again. If a
        question was answered outside Label Studio, its open task is removed.

    Raises
    ------
    LabelStudioError
        If the server fails, or the number of tasks is wrong at the end.
    """
    project, restored = _open_project(client, labels, queue, sheet)
    settings = put_back_settings(client, labels, queue, project, sheet.instructions)
    queue = replace(queue, project_id=project.id, server=client.public_url)
    elsewhere = {name for name, reply in answered.items() if reply.source != SOURCE}
    remove_answered(client, labels, queue, elsewhere)
    tasks = _tasks_of(labels, queue)
    found = Reconciled({t.question_id: t.task_id for t in tasks if t.task_id is not None})
    if any(task.sending for task in tasks) or not has_own_tasks(client, project, found.known.values()):
        found = _reconcile(client, labels, queue, tasks)
    left = [t for t in tasks if t.question_id not in found.known and t.question_id not in answered]
    for start in range(0, len(left), CHUNK):
        chunk = left[start : start + CHUNK]
        sent = [data[task.question_id] for task in chunk]
        labels.mark_sending(replace(t, digest=hash_task(d)) for t, d in zip(chunk, sent, strict=True))
        ids = client.import_tasks(project.id, sent)
        if ids is not None:
            labels.set_task_ids(dict(zip((t.question_id for t in chunk), ids, strict=True)))
    foreign = found.foreign + _check_tasks(client, labels, queue)
    return Pushed(
        project=project.id,
        url=f"{client.public_url}/projects/{project.id}/data?labeling=1",
        sent=len(left),
        adopted=found.adopted,
        removed=found.removed,
        restored=restored,
        settings=settings,
        foreign=foreign,
    )


def remove_answered(
    client: Client, labels: LabellingRepository, queue: Queue, elsewhere: Collection[str]
) -> int:
    """Remove open tasks whose questions were answered outside Label Studio. Returns their number."""
    there = {
        task.task_id: task.question_id
        for task in _tasks_of(labels, queue)
        if task.task_id is not None and task.question_id in elsewhere
    }
    seen = {revision.task_id for revision in labels.find_revisions(there.values())} if there else set[int]()
    if not there.keys() - seen:
        return 0
    rows = client.list_tasks(queue.project_id or 0)
    gone = [row["id"] for row in rows if row["id"] in there.keys() - seen and not row["annotations"]]
    for number in gone:
        client.delete_task(number)
        labels.set_task_ids({there[number]: None})
    return len(gone)


def has_own_tasks(client: Client, project: Project, known: Collection[int]) -> bool:
    """Whether a project has exactly the tasks that were sent."""
    return project.tasks == len(known) == count_own_tasks(client, project, known)


def count_own_tasks(client: Client, project: Project, known: Collection[int]) -> int:
    """Return the number of sent tasks that exist on the server.

    Tasks are counted by id, because the project can also contain tasks that no push sent. Tasks sent together
    have consecutive ids, so a few ranges of ids contain all sent tasks.
    """
    ranges = list[tuple[int, int]]()
    for number in sorted(known):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return client.count_tasks_among(project.id, ranges)


def put_back_settings(
    client: Client, labels: LabellingRepository, queue: Queue, project: Project, instructions: str
) -> tuple[str, ...]:
    """Restore the settings that somebody changed. Returns their names."""
    changed = project.find_changed(instructions)
    if not changed:
        return ()
    client.update_project(project.id, **changed)
    found = {name: [str(project.settings[name]), str(value)] for name, value in changed.items()}
    labels.record_event(
        AuditEvent(kind="restored", way=SOURCE, person=queue.expert, detail={"settings": found})
    )
    return tuple(sorted(changed))


def remove_predictions(client: Client, labels: LabellingRepository, queue: Queue, project: Project) -> int:
    """Remove the predictions that somebody added to a project's tasks. Returns their number."""
    found = client.read_predictions(project.id) if project.predictions else []
    for prediction in found:
        client.delete_prediction(prediction.id)
        told = {"prediction": prediction.id, "task": prediction.task, "made": prediction.created_at}
        labels.record_event(AuditEvent(kind="removed", way=SOURCE, person=queue.expert, detail=told))
    return len(found)


def check_project(client: Client, queue: Queue, found: Mapping[int, Project]) -> Project:
    """Return an expert's project on the server, whatever its present title.

    Raises
    ------
    LabelStudioError
        If the project does not exist, or belongs to another study.
    """
    project = found.get(queue.project_id or 0)
    if project is None or queue.marker not in project.description:
        what = (
            "does not exist"
            if project is None
            else ("belongs to another study, or its description was changed")
        )
        raise LabelStudioError(
            f"{client.url}: project {queue.project_id} of {queue.expert!r} {what}; check that this is the "
            f"server the project was pushed to ({queue.server}), and that the project's description "
            f"contains {queue.marker}"
        )
    return project


def finish_project(client: Client, queue: Queue, study: str) -> None:
    """Mark the project as finished in its title, description and instructions."""
    client.update_project(
        queue.project_id or 0,
        title=make_project_title(study, queue.expert, closed=True),
        description=f"{CLOSED} [{queue.marker}]",
        expert_instruction=CLOSED,
        show_instruction=True,
        is_published=False,
    )


def make_project_title(study: str, expert: str, *, closed: bool = False) -> str:
    """Return the title of an expert's project."""
    return f"{'(closed) ' * closed}{study} · {expert}"[:TITLE_LENGTH].ljust(3, "·")


def _open_project(
    client: Client, labels: LabellingRepository, queue: Queue, sheet: TaskSheet
) -> tuple[Project, bool]:
    """Find or create the expert's project. Returns the project, and whether its page was restored."""
    if queue.project_id is not None:
        project = check_project(client, queue, client.read_projects([queue.project_id]))
        restored = not is_same_page(project.page, sheet.page)
        if restored:
            client.update_project(project.id, label_config=sheet.page)
        return project, restored
    description = f"Questions of the study {sheet.study} for {queue.expert}. Do not edit. [{queue.marker}]"
    # An earlier push may have been killed after it created the project.
    made = next(iter(client.find_projects(queue.marker)), None)
    if made is None:
        title = make_project_title(sheet.study, queue.expert)
        made = client.create_project(title, sheet.page, description, sheet.instructions)
        # If the server's database was locked, the request was repeated and created several projects.
        for double in client.find_projects(queue.marker):
            if double.id != made.id and not double.tasks:
                client.delete_project(double.id)
    labels.save_queue(replace(queue, project_id=made.id, server=client.public_url))
    return made, False


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The queue after it was matched with its tasks on the server."""

    known: dict[str, int]
    adopted: int = 0
    removed: int = 0
    foreign: int = 0


def _reconcile(
    client: Client, labels: LabellingRepository, queue: Queue, tasks: list[QueuedTask]
) -> Reconciled:
    """Match the queue with the tasks on the server, and remove tasks that no push sent."""
    rows = client.list_tasks(queue.project_id or 0)
    there: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        there[str(row["data"].get("question_id"))].append(row)
    present, ids, known = {row["id"] for row in rows}, dict[str, int | None](), dict[str, int]()
    doubles, adopted = list[dict[str, Any]](), 0
    for task in tasks:
        ours = [row for row in there[task.question_id] if hash_task(row["data"]) == task.digest]
        # A task can exist on the server without a stored id only if its sending was interrupted.
        found = min((row["id"] for row in ours), default=None) if task.sending else None
        keep = task.task_id if task.task_id in present else found
        if keep is not None:
            known[task.question_id] = keep
            adopted += keep != task.task_id
        if keep != task.task_id or task.sending:
            ids[task.question_id] = keep
        doubles += [row for row in ours if row["id"] != keep]
    labels.set_task_ids(ids)
    own = {*known.values(), *(row["id"] for row in doubles)}
    foreign = [row for row in rows if row["id"] not in own]
    for row in (*doubles, *foreign):
        client.delete_task(row["id"])
        told = {"task": row["id"], "digest": hash_task(row["data"]), "annotations": len(row["annotations"])}
        labels.record_event(AuditEvent(kind="removed", way=SOURCE, person=queue.expert, detail=told))
    # Read all answers again, because some may have been given before the task was recorded.
    if adopted:
        labels.save_queue(replace(queue, cursor=""))
    return Reconciled(known, adopted, len(doubles), len(foreign))


def _check_tasks(client: Client, labels: LabellingRepository, queue: Queue) -> int:
    """Match the queue with the server's tasks until both agree.

    Returns the number of tasks that no push had sent and that were removed.
    """
    foreign = 0
    for _ in range(2):
        tasks = _tasks_of(labels, queue)
        known = [task.task_id for task in tasks if task.task_id is not None]
        project = check_project(client, queue, client.read_projects([queue.project_id or 0]))
        if not any(task.sending for task in tasks) and has_own_tasks(client, project, known):
            return foreign
        foreign += _reconcile(client, labels, queue, tasks).foreign
    tasks = _tasks_of(labels, queue)
    expected = sum(task.task_id is not None for task in tasks)
    there = check_project(client, queue, client.read_projects([queue.project_id or 0])).tasks
    if any(task.sending for task in tasks) or there != expected:
        raise LabelStudioError(
            f"{client.url}: project {queue.project_id} of {queue.expert!r} has {there} tasks, but {expected} "
            "were sent; run the same command again"
        )
    return foreign


def _tasks_of(labels: LabellingRepository, queue: Queue) -> list[QueuedTask]:
    """Return the expert's whole queue in order."""
    return [task for task in labels.read_tasks() if task.expert == queue.expert]
