"""SQL of a labelling campaign: the questions on a Label Studio server, and the answers from it.

The stored answers are those of the last pulled state of the server. In one transaction, a pull replaces the
answers and the quarantined annotations of each pulled task, and appends new revisions. If the server did not
change, a repeated pull changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from oversight.harness.store.audit.audit_trail import append_events
from oversight.harness.store.database import Repository
from oversight.harness.store.replies import ReplyRepository, Response
from oversight.harness.store.tables.insertion import count_rows, execute_many, row_of, select_values, upsert
from oversight.harness.store.tables.study_tables import (
    QUARANTINE,
    QUEUE,
    REVISION,
    TASK,
    AuditEvent,
    Quarantined,
    Queue,
    QueuedTask,
    Revision,
)

SOURCE = "label_studio"


@dataclass(frozen=True, slots=True)
class Pulled:
    """The annotations of the tasks that one pull of an expert's project returned."""

    task_ids: frozenset[int]
    question_ids: frozenset[str]
    replies: tuple[Response, ...]
    quarantine: tuple[Quarantined, ...]
    revisions: tuple[Revision, ...]
    lost: frozenset[str] = frozenset()


class LabellingRepository(Repository):
    """Experts' queues, the tasks in them, and the annotations pulled from the server."""

    def read_queues(self) -> dict[str, Queue]:
        """Return each expert's queue."""
        return {queue.expert: queue for queue in self._database.read_table(Queue, QUEUE, QUEUE.c.expert)}

    def save_queue(self, queue: Queue) -> None:
        """Save a queue, replacing the stored one."""
        with self._database.transaction() as connection:
            upsert(connection, QUEUE, [row_of(queue)])

    def read_tasks(self) -> list[QueuedTask]:
        """Return all queued questions, sorted by expert and place."""
        return self._database.read_table(QueuedTask, TASK, TASK.c.expert, TASK.c.place)

    def add_tasks(self, tasks: Sequence[QueuedTask]) -> None:
        """Add questions to queues, all or none."""
        self._database.write_rows(sa.insert(TASK), [row_of(t) for t in tasks])

    def mark_sending(self, tasks: Iterable[QueuedTask]) -> None:
        """Record that these tasks are about to be sent, and store the digests of their data."""
        change = _UPDATE_TASK.values(sending=True, digest=sa.bindparam("d"))
        self._database.write_rows(change, [{"q": t.question_id, "d": t.digest} for t in tasks])

    def set_task_ids(self, ids: Mapping[str, int | None]) -> None:
        """Store the task id of each question, and set `QueuedTask.sending` to False.

        The task id is None if the question is not on the server.
        """
        with self._database.transaction() as connection:
            _set_task_ids(connection, ids)

    def record_event(self, event: AuditEvent) -> None:
        """Add an event that happened on a labelling server to the audit trail."""
        with self._database.transaction(exclusive=True) as connection:
            append_events(connection, [event])

    def ask_again(self, again: Mapping[str, Sequence[Quarantined]]) -> None:
        """Record that questions have no task on the server any more and will be sent again.

        The quarantined annotations of these questions are kept, with `over` set to True.
        """
        with self._database.transaction(exclusive=True) as connection:
            _set_task_ids(connection, dict.fromkeys(again))
            ended = sa.update(QUARANTINE).where(QUARANTINE.c.question_id == sa.bindparam("q"))
            execute_many(connection, ended.values(over=True), [{"q": name} for name in again])
            append_events(
                connection,
                [
                    AuditEvent(
                        kind="requeued", way=SOURCE, person=found[0].expert, asked_id=question,
                        detail={"reasons": sorted({row.reason for row in found})},
                    )
                    for question, found in again.items()
                ],
            )  # fmt: skip

    def read_revisions(self) -> list[Revision]:
        """Return every state of every annotation, oldest first."""
        return self._database.read_table(Revision, REVISION, REVISION.c.position)

    def find_revisions(self, question_ids: Iterable[str]) -> list[Revision]:
        """Return every state of the annotations of a batch of questions, oldest first."""
        of_these = self._database.among(REVISION.c.question_id, question_ids)
        query = select_values(Revision, REVISION).where(of_these).order_by(REVISION.c.position)
        return self._database.read_values(Revision, query)

    def read_quarantine(self) -> list[Quarantined]:
        """Return all quarantined annotations."""
        order = (QUARANTINE.c.expert, QUARANTINE.c.annotation_id)
        return self._database.read_table(Quarantined, QUARANTINE, *order)

    def apply_look(self, queue: Queue, pulled: Pulled, replies: ReplyRepository) -> None:
        """Store the result of one pull of a labelling project, in one transaction.

        The result consists of answers, quarantined annotations, new revisions and the queue's cursor.
        """
        of_task = QUARANTINE.c.task_id == sa.bindparam("t")
        here = (QUARANTINE.c.expert == queue.expert, of_task, ~QUARANTINE.c.over)
        seen = sa.select(REVISION.c.annotation_id, REVISION.c.version).where(
            REVISION.c.expert == queue.expert
        )
        with self._database.transaction(exclusive=True) as connection:
            now = replies.find_replies(reply.id for reply in pulled.replies)
            if taken := {name for name, reply in now.items() if reply.source != SOURCE}:
                # Keep answers that arrived on another channel since the pull; the next pull reports them.
                pulled = replace(pulled, replies=tuple(r for r in pulled.replies if r.id not in taken))
                queue = replace(queue, cursor="")
            changes = replies.replace_replies(connection, pulled.question_ids, SOURCE, pulled.replies)
            execute_many(connection, sa.delete(QUARANTINE).where(*here), [{"t": t} for t in pulled.task_ids])
            # A server may reuse the id of a deleted annotation, so replace an existing row.
            upsert(connection, QUARANTINE, [row_of(q) for q in pulled.quarantine])
            known = set(connection.execute(seen).all())
            new = [r for r in pulled.revisions if (r.annotation_id, r.version) not in known]
            places = enumerate(new, count_rows(connection, REVISION))
            rows = [{**row_of(revision), "position": place} for place, revision in places]
            execute_many(connection, sa.insert(REVISION), rows)
            append_events(connection, [*map(_describe_revision, new), *changes])
            _set_task_ids(connection, dict.fromkeys(pulled.lost))
            upsert(connection, QUEUE, [row_of(queue)])


def _describe_revision(revision: Revision) -> AuditEvent:
    """Return the audit event of an annotation's state; its detail `version` is a hash of that state."""
    names = ("annotation_id", "task_id", "version", "author", "editor", "cancelled", "deleted", "updated_at")
    return AuditEvent(
        kind="revision",
        way=SOURCE,
        person=revision.expert,
        asked_id=revision.question_id or "",
        seconds=revision.seconds,
        detail={name: getattr(revision, name) for name in names},
    )


_UPDATE_TASK = sa.update(TASK).where(TASK.c.question_id == sa.bindparam("q"))


def _set_task_ids(connection: sa.Connection, ids: Mapping[str, int | None]) -> None:
    change = _UPDATE_TASK.values(task_id=sa.bindparam("t"), sending=False)
    execute_many(connection, change, [{"q": question, "t": task} for question, task in ids.items()])
