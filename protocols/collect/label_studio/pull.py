"""Bring answers home: what changed since the last look, or everything.

Whatever a task holds on the server decides its answer here, so that a pull may be repeated, killed or
overlap another without counting anything twice. A task that was removed over there keeps the answer it
had; an annotation that was removed takes its answer with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from harness import LabelStudioError
from harness.store import SOURCE, Pulled, Quarantined, Queue, QueuedTask, Response, Revision
from protocols.collect.label_studio.adjudication import Annotation, Judgement, Reason, adjudicate
from protocols.collect.label_studio.labelling_page import same_page
from protocols.collect.label_studio.task_payload import TaskSheet, digest

if TYPE_CHECKING:
    from protocols.collect.label_studio.server import Client, Project
    from protocols.collect.label_studio.snapshot import Snapshot

OVERLAP = timedelta(seconds=10)
"""Looked back at each pull, for changes that were being written during the last one."""


def pull_queue(
    client: Client,
    queue: Queue,
    project: Project,
    page: str,
    tasks: Sequence[QueuedTask],
    known: Snapshot,
    *,
    full: bool,
) -> tuple[Queue, Pulled]:
    """Pull one expert's project; return its queue, moved on to this look, and all that was looked at.

    Parameters
    ----------
    page
        The page as it was pushed.
    tasks
        The expert's whole queue.
    full
        Whether to read every task; done anyway at the first pull, and where the server has another
        number of tasks than were pushed.

    Raises
    ------
    LabelStudioError
        If the server fails or the page was changed; what was stored before stays as it was.
    """
    if not same_page(project.page, page):
        raise LabelStudioError(
            f"{client.url}: the labelling page of {queue.expert!r} was changed on the server, so answers "
            "may mean something else. Look at it; oversight label push puts it back, then pull again"
        )
    started = client.clock
    if queue.user_id is None:
        queue = replace(queue, user_id=client.users().get(queue.email), cursor="")
    by_id = {task.task_id: task for task in tasks if task.task_id is not None}
    full = full or not queue.cursor or project.tasks != len(by_id)
    since = None if full else datetime.fromisoformat(queue.cursor)
    rows = client.tasks(project.id, since)
    pulled = examine(queue, rows, by_id, known, full=full)
    return replace(queue, cursor=(started - OVERLAP).isoformat()), pulled


def examine(
    queue: Queue,
    rows: Iterable[Mapping[str, Any]],
    by_id: Mapping[int, QueuedTask],
    known: Snapshot,
    *,
    full: bool,
) -> Pulled:
    """Judge every task that was read; pure."""
    replies: list[Response] = []
    quarantine: list[Quarantined] = []
    revisions: list[Revision] = []
    seen: set[int] = set()
    for row in rows:
        task_id, task = int(row["id"]), by_id.get(row["id"])
        seen.add(task_id)
        annotations = [Annotation.of(a) for a in row["annotations"]]
        asked = None if task is None else known.asked[task.question_id]
        question_id = None if asked is None else asked.id
        revisions += _revisions(
            queue.expert, task_id, question_id, annotations, known.live.get((queue.expert, task_id), {})
        )
        offered = {} if asked is None else TaskSheet.offered(asked, known.items[asked.item_id])
        judged = _judge(row, task, annotations, queue.user_id, tuple(offered))
        if asked is not None and judged.annotation is not None:
            said = TaskSheet.skipped(asked) if judged.skipped else offered[judged.value or ""]
            other = known.elsewhere.get(asked.id)
            if other is None:
                replies.append(Response(asked.id, asked.expert, said, SOURCE, judged.comment))
            elif other.value != said:
                told = f"{other.value} from {other.source}"
                again = (*judged.rejected, (judged.annotation, Reason.ELSEWHERE, told))
                judged = replace(judged, rejected=again)
        quarantine += [
            Quarantined(queue.expert, a.id, task_id, question_id, reason.value, detail)
            for a, reason, detail in judged.rejected
        ]
    lost = {task.question_id for number, task in by_id.items() if full and number not in seen}
    gone = {*by_id, *known.quarantined.get(queue.expert, ())} if full else set()
    return Pulled(
        task_ids=frozenset(seen | gone),
        question_ids=frozenset(by_id[i].question_id for i in seen if i in by_id),
        replies=tuple(replies),
        quarantine=tuple(quarantine),
        revisions=tuple(revisions),
        lost=frozenset(lost),
    )


def _judge(
    row: Mapping[str, Any],
    task: QueuedTask | None,
    annotations: Sequence[Annotation],
    user_id: int | None,
    offered: Sequence[str],
) -> Judgement:
    if task is None:
        return Judgement(rejected=tuple((a, Reason.UNKNOWN_TASK, f"task {row['id']}") for a in annotations))
    if digest(row["data"]) != task.digest:
        return Judgement(rejected=tuple((a, Reason.ALTERED_TASK, f"task {row['id']}") for a in annotations))
    return adjudicate(annotations, user_id, offered)


def _revisions(
    expert: str,
    task_id: int,
    question_id: str | None,
    annotations: Sequence[Annotation],
    live: Mapping[int, Revision],
) -> list[Revision]:
    """States of annotations that are new, and the ends of those that are gone."""
    found = []
    for a in annotations:
        told = [a.author, a.editor, a.cancelled, list(a.result), a.updated_at]
        version = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]
        last = live.get(a.id)
        if last is None or last.version != version:
            found.append(
                Revision(
                    expert=expert,
                    annotation_id=a.id,
                    version=version,
                    task_id=task_id,
                    question_id=question_id,
                    deleted=False,
                    author=a.author,
                    editor=a.editor,
                    cancelled=a.cancelled,
                    result=list(a.result),
                    updated_at=a.updated_at,
                    seconds=a.seconds,
                )
            )
    here = {a.id for a in annotations}
    found += [
        Revision(**{**asdict(last), "version": f"{last.version}-gone", "deleted": True})
        for number, last in live.items()
        if number not in here
    ]
    return found
