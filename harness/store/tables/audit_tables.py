"""Rows of what happened in a collection, who answers in whose place, and the links to the answer page."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON
from sqlmodel import Field

from oversight.harness.store.tables.row_kinds import TableRow


class AuditEventRow(TableRow, table=True):
    """Something that happened to a study's design or answers; nothing is ever changed or removed here.

    `link` is a hash of the link before it and of all fields, of a comment its salted hash alone: so a comment
    may be forgotten, and nothing else changed.
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
    """A question that somebody else answers than the expert it was put to.

    `place` is where it lay in that expert's queue, None if it was in none.
    """

    asked_id: str = Field(primary_key=True)
    giver: str = Field(index=True)
    taker: str = Field(index=True)
    place: int | None
    created: str


class AbsenceRow(TableRow, table=True):
    """An expert who is away: no question is put to them until they return, or the day `until` is over."""

    expert: str = Field(primary_key=True)
    since: str
    until: str
    reason: str


class AnswerLinkRow(TableRow, table=True):
    """An expert's personal link: what it is known by, and hashes of the secrets that open it.

    `token_digest` is of the token in the link, `session_digest` of what a browser holds that showed the
    token. Times are ISO 8601 in UTC; `revoked` and `seen` are empty where that never happened.
    """

    id: str = Field(primary_key=True)
    expert: str = Field(index=True)
    token_digest: str
    session_digest: str
    created: str
    expires: str
    revoked: str
    seen: str
