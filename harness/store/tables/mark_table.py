"""The row that tells databases apart."""

from __future__ import annotations

from sqlmodel import Field

from oversight.harness.store.tables.row_kinds import TableRow


class DatabaseMarkRow(TableRow, table=True):
    """The random id of a database, one row; copies and old databases name others."""

    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    database: str
    copied_at: str
    source: str
    moved_to: str
