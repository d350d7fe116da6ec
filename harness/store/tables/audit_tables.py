"""Rows of the audit trail and of the people who answer."""

from __future__ import annotations

from typing import Any

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
    """An expert's absence: they are asked no question until they return or the day `until` has passed."""

    expert: str = Field(primary_key=True)
    since: str
    until: str
    reason: str


class AnswerLinkRow(TableRow, table=True):
    """An expert's link to the answer page: its public id, and hashes of the secrets that open it.

    `token_digest` is the hash of the expert's personal code. `session_digest` is the hash of the cookie of a
    browser that has signed in with the code. Times are ISO 8601 in UTC. `revoked` is
    empty if the link was not revoked, and `seen` is empty if it was not used.
    """

    id: str = Field(primary_key=True)
    expert: str = Field(index=True)
    token_digest: str
    session_digest: str
    created: str
    expires: str
    revoked: str
    seen: str
