"""Rows of searches for a better workflow."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, ForeignKeyConstraint
from sqlmodel import Field

from oversight.harness.store.tables.row_kinds import ModelAnswerRow, SpecifiedRow, TableRow


class SearchRow(SpecifiedRow, table=True):
    """A search for a better workflow; `spec` is all that decides how it goes."""


class _OfSearch(TableRow):
    search_id: str = Field(primary_key=True, foreign_key="search.id")
    position: int


class SearchItemRow(_OfSearch, table=True):
    """Which of a search's splits an item is in, and its place there; drawn once."""

    item_id: str = Field(primary_key=True, foreign_key="item.id")
    split: str


class CandidateRow(_OfSearch, table=True):
    """A program of a search's archive; `position` keeps the order of arrival."""

    id: str = Field(primary_key=True)
    slot: int
    op: str
    name: str
    source: str
    thought: str
    note: str


_CANDIDATE_KEY = ["candidate.search_id", "candidate.id"]


class CandidateParentRow(TableRow, table=True):
    """Whom a candidate was made from."""

    __table_args__ = tuple(
        ForeignKeyConstraint(["search_id", name], _CANDIDATE_KEY) for name in ("child", "parent")
    )
    search_id: str = Field(primary_key=True)
    child: str = Field(primary_key=True)
    parent: str = Field(primary_key=True)
    position: int


class CandidateAnswerRow(ModelAnswerRow, table=True):
    """What a candidate answered to an item in one of its runs; never how good that was."""

    __table_args__ = (ForeignKeyConstraint(["search_id", "candidate_id"], _CANDIDATE_KEY),)
    search_id: str = Field(primary_key=True)
    candidate_id: str = Field(primary_key=True)
    replicate: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    item_id: str = Field(primary_key=True, foreign_key="item.id")


class SearchEventRow(_OfSearch, table=True):
    """A decision of a search under a name that says which; the first one stands."""

    key: str = Field(primary_key=True)
    data: dict[str, Any] = Field(sa_type=JSON)
