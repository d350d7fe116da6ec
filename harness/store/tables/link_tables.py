"""Rows of the links by which experts open the page to answer on."""

from __future__ import annotations

from sqlmodel import Field

from oversight.harness.store.tables.row_kinds import TableRow


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
