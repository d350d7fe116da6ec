"""Fetch answers from the server: those changed since the last pull, or all.

The present annotations of a task determine its answer in the study. So a pull can be repeated, killed or run
at the same time as another pull, and nothing is counted twice. If a task was deleted on the server, its
answer is kept. If an expert deleted an annotation, the answer is withdrawn. If an account was deleted, its
accepted answers are kept.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

from oversight.harness import LabelStudioError
from oversight.harness.config import Study
from oversight.harness.store import SOURCE, Pulled, Quarantined, Queue, QueuedTask, Response, Revision, Store
from oversight.protocols.collect.label_studio.adjudication import (
    Judgement,
    Reason,
    adjudicate,
    read_annotation,
)
from oversight.protocols.collect.label_studio.labelling_page import hash_task, is_same_page
from oversight.protocols.collect.label_studio.push import count_own_tasks
from oversight.protocols.collect.label_studio.server.client import Client, Project
from oversight.protocols.routing import read_pending

_LOGGER = logging.getLogger(__name__)
OVERLAP = timedelta(seconds=10)
"""Each pull also rereads this period before the newest known change, for changes being written then."""


class Snapshot:
    """The stored state before a pull: questions, answers from other channels, and the last pull.

    Attributes
    ----------
    asked
        Id → question or assignment.
    items
        Item id → item.
    elsewhere
        Question id → reply from another channel, for example a file.
    accepted
        Ids of questions whose stored answer came from Label Studio.
    queued
        Expert → task id → task.
    live
        (expert, task id) → annotation id → the annotation's last revision; deleted annotations are left out.
    homes
        (expert, annotation id) → id of the task where it was first seen.
    quarantined
        Expert → ids of tasks with quarantined annotations, except those that were sent again.
    rejected
        Expert → id of a quarantined annotation → reason.
    """

    def __init__(self, study: Study, store: Store) -> None:
        replies = store.replies(panel=study.experts.is_panel).read_replies()
        self.asked = {a.id: a for a in read_pending(study, store)}
        self.items = store.read_shown_items()
        self.elsewhere = {i: r for i, r in replies.items() if r.source != SOURCE}
        self.accepted = {i for i, r in replies.items() if r.source == SOURCE}
        self.queued: dict[str, dict[int, QueuedTask]] = defaultdict(dict)
        self.live: dict[tuple[str, int], dict[int, Revision]] = defaultdict(dict)
        self.quarantined: dict[str, set[int]] = defaultdict(set)
        for task in store.labelling.read_tasks():
            if task.task_id is not None:
                self.queued[task.expert][task.task_id] = task
        self.homes: dict[tuple[str, int], int] = {}
        last = dict[tuple[str, int], Revision]()
        for revision in store.labelling.read_revisions():
            name = (revision.expert, revision.annotation_id)
            self.homes.setdefault(name, revision.task_id)
            last[name] = revision
        for revision in last.values():
            if not revision.deleted:
                self.live[revision.expert, revision.task_id][revision.annotation_id] = revision
        self.rejected: dict[str, dict[int, str]] = defaultdict(dict)
        for row in store.labelling.read_quarantine():
            if not row.over:
                self.quarantined[row.expert].add(row.task_id)
                self.rejected[row.expert][row.annotation_id] = row.reason

    def has_unread(self, expert: str) -> bool:
        """Whether an annotation of an open question may count now, although it did not change.

        The annotation came while the question had an answer from another channel, and this answer was
        withdrawn later.
        """
        rejected, answered = self.rejected[expert], self.accepted | self.elsewhere.keys()
        return any(
            rejected.get(number, Reason.ELSEWHERE) == Reason.ELSEWHERE
            for place, task in self.queued[expert].items()
            if task.question_id not in answered
            for number in self.live.get((expert, place), ())
        )


def pull_queue(
    client: Client, queue: Queue, project: Project, page: str, known: Snapshot, *, full: bool
) -> tuple[Queue, Pulled, int]:
    """Fetch the answers of one expert's project.

    Parameters
    ----------
    page
        The labelling page that was pushed.
    full
        Whether to read every answered task. Every answered task is read in any case if no answer was read
        yet, the tasks on the server differ from the pushed tasks, or `Snapshot.has_unread` is True.

    Returns
    -------
    tuple
        The queue after this pull; the pulled content; the number of tasks in the project that no push sent.

    Raises
    ------
    LabelStudioError
        If the server fails or the page was changed; stored data remain.
    """
    if not is_same_page(project.page, page):
        raise LabelStudioError(
            f"{client.url}: the labelling page of {queue.expert!r} was changed on the server, so answers may "
            "have another meaning. Check the page, restore it with oversight label push, then pull again"
        )
    if queue.user_id is None:
        queue = replace(queue, user_id=client.read_users().get(queue.email), cursor="")
    tasks = known.queued[queue.expert]
    own = count_own_tasks(client, project, tasks)
    is_whole = project.tasks == len(tasks) == own
    predictions = client.read_predictions(project.id) if project.predictions else []
    if full or not queue.cursor or not is_whole or known.has_unread(queue.expert):
        rows = client.read_answered_tasks(project.id, hash_task)
        there = tasks.keys() if is_whole else {row["id"] for row in client.list_tasks(project.id)}
    else:
        rows = client.read_changed_tasks(project.id, datetime.fromisoformat(queue.cursor), hash_task)
        there = None
    since: dict[int, str] = {}
    for prediction in sorted(predictions, key=lambda p: p.created_at, reverse=True):
        since[prediction.task] = prediction.created_at
    _LOGGER.info("%s: %d answered tasks of %d were read", queue.expert, len(rows), project.tasks)
    pulled = examine(queue, rows, known, there=there, predicted=since)
    if find_withdrawn(pulled, known):
        pulled = keep_accepted(queue, pulled, known, client.read_users().values())
    return replace(queue, cursor=_move_on(queue.cursor, rows)), pulled, max(0, project.tasks - own)


def find_withdrawn(pulled: Pulled, known: Snapshot) -> frozenset[str]:
    """Return the questions whose stored answer came from the server but was not found there by this pull."""
    return (pulled.question_ids & known.accepted) - {reply.id for reply in pulled.replies}


def keep_accepted(queue: Queue, pulled: Pulled, known: Snapshot, accounts: Collection[int]) -> Pulled:
    """Drop a pull's withdrawals that are due only to deleted accounts, so that the answers are kept.

    Parameters
    ----------
    accounts
        Ids of all users that still exist on the server.
    """
    tasks = {task.question_id: number for number, task in known.queued[queue.expert].items()}
    kept = set[str]()
    for name in find_withdrawn(pulled, known):
        live = known.live.get((queue.expert, tasks[name]), {})
        authors = {queue.user_id, *(last.author for last in live.values())}
        if not authors <= {*accounts}:
            kept.add(name)
    return replace(pulled, question_ids=pulled.question_ids - kept)


def _move_on(cursor: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the time from which the next pull reads: slightly before the newest change."""
    newest = max((datetime.fromisoformat(row["updated_at"]) for row in rows), default=None)
    if newest is None:
        return cursor
    found = (newest - OVERLAP).isoformat()
    return max(cursor, found, key=datetime.fromisoformat) if cursor else found


def examine(
    queue: Queue,
    rows: Iterable[Mapping[str, Any]],
    known: Snapshot,
    *,
    there: Collection[int] | None,
    predicted: Mapping[int, str] | None = None,
) -> Pulled:
    """Judge every task that was read, without side effects.

    Parameters
    ----------
    there
        Ids of all tasks on the server if `rows` contains all answered tasks; None if `rows` contains only
        changed tasks.
    predicted
        Task id → time since which the task has a prediction.
    """
    tasks = known.queued[queue.expert]
    replies: list[Response] = []
    quarantine: list[Quarantined] = []
    revisions: list[Revision] = []
    seen: set[int] = set()
    rows = list(rows)
    for row in chain(rows, _find_emptied(queue, rows, known, there or ())):
        task = tasks.get(row["id"])
        question_id = None if task is None else task.question_id
        annotations = [read_annotation(a, queue.expert, row["id"], question_id) for a in row["annotations"]]
        spoiled = _find_spoiled(row, known, queue.expert, (predicted or {}).get(row["id"]))
        annotations = [_mark_moved(a, spoiled.get(a.annotation_id)) for a in annotations]
        live = known.live[queue.expert, row["id"]]
        annotations = [_keep_author(a, live.get(a.annotation_id)) for a in annotations]
        seen.add(row["id"])
        revisions += _find_changes(annotations, known.live[queue.expert, row["id"]])
        judged = _judge(row, task, annotations, queue.user_id, known, spoiled)
        if task is not None and judged.value is not None:
            comment = "" if _is_forgotten(judged.annotation, live) else judged.comment
            replies.append(Response(task.question_id, task.expert, judged.value, SOURCE, comment))
        quarantine += [
            Quarantined(queue.expert, a.annotation_id, row["id"], question_id, reason.value, detail)
            for a, reason, detail in judged.rejected
        ]
    gone = set() if there is None else {*tasks, *known.quarantined[queue.expert]}
    return Pulled(
        task_ids=frozenset(seen | gone),
        question_ids=frozenset(tasks[i].question_id for i in seen & tasks.keys()),
        replies=tuple(replies),
        quarantine=tuple(quarantine),
        revisions=tuple(revisions),
        lost=frozenset()
        if there is None
        else frozenset(tasks[i].question_id for i in tasks.keys() - {*there}),
    )


def _find_emptied(
    queue: Queue, rows: Sequence[Mapping[str, Any]], known: Snapshot, there: Collection[int]
) -> list[dict[str, Any]]:
    """Return the tasks that had an annotation at the last pull and have none at present."""
    answered, tasks = {row["id"] for row in rows}, known.queued[queue.expert]
    had = {task for expert, task in known.live if expert == queue.expert and known.live[expert, task]}
    return [
        {"id": i, "digest": "", "annotations": []} for i in sorted((had & {*there} & {*tasks}) - answered)
    ]


def _find_spoiled(
    row: Mapping[str, Any], known: Snapshot, expert: str, since: str | None
) -> dict[int, Reason]:
    """Return those annotations of a task that cannot count, each with the reason.

    An annotation cannot count if it was made from a prediction or while the task had a prediction, or if the
    server moved it from a duplicate task. A moved annotation keeps its author and editor.
    """
    found, before = dict[int, Reason](), known.rejected[expert]
    start = None if since is None else datetime.fromisoformat(since)
    for a in row["annotations"]:
        name = int(a["id"])
        is_led = before.get(name) == Reason.PRELABELLED or a.get("parent_prediction")
        if is_led or (start is not None and _changed_at(a) >= start):
            found[name] = Reason.PRELABELLED
        if known.homes.get((expert, name), row["id"]) != row["id"]:
            found[name] = Reason.MOVED
    return found


def _mark_moved(annotation: Revision, reason: Reason | None) -> Revision:
    """Return an annotation; if it was moved to another task, change its version so that it counts as new."""
    version = annotation.version
    return replace(annotation, version=f"{version}-moved" if reason is Reason.MOVED else version)


def _keep_author(annotation: Revision, last: Revision | None) -> Revision:
    """Return `last` if `annotation` only lost its author or editor since then, otherwise `annotation`."""
    if last is None or None not in (annotation.author, annotation.editor):
        return annotation
    said = annotation.result, annotation.cancelled, annotation.version.endswith("-moved")
    is_same = said == (last.result, last.cancelled, last.version.endswith("-moved"))
    kept = annotation.author in (None, last.author) and annotation.editor in (None, last.editor)
    return last if is_same and kept else annotation


def _is_forgotten(annotation: Revision | None, live: Mapping[int, Revision]) -> bool:
    """Whether the stored texts of an annotation were erased, and the annotation is still the same."""
    last = None if annotation is None else live.get(annotation.annotation_id)
    return (
        last is not None
        and annotation is not None
        and last.version == annotation.version
        and not last.is_whole
    )


def _changed_at(annotation: Mapping[str, Any]) -> datetime:
    told = annotation.get("updated_at") or annotation.get("created_at")
    found = told if isinstance(told, datetime) else datetime.fromisoformat(str(told))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _judge(
    row: Mapping[str, Any],
    task: QueuedTask | None,
    annotations: Sequence[Revision],
    user_id: int | None,
    known: Snapshot,
    spoiled: Mapping[int, Reason],
) -> Judgement:
    """Decide which annotation of a task counts: none if the question was answered on another channel.

    An annotation that was accepted before somebody changed the task's text still counts.
    """
    if not annotations:
        return Judgement()
    if task is None:
        where = f"task {row['id']}"
        return Judgement(rejected=tuple((a, Reason.UNKNOWN_TASK, where) for a in annotations))
    reasons = dict(spoiled)
    if row["digest"] != task.digest:
        live, rejected = known.live[task.expert, row["id"]], known.rejected[task.expert]
        for a in annotations:
            last = live.get(a.annotation_id)
            if last is None or last.version != a.version or a.annotation_id in rejected:
                reasons.setdefault(a.annotation_id, Reason.ALTERED_TASK)
    asked = known.asked[task.question_id]
    free = [a for a in annotations if a.annotation_id not in reasons]
    judged = adjudicate(free, user_id, asked, known.items[asked.item_id])
    told = [(a, reasons[a.annotation_id], "") for a in annotations if a.annotation_id in reasons]
    judged = replace(judged, rejected=(*judged.rejected, *told))
    other = known.elsewhere.get(asked.id)
    if judged.annotation is None or other is None:
        return judged
    late = (judged.annotation, Reason.ELSEWHERE, f"{other.value} from {other.source}")
    again = () if other.value == judged.value else (late,)
    return replace(judged, value=None, rejected=(*judged.rejected, *again))


def _find_changes(annotations: Sequence[Revision], live: Mapping[int, Revision]) -> list[Revision]:
    """Return the annotations that are new or changed compared with `live`.

    An annotation of `live` that no longer exists is returned too, marked as deleted.
    """
    here = {a.annotation_id for a in annotations}
    known = {(number, last.version) for number, last in live.items()}
    new = [a for a in annotations if (a.annotation_id, a.version) not in known]
    gone = [last for number, last in live.items() if number not in here]
    return new + [replace(last, version=f"{last.version}-gone", deleted=True) for last in gone]
