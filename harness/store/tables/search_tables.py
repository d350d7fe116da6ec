"""Rows of searches for a better workflow."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, ForeignKeyConstraint
from sqlmodel import Field

from oversight.harness.store.tables.row_kinds import JSONTuple, ModelAnswerRow, SpecifiedRow, TableRow


class SearchRow(SpecifiedRow, table=True):
    """A search for a better workflow; `spec` contains all settings that determine the search."""


class _OfSearch(TableRow):
    search_id: str = Field(primary_key=True, foreign_key="search.id")
    position: int


class SearchItemRow(_OfSearch, table=True):
    """An item's split and its place in the split; drawn once."""

    item_id: str = Field(primary_key=True, foreign_key="item.id")
    split: str


class CandidateRow(_OfSearch, table=True):
    """A program of a search's archive; `position` is its place in the order of arrival.

    `parents` are the ids of the programs from which it was made.
    """

    id: str = Field(primary_key=True)
    slot: int
    op: str
    name: str
    source: str
    thought: str
    note: str
    parents: tuple[str, ...] = Field(sa_type=JSONTuple, sa_column_kwargs={"server_default": "[]"})


class CandidateAnswerRow(ModelAnswerRow, table=True):
    """A candidate's answer to an item in one of its replicates; without its score."""

    __table_args__ = (
        ForeignKeyConstraint(["search_id", "candidate_id"], ["candidate.search_id", "candidate.id"]),
    )
    search_id: str = Field(primary_key=True)
    candidate_id: str = Field(primary_key=True)
    replicate: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    item_id: str = Field(primary_key=True, foreign_key="item.id")


class SearchEventRow(_OfSearch, table=True):
    """A decision of a search, identified by its key; the first row with a key is kept."""

    key: str = Field(primary_key=True)
    data: dict[str, Any] = Field(sa_type=JSON)
