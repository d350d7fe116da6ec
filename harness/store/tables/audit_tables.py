"""Rows of the audit trail, of the people who answer, and of a campaign on a Label Studio server."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import JSON
from sqlmodel import Field

from oversight.harness.store.tables.row_kinds import TableRow


class AuditEventRow(TableRow, table=True):
    """An event about a study's design or answers; rows are only added.

    `link` is a hash of the previous link and of all fields, except that only a salted hash of the comment is
    used. So the comment can be erased without changing the links.
    """

    position: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    at: str
    kind: str
    way: str
    person: str
    asked_id: str = Field(index=True)
    value: str
    comment: str | None
    salt: str
    comment_digest: str
    seconds: float | None
    key: str | None = Field(unique=True)
    detail: dict[str, Any] = Field(sa_type=JSON)
    link: str


class HandoverRow(TableRow, table=True):
    """A question that was drawn for one expert and reassigned to another.

    `place` is the question's place in the first expert's queue; None if it was in no queue.
    """

    asked_id: str = Field(primary_key=True)
    giver: str = Field(index=True)
    taker: str = Field(index=True)
    place: int | None
    created: str


class AbsenceRow(TableRow, table=True):
    """An absent expert, who is asked no questions until they return or the day `until` has passed."""

    expert: str = Field(primary_key=True)
    since: str
    until: str
    reason: str


class AnswerLinkRow(TableRow, table=True):
    """An expert's link to the answer page: its public id, and hashes of the secrets that open it.

    `token_digest` is the hash of the expert's personal code. `session_digest` is the hash of the cookie of a
    browser that has signed in with the code. Times are ISO 8601 in UTC; `revoked` and `seen` are empty if
    that never happened.
    """

    id: str = Field(primary_key=True)
    expert: str = Field(index=True)
    token_digest: str
    session_digest: str
    created: str
    expires: str
    revoked: str
    seen: str


class LabelQueueRow(TableRow, table=True):
    """One expert's project on a Label Studio server; `marker` identifies it before `project_id` is known."""

    expert: str = Field(primary_key=True)
    marker: str = Field(unique=True)
    server: str
    project_id: int | None
    email: str
    user_id: int | None
    cursor: str
    closed: bool


class LabelTaskRow(TableRow, table=True):
    """A question or assignment in an expert's queue.

    `digest` is a hash of the data sent to the server; `task_id` is the server's id of the task.
    """

    question_id: str = Field(primary_key=True)
    expert: str = Field(foreign_key="label_queue.expert", index=True)
    place: int
    digest: str
    task_id: int | None
    sending: bool


class _Annotation(TableRow):
    expert: str = Field(primary_key=True, foreign_key="label_queue.expert")
    annotation_id: int = Field(primary_key=True)
    question_id: str | None


class LabelRevisionRow(_Annotation, table=True):
    """One state of an annotation as read from the server; rows are only added."""

    version: str = Field(primary_key=True)
    position: int = Field(index=True)
    task_id: int = Field(index=True)
    deleted: bool
    author: int | None
    editor: int | None
    cancelled: bool
    result: list[Any] = Field(sa_type=JSON)
    updated_at: str
    seconds: float | None


class LabelQuarantineRow(_Annotation, table=True):
    """An annotation that does not count, with the reason.

    `over` is True if the annotation's question has been sent to the server again since then.
    """

    task_id: int
    reason: str
    detail: str
    over: bool = Field(default=False, sa_column_kwargs={"server_default": sa.false()})
