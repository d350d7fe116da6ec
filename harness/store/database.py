"""A study's database, below all repositories: rows read and written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, wraps
from itertools import islice
from typing import Any, ParamSpec, TypeVar, TypeVarTuple, cast

import sqlalchemy as sa

from oversight.harness.store.connections import Connections
from oversight.harness.store.engines import keeping_few
from oversight.harness.store.tables import execute_many, insert_tuples, select_values

PORTION = 500
"""Rows of one query: databases bound the number of parameters, and memory shall not grow with the study."""
BULK = 2_000
"""Rows of one query where many come at once and each is small."""

_COLUMN = 50_000
P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Database(Connections):
    """An open database of which rows are read and written."""

    def among(self, column: sa.Column[str], values: Iterable[str]) -> sa.ColumnElement[bool]:
        """Whether a column holds one of some texts: ``IN`` with one parameter, whatever their number."""
        if self._engine.dialect.name == "sqlite":
            table = sa.func.json_each(json.dumps(list(values))).table_valued("value")
            return column.in_(sa.select(table.c.value))
        return column == sa.any_(sa.literal(list(values), sa.ARRAY(sa.Text)))

    def gather(self, column: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
        """The values of a group's rows as a JSON array; those of several columns are in one order."""
        if self._engine.dialect.name == "sqlite":
            return sa.func.json_group_array(column, type_=sa.Text)
        return sa.cast(sa.func.json_agg(column), sa.Text)

    def read_rows(self, query: sa.Select[*Ts]) -> Sequence[sa.Row[*Ts]]:
        """All rows of a query."""

        def read() -> Sequence[sa.Row[*Ts]]:
            with self.transaction() as connection:
                return connection.execute(query).all()

        return self.repeat(read)

    def read_portions(self, query: sa.Select[Any]) -> Iterator[tuple[Sequence[Any], ...]]:
        """All rows of a query, column by column, some thousand rows at a time, as the driver gives them."""
        with self.transaction() as connection:
            if self._engine.dialect.name == "sqlite":  # whose driver reads on as rows are asked for
                cursor: Any = connection.execute(query).cursor
                while rows := cursor.fetchmany(_COLUMN):
                    yield tuple(zip(*rows, strict=True))
            else:
                options = {"yield_per": _COLUMN}  # of this query alone, not of the connection
                # closed with the walk, also where it ends before its last row
                with connection.execute(query, execution_options=options) as found:
                    for part in found.partitions():
                        yield tuple(zip(*part, strict=True))

    def read_tuples(self, query: sa.Select[Any], *, walks: bool = False) -> list[tuple[Any, ...]]:
        """All rows of a query, as its driver gives them, which takes less time and memory.

        One that `walks` through many rows for the few that it makes of them keeps none of them in memory.
        """

        def read() -> list[tuple[Any, ...]]:
            with self.transaction() as connection, keeping_few(connection if walks else None):
                cursor: Any = connection.execute(query).cursor
                return list(cursor.fetchall())

        return self.repeat(read)

    def read_values(self, kind: type[T], query: sa.Select[Any], **parameters: Any) -> list[T]:
        """All rows of a query, each made a value whose fields are its columns."""

        def read() -> list[T]:
            with self.reading(), self.transaction() as connection:
                result = connection.execute(query, parameters)
                names = tuple(result.keys())
                if getattr(kind, "__match_args__", None) == names:  # by position, in half the time
                    return [kind(*row) for row in result.all()]
                return [kind(**dict(zip(names, row, strict=True))) for row in result]

        return self.repeat(read)

    def read_table(self, kind: type[T], table: sa.Table, *order: sa.Column[Any]) -> list[T]:
        """All rows of a table in this order, each made a value of the columns that are its fields."""
        return self.read_values(kind, select_values(kind, table).order_by(*order))

    def add_rows(self, table: sa.Table, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> int:
        """Store rows of these columns whose key is not there yet, all or none; return how many were new."""
        with self.transaction() as connection:
            return sum(
                insert_tuples(connection, table, names, portion) for portion in split_into_batches(rows, BULK)
            )

    def write_rows(self, statement: sa.Executable, rows: Sequence[dict[str, Any]]) -> None:
        """Run a statement for many rows; all or none."""

        def write() -> None:
            with self.transaction() as connection:
                execute_many(connection, statement, rows)

        self.repeat(write, twice=False)


class Repository:
    """A study's database, read and written by verbs of one concept.

    Parameters
    ----------
    database
        The study's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def repeat(self, work: Callable[[], T], *, twice: bool) -> T:
        """As `Connections.repeat`."""
        return self._database.repeat(work, twice=twice)


def repeated(*, twice: bool) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have a repository's method that is one transaction done as `Connections.repeat` does."""

    def wrap(method: Callable[P, T]) -> Callable[P, T]:
        @wraps(method)
        def again(*args: P.args, **kwargs: P.kwargs) -> T:
            repository = cast("Repository", args[0])
            return repository.repeat(partial(method, *args, **kwargs), twice=twice)

        return again

    return wrap


def split_into_batches(values: Iterable[T], size: int = PORTION) -> Iterator[list[T]]:
    """Cut a stream into lists of `size`; the last one may be shorter."""
    source = iter(values)
    while portion := list(islice(source, size)):
        yield portion
