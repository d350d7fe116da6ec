"""Make a table from the dataclass of its rows, so that every column is declared once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import new_class
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

METADATA = SQLModel.metadata


class JSONTuple(sa.TypeDecorator[tuple[Any, ...]]):
    """A tuple, stored as a list in JSON."""

    impl = sa.JSON
    cache_ok = True

    def process_result_value(self, value: Any, dialect: object) -> tuple[Any, ...]:  # noqa: ARG002  the base class's
        """Convert the list back into a tuple."""
        return tuple(value)


def is_json(column: sa.Column[Any]) -> bool:
    """Whether a column contains JSON."""
    return isinstance(column.type, sa.JSON | JSONTuple)


_TYPES: Mapping[str, Any] = {
    "str": sa.String,
    "int": sa.Integer,
    "big": sa.BigInteger,
    "float": sa.Float,
    "bool": sa.Boolean,
    "bytes": sa.LargeBinary,
    "list": sa.JSON,
    "Mapping": sa.JSON,
    "tuple": JSONTuple,
} | dict.fromkeys(("ControlKind", "PredictionStatus", "Source"), sa.String)


def make_table(
    name: str,
    columns: type[Any] | str,
    key: str,
    /,
    *constraints: sa.Constraint,
    without: str = "",
    index: str = "",
    unique: str = "",
    refers: Mapping[str, str] | None = None,
    defaults: Mapping[str, Any] | None = None,
    **more: str,
) -> sa.Table:
    """Define a table. `columns` is the dataclass of its rows, or a text such as ``id str, items int``.

    `without` names fields of the dataclass that are not stored. `more` maps further columns to their types,
    or fields to another type. `refers` maps columns to the columns of other tables that they refer to, and
    `defaults` to the values that rows of older databases get.
    """
    if isinstance(columns, str):
        own = dict(column.split(" ", 1) for column in columns.split(", "))
    else:
        own = {f.name: str(f.type) for f in fields(columns) if f.name not in without.split()}
    # Further columns come first, because columns after a long text are slow to read.
    types = more | own | more
    refers, defaults = refers or {}, defaults or {}
    made = {
        column: sa.Column(
            _TYPES[kind.partition(" ")[0].partition("[")[0]],
            *([sa.ForeignKey(refers[column])] if column in refers else []),
            primary_key=column in key.split(),
            autoincrement=False,
            nullable=kind.endswith("| None"),
            index=column in index.split() or None,
            unique=column in unique.split() or None,
            server_default=defaults.get(column),
        )
        for column, kind in types.items()
    }
    body = {
        "__module__": __name__,
        "__tablename__": name,
        "__table_args__": constraints,
        "__annotations__": dict.fromkeys(made, Any),
        "model_config": {"defer_build": True},  # rows are written and read as tuples, never validated
    }
    body |= {column: Field(sa_column=each) for column, each in made.items()}
    model: Any = new_class(name, (SQLModel,), {"table": True}, lambda space: space.update(body))
    table: sa.Table = model.__table__
    return table
