"""Basic reading and writing of rows, used by all repositories."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from functools import partial, wraps
from itertools import islice
from operator import attrgetter
from typing import Any, ParamSpec, TypeVar, TypeVarTuple

import sqlalchemy as sa

from oversight.harness.store.connections import Connections
from oversight.harness.store.tables.insertion import count_rows, execute_many, insert_tuples, select_values

PORTION = 500
"""Rows per query; bounded to save memory and because databases limit the number of parameters."""
BULK = 2_000
"""Rows per query for small rows."""

_COLUMN = 50_000
P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


def repeated(*, twice: bool) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a method of a database or repository so that it is repeated after a lost connection.

    The method must be one transaction; see `Connections.repeat`.
    """

    def wrap(method: Callable[P, T]) -> Callable[P, T]:
        @wraps(method)
        def again(*args: P.args, **kwargs: P.kwargs) -> T:
            repository: Any = args[0]
            found: T = repository.repeat(partial(method, *args, **kwargs), twice=twice)
            return found

        return again

    return wrap


class Database(Connections):
    """An open database with basic methods that read and write rows."""

    def among(self, column: sa.Column[str], values: Iterable[str]) -> sa.ColumnElement[bool]:
        """Return the condition that a column equals one of the values, passed as one SQL parameter."""
        if self.is_file:
            table = sa.func.json_each(json.dumps(list(values))).table_valued("value")
            return column.in_(sa.select(table.c.value))
        return column == sa.any_(sa.literal(list(values), sa.ARRAY(sa.Text)))

    def gather(self, column: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
        """Return SQL that collects a column's values in each group as a JSON array.

        If a query collects several columns, their arrays have the same order.
        """
        if self.is_file:
            return sa.func.json_group_array(column, type_=sa.Text)
        return sa.cast(sa.func.json_agg(column), sa.Text)

    @repeated(twice=True)
    def read_rows(self, query: sa.Select[*Ts]) -> Sequence[sa.Row[*Ts]]:
        """Return all rows of a query."""
        with self.transaction() as connection:
            return connection.execute(query).all()

    def has_rows(self, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> bool:
        """Whether a table has a row that meets all conditions."""
        first = sa.select(sa.literal(1)).select_from(table).where(*conditions).limit(1)
        return bool(self.read_rows(first))

    @repeated(twice=True)
    def count(self, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> int:
        """Count the rows of a table that meet all conditions."""
        with self.transaction() as connection:
            return count_rows(connection, table, *conditions)

    def read_portions(self, query: sa.Select[Any]) -> Iterator[tuple[Sequence[Any], ...]]:
        """Yield the rows of a query in large batches, each as one sequence per column, without conversion."""
        with self.transaction() as connection:
            if self.is_file:  # SQLite's driver reads further rows on demand
                cursor: Any = connection.execute(query).cursor
                while rows := cursor.fetchmany(_COLUMN):
                    yield tuple(zip(*rows, strict=True))
            else:
                options = {"yield_per": _COLUMN}  # only for this query, because the connection is shared
                # Close the result when the iteration ends, even if it ends early.
                with connection.execute(query, execution_options=options) as found:
                    for part in found.partitions():
                        yield tuple(zip(*part, strict=True))

    @repeated(twice=True)
    def read_tuples(self, query: sa.Select[Any]) -> list[tuple[Any, ...]]:
        """Return all rows of a query as the driver's tuples, to save time and memory."""
        with self.transaction() as connection:
            cursor: Any = connection.execute(query).cursor
            return list(cursor.fetchall())

    @repeated(twice=True)
    def read_values(self, kind: type[T], query: sa.Select[Any], **parameters: Any) -> list[T]:
        """Return all rows of a query as instances of `kind`, whose fields have the columns' names."""
        with self.reading(), self.transaction() as connection:
            result = connection.execute(query, parameters)
            names = tuple(result.keys())
            if getattr(kind, "__match_args__", None) == names:  # positional arguments are faster
                return [kind(*row) for row in result.all()]
            return [kind(**dict(zip(names, row, strict=True))) for row in result]

    def read_table(self, kind: type[T], table: sa.Table, *order: sa.Column[Any]) -> list[T]:
        """Return all rows of a table, sorted by `order`, as instances of `kind`."""
        return self.read_values(kind, select_values(kind, table).order_by(*order))

    def add_rows(self, table: sa.Table, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> int:
        """Store, in one transaction, the rows whose key is not stored yet. Returns how many were stored."""
        with self.transaction() as connection:
            return sum(
                insert_tuples(connection, table, names, portion) for portion in split_into_batches(rows, BULK)
            )

    def add_values(self, table: sa.Table, kind: type[Any], values: Iterable[object]) -> int:
        """Store instances of the dataclass `kind` as `add_rows` does.

        Each field is stored in the column of the same name.
        """
        names = tuple(field.name for field in fields(kind))
        return self.add_rows(table, names, map(attrgetter(*names), values))

    @repeated(twice=False)
    def write_rows(self, statement: sa.Executable, rows: Sequence[dict[str, Any]]) -> None:
        """Run a statement once per row in one transaction."""
        with self.transaction() as connection:
            execute_many(connection, statement, rows)


class Repository:
    """Reads and writes the rows of one concept in a study's database.

    Parameters
    ----------
    database
        The study's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def repeat(self, work: Callable[[], T], *, twice: bool) -> T:
        """Run `work`, and run it again if the connection is lost; see `Connections.repeat`."""
        return self._database.repeat(work, twice=twice)


def split_into_batches(values: Iterable[T], size: int = PORTION) -> Iterator[list[T]]:
    """Yield the values in lists of length `size`; the last list may be shorter."""
    source = iter(values)
    while portion := list(islice(source, size)):
        yield portion
