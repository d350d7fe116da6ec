"""Rows and tables of a campaign on a Label Studio server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from oversight.harness.store.tables.table_maker import make_table


@dataclass(frozen=True, slots=True)
class Queue:
    """One expert's project on a server; project and user id are None until the server returned them."""

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
    """A question or assignment at its place in an expert's queue.

    `sending` is True from just before the task is sent until its id on the server is stored.
    """

    question_id: str
    expert: str
    place: int
    digest: str
    task_id: int | None = None
    sending: bool = False


@dataclass(frozen=True, slots=True)
class Revision:
    """One state of an annotation; `version` is a hash of that state."""

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

    @property
    def is_whole(self) -> bool:
        """Whether the annotation's stored content is unchanged, so that its hash still equals `version`."""
        told = hash_annotation(self.author, self.editor, self.cancelled, self.result, self.updated_at)
        return self.version.partition("-")[0] == told


def hash_annotation(
    author: int | None, editor: int | None, cancelled: object, result: Sequence[Any], updated_at: str
) -> str:
    """Hash the content of an annotation."""
    told = json.dumps([author, editor, bool(cancelled), list(result), updated_at])
    return sha256(told.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Quarantined:
    """An annotation that does not count, with the reason.

    `over` is True if the annotation's question was sent to the server again after the annotation came.
    """

    expert: str
    annotation_id: int
    task_id: int
    question_id: str | None
    reason: str
    detail: str = ""
    over: bool = False


QUEUE = make_table("label_queue", Queue, "expert", unique="marker")
_OF_QUEUE = {"expert": "label_queue.expert"}
TASK = make_table("label_task", QueuedTask, "question_id", index="expert", refers=_OF_QUEUE)
REVISION = make_table(
    "label_revision",
    Revision,
    "expert annotation_id version",
    index="position task_id",
    refers=_OF_QUEUE,
    position="int",
)
QUARANTINE = make_table(
    "label_quarantine",
    Quarantined,
    "expert annotation_id",
    refers=_OF_QUEUE,
    defaults={"over": sa.false()},
)
