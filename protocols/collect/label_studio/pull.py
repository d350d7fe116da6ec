"""Bring answers home: what changed since the last look, or everything.

Whatever a task holds on the server decides its answer here, so that a pull may be repeated, killed or
overlap another without counting anything twice. A task that was removed over there keeps the answer it
had; an annotation that was removed takes its answer with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from harness import LabelStudioError
from harness.config import Study
from harness.store import SOURCE, Pulled, Quarantined, Queue, QueuedTask, Response, Revision, Store
from protocols.collect.label_studio.adjudication import Judgement, Reason, adjudicate, read_annotation
from protocols.collect.label_studio.labelling_page import is_same_page
from protocols.collect.label_studio.server import Client, Project
from protocols.collect.label_studio.task_payload import hash_task
from protocols.routing import read_pending

OVERLAP = timedelta(seconds=10)
"""Looked back at each pull, for changes that were being written during the last one."""


class Snapshot:
    """All that is known here before a pull: what was asked, what came another way, what was seen last time.

    Attributes
    ----------
    asked
        Id → question or assignment.
    items
        Item id → item.
    elsewhere
        Id → reply that came another way, such as a file.
    queued
        Expert → task id → task.
    live
        (expert, task id) → annotation id → its last revision, unless that was its end.
    quarantined
        Expert → ids of tasks with something in quarantine.
    """

    def __init__(self, study: Study, store: Store) -> None:
        replies = store.replies(panel=study.experts.is_panel).read_replies()
        self.asked = {a.id: a for a in read_pending(study, store)}
        self.items = store.read_shown_items()
        self.elsewhere = {i: r for i, r in replies.items() if r.source != SOURCE}
        self.queued: dict[str, dict[int, QueuedTask]] = defaultdict(dict)
        self.live: dict[tuple[str, int], dict[int, Revision]] = defaultdict(dict)
        self.quarantined: dict[str, set[int]] = defaultdict(set)
        for task in store.labelling.read_tasks():
            if task.task_id is not None:
                self.queued[task.expert][task.task_id] = task
        for revision in {(r.expert, r.annotation_id): r for r in store.labelling.read_revisions()}.values():
            if not revision.deleted:
                self.live[revision.expert, revision.task_id][revision.annotation_id] = revision
        for row in store.labelling.read_quarantine():
            self.quarantined[row.expert].add(row.task_id)


def pull_queue(
    client: Client, queue: Queue, project: Project, page: str, known: Snapshot, *, full: bool
) -> tuple[Queue, Pulled]:
    """Pull one expert's project; return its queue, moved on to this look, and what is there.

    Parameters
    ----------
    page
        The page as it was pushed.
    full
        Whether to read every task; done anyway at the first pull, and where the server has another
        number of tasks than were pushed.

    Raises
    ------
    LabelStudioError
        If the server fails or the page was changed; what was stored before stays as it was.
    """
    if not is_same_page(project.page, page):
        raise LabelStudioError(
            f"{client.url}: the labelling page of {queue.expert!r} was changed on the server, so answers "
            "may mean something else. Look at it; oversight label push puts it back, then pull again"
        )
    started = client.clock
    if queue.user_id is None:
        queue = replace(queue, user_id=client.read_users().get(queue.email), cursor="")
    full = full or not queue.cursor or project.tasks != len(known.queued[queue.expert])
    rows = client.read_tasks(project.id, None if full else datetime.fromisoformat(queue.cursor))
    pulled = examine(queue, rows, known, full=full)
    return replace(queue, cursor=(started - OVERLAP).isoformat()), pulled


def examine(queue: Queue, rows: Iterable[Mapping[str, Any]], known: Snapshot, *, full: bool) -> Pulled:
    """Judge every task that was read; pure."""
    tasks = known.queued[queue.expert]
    replies: list[Response] = []
    quarantine: list[Quarantined] = []
    revisions: list[Revision] = []
    seen: set[int] = set()
    for row in rows:
        task = tasks.get(row["id"])
        question_id = None if task is None else task.question_id
        annotations = [read_annotation(a, queue.expert, row["id"], question_id) for a in row["annotations"]]
        seen.add(row["id"])
        revisions += _find_changes(annotations, known.live[queue.expert, row["id"]])
        judged = _judge(row, task, annotations, queue.user_id, known)
        if task is not None and judged.value is not None:
            replies.append(Response(task.question_id, task.expert, judged.value, SOURCE, judged.comment))
        quarantine += [
            Quarantined(queue.expert, a.annotation_id, row["id"], question_id, reason.value, detail)
            for a, reason, detail in judged.rejected
        ]
    gone = {*tasks, *known.quarantined[queue.expert]} if full else set()
    return Pulled(
        task_ids=frozenset(seen | gone),
        question_ids=frozenset(tasks[i].question_id for i in seen & tasks.keys()),
        replies=tuple(replies),
        quarantine=tuple(quarantine),
        revisions=tuple(revisions),
        lost=frozenset(tasks[i].question_id for i in tasks.keys() - seen if full),
    )


def _judge(
    row: Mapping[str, Any],
    task: QueuedTask | None,
    annotations: Sequence[Revision],
    user_id: int | None,
    known: Snapshot,
) -> Judgement:
    """Judge one task; what was answered elsewhere keeps that answer."""
    if task is None or hash_task(row["data"]) != task.digest:
        reason = Reason.UNKNOWN_TASK if task is None else Reason.ALTERED_TASK
        return Judgement(rejected=tuple((a, reason, f"task {row['id']}") for a in annotations))
    asked = known.asked[task.question_id]
    judged = adjudicate(annotations, user_id, asked, known.items[asked.item_id])
    other = known.elsewhere.get(asked.id)
    if judged.annotation is None or other is None:
        return judged
    told = (judged.annotation, Reason.ELSEWHERE, f"{other.value} from {other.source}")
    again = () if other.value == judged.value else (told,)
    return replace(judged, value=None, rejected=(*judged.rejected, *again))


def _find_changes(annotations: Sequence[Revision], live: Mapping[int, Revision]) -> list[Revision]:
    """States of annotations that are new, and the ends of those that are gone."""
    here = {a.annotation_id for a in annotations}
    known = {(number, last.version) for number, last in live.items()}
    new = [a for a in annotations if (a.annotation_id, a.version) not in known]
    gone = [last for number, last in live.items() if number not in here]
    return new + [replace(last, version=f"{last.version}-gone", deleted=True) for last in gone]
