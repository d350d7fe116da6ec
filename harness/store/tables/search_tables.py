"""Rows of searches for a better workflow."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, ForeignKeyConstraint
from sqlmodel import Field

from oversight.harness.store.tables.row_kinds import JSONTuple, ModelAnswerRow, SpecifiedRow, TableRow


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
    """A program of a search's archive and the ids of its `parents`; `position` keeps the order of arrival."""

    id: str = Field(primary_key=True)
    slot: int
    op: str
    name: str
    source: str
    thought: str
    note: str
    parents: tuple[str, ...] = Field(sa_type=JSONTuple, sa_column_kwargs={"server_default": "[]"})


class CandidateAnswerRow(ModelAnswerRow, table=True):
    """A candidate's answer to an item in one of its runs; never how good that was."""

    __table_args__ = (
        ForeignKeyConstraint(["search_id", "candidate_id"], ["candidate.search_id", "candidate.id"]),
    )
    search_id: str = Field(primary_key=True)
    candidate_id: str = Field(primary_key=True)
    replicate: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    item_id: str = Field(primary_key=True, foreign_key="item.id")


class SearchEventRow(_OfSearch, table=True):
    """A decision of a search under a name that says which; the first one stands."""

    key: str = Field(primary_key=True)
    data: dict[str, Any] = Field(sa_type=JSON)
