"""Rows of a campaign on a Label Studio server."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import JSON
from sqlmodel import Field

from oversight.harness.store.tables.row_kinds import TableRow


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

    `over` is True if the annotation's question was sent to the server again after the annotation came.
    """

    task_id: int
    reason: str
    detail: str
    over: bool = Field(default=False, sa_column_kwargs={"server_default": sa.false()})
