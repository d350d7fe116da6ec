"""SQL of a labelling campaign: which question lies where on a server, and what came back.

Answers are a function of what was last seen on the server. So a pull replaces, task by task and in
one transaction, the answers and the quarantine, and appends to the revisions; repeated, it changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlmodel import SQLModel

from harness.store.responses import Response, Responses
from harness.store.tables import LabelQuarantineRow, LabelQueueRow, LabelRevisionRow, LabelTaskRow, table_of

if TYPE_CHECKING:
    from harness.store.repository import Repository

SOURCE = "label_studio"


@dataclass(frozen=True, slots=True)
class Queue:
    """One expert's project; ids are None until the server has told them."""

    expert: str
    marker: str
    server: str = ""
    project_id: int | None = None
    email: str = ""
    user_id: int | None = None
    cursor: str = ""
    closed: bool = False


@dataclass(frozen=True, slots=True)
class QueuedTask:
    """Place of a question or assignment; `sending` since before it is sent until its id is known."""

    question_id: str
    expert: str
    place: int
    digest: str
    task_id: int | None = None
    sending: bool = False


@dataclass(frozen=True, slots=True)
class Revision:
    """One state of an annotation, `version` being the hash of it."""

    expert: str
    annotation_id: int
    version: str
    task_id: int
    question_id: str | None
    deleted: bool
    author: int | None
    editor: int | None
    cancelled: bool
    result: list[Any]
    updated_at: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Quarantined:
    """An annotation that counts for nothing, and why."""

    expert: str
    annotation_id: int
    task_id: int
    question_id: str | None
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Pulled:
    """What one look at an expert's project says of the tasks it looked at."""

    task_ids: frozenset[int]
    question_ids: frozenset[str]
    replies: tuple[Response, ...]
    quarantine: tuple[Quarantined, ...]
    revisions: tuple[Revision, ...]
    lost: frozenset[str] = frozenset()


class LabellingStore:
    """The label tables of a study's database.

    Parameters
    ----------
    store
        The study's database.
    panel
        Whether a panel's assignments are queued; else experts' questions.
    """

    def __init__(self, store: Repository, *, panel: bool = False) -> None:
        self._store, self.book = store, Responses(store, panel=panel)

    def queues(self) -> dict[str, Queue]:
        """Expert → queue, by name."""
        return {queue.expert: queue for queue in self._read(Queue, LabelQueueRow, "expert")}

    def save_queue(self, queue: Queue) -> None:
        """Store a queue, over what was there."""
        table = table_of(LabelQueueRow)
        with self._store.transaction() as connection:
            changed = connection.execute(
                sa.update(table).where(table.c.expert == queue.expert), asdict(queue)
            ).rowcount
            if not changed:
                connection.execute(sa.insert(table), asdict(queue))

    def tasks(self) -> list[QueuedTask]:
        """All queued questions, by expert and place."""
        return self._read(QueuedTask, LabelTaskRow, "expert", "place")

    def add_tasks(self, tasks: Sequence[QueuedTask]) -> None:
        """Queue questions; all or none."""
        self._write([(sa.insert(table_of(LabelTaskRow)), [asdict(t) for t in tasks])])

    def mark_sending(self, tasks: Iterable[QueuedTask]) -> None:
        """Note that these are about to be sent, with the data as their digest says."""
        table = table_of(LabelTaskRow)
        change = sa.update(table).where(table.c.question_id == sa.bindparam("q"))
        values = change.values(sending=True, digest=sa.bindparam("d"))
        self._write([(values, [{"q": t.question_id, "d": t.digest} for t in tasks])])

    def set_task_ids(self, ids: Mapping[str, int | None]) -> None:
        """Note the server's ids (question → task; None: it is not there) and that nothing is under way."""
        self._write([_set_ids(ids)])

    def revisions(self) -> list[Revision]:
        """Every state of every annotation ever seen, oldest first."""
        return self._read(Revision, LabelRevisionRow, "position")

    def quarantine(self) -> list[Quarantined]:
        """Everything that counts for nothing at present."""
        return self._read(Quarantined, LabelQuarantineRow, "expert", "annotation_id")

    def apply(self, queue: Queue, pulled: Pulled) -> None:
        """Store one look at a project: answers, quarantine, revisions and cursor, all or nothing."""
        revision, quarantine = table_of(LabelRevisionRow), table_of(LabelQuarantineRow)
        with self._store.transaction() as connection:
            self.book.replace(connection, pulled.question_ids, SOURCE, pulled.replies)
            here = sa.and_(quarantine.c.expert == queue.expert, quarantine.c.task_id == sa.bindparam("t"))
            _many(connection, sa.delete(quarantine).where(here), [{"t": t} for t in pulled.task_ids])
            _many(connection, sa.insert(quarantine), [asdict(q) for q in pulled.quarantine])
            known = set(
                connection.execute(
                    sa.select(revision.c.annotation_id, revision.c.version).where(
                        revision.c.expert == queue.expert
                    )
                ).all()
            )
            new = [r for r in pulled.revisions if (r.annotation_id, r.version) not in known]
            count = connection.execute(sa.select(sa.func.count()).select_from(revision)).scalar_one()
            _many(
                connection,
                sa.insert(revision),
                [asdict(r) | {"position": count + j} for j, r in enumerate(new)],
            )
            _many(connection, *_set_ids(dict.fromkeys(pulled.lost)))
            table = table_of(LabelQueueRow)
            connection.execute(sa.update(table).where(table.c.expert == queue.expert), asdict(queue))

    def _read(self, kind: type[Any], row: type[SQLModel], *order: str) -> list[Any]:
        table = table_of(row)
        names = [f.name for f in fields(kind)]
        query = sa.select(*(table.c[n] for n in names)).order_by(*(table.c[n] for n in order))
        with self._store.transaction() as connection:
            return [kind(*found) for found in connection.execute(query)]

    def _write(self, changes: Sequence[tuple[sa.Executable, list[dict[str, Any]]]]) -> None:
        with self._store.transaction() as connection:
            for change, rows in changes:
                _many(connection, change, rows)


def _many(connection: sa.Connection, change: sa.Executable, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(change, rows)


def _set_ids(ids: Mapping[str, int | None]) -> tuple[sa.Executable, list[dict[str, Any]]]:
    table = table_of(LabelTaskRow)
    change = sa.update(table).where(table.c.question_id == sa.bindparam("q"))
    values = change.values(task_id=sa.bindparam("t"), sending=False)
    return values, [{"q": question, "t": task} for question, task in ids.items()]
