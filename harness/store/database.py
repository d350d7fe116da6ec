"""The connection to a study's database, below all repositories."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Self, TypeVar, TypeVarTuple

import orjson
import sqlalchemy as sa

from harness.errors import StoreError
from harness.output import keep_secret, redact
from harness.store.schema import begin_exclusive, migrate
from harness.store.sqlite_files import (
    PATIENT,
    connect_read_only,
    identify_file,
    is_read_only,
    keeping_few,
    make_private,
    set_up_sqlite,
)
from harness.store.stored_values import (
    describe_damage,
    describe_failure,
    make_rows_storable,
    read_json,
    write_json,
)
from harness.store.tables import execute_many, insert_tuples, select_values

PORTION = 500
"""Rows of one query: databases bound the number of parameters, and memory shall not grow with the study."""
BULK = 2_000
"""Rows of one query where many come at once and each is small."""

_COLUMN = 50_000
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _NotMeant(Exception):
    """Ends a transaction without effect."""


class Database:
    """An open database whose schema is the newest.

    SQLite runs in WAL mode with foreign keys on; closing the last connection folds the log back
    into the one file, so that a study can be copied as a file when nothing runs. A file that cannot be
    written, or in a folder that cannot, is opened for reading.

    Parameters
    ----------
    url
        SQLAlchemy URL.

    Raises
    ------
    StoreError
        If it cannot be opened, is no such database, was written by a newer version, or is to be brought up
        to date and cannot be written.
    """

    def __init__(self, url: str) -> None:
        self._shown = redact(url.removeprefix("sqlite:///"))
        self._here = threading.local()
        try:
            keep_secret(sa.make_url(url).password)
            file = sa.make_url(url).database if url.startswith("sqlite:///") else None
            self._file = None if file == ":memory:" else file
            self.read_only = file is not None and is_read_only(file)
            more = {"creator": lambda: connect_read_only(file)} if file and self.read_only else {}
            self._engine = sa.create_engine(
                url, json_serializer=write_json, json_deserializer=read_json, **more
            )
        except (sa.exc.ArgumentError, ImportError, ValueError) as error:  # the last of a port that is none
            raise StoreError(f"{self._shown}: the database cannot be used: {error}") from error
        if self._engine.dialect.name == "sqlite" and not self.read_only:
            sa.event.listen(self._engine, "connect", set_up_sqlite)
        sa.event.listen(self._engine, "before_cursor_execute", make_rows_storable, retval=True)
        try:
            with self._raising_store_errors(), self._engine.connect() as connection:
                make_private(self._file)  # before anything is in it; its log takes the same rights
                migrate(connection, self._shown, read_only=self.read_only)
        except StoreError:
            self.close()
            raise
        # a file that is taken away later is not made again, empty
        sa.event.listen(self._engine, "do_connect", self._expect_file)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self, *, exclusive: bool = False) -> Iterator[sa.Connection]:
        """All or nothing; database errors become `StoreError`. Inside `together` it is part of that.

        With `exclusive`, what was read stays as it was until the end, as no two such transactions overlap.
        """
        outer: sa.Connection | None = getattr(self._here, "connection", None)
        if outer is not None:
            yield outer
            return
        with self._raising_store_errors():
            try:
                with self._engine.begin() as connection:
                    if exclusive:
                        begin_exclusive(connection)
                    yield connection
            except sa.exc.IntegrityError as error:
                raise StoreError(
                    f"another process wrote the same rows at the same time ({error.orig}); nothing was "
                    "written; run the command again"
                ) from error

    @contextmanager
    def watching(self) -> Iterator[Callable[[], str]]:
        """What gives a text that changes whenever any process has written, at next to no cost.

        Of a file that can only be read it stays the same; on a server others' databases change it, too. A
        file that was removed or replaced is a `StoreError`; who watches again sees what is there then.
        """
        is_file = self._engine.dialect.name == "sqlite"
        # the whole snapshot: one that was open for long ends without a change of the newest number
        query = "PRAGMA data_version" if is_file else "SELECT pg_current_snapshot()::text"
        with self._raising_store_errors(), self._engine.connect() as connection:
            migrate(connection, self._shown, read_only=self.read_only)
            connection.rollback()
            opened = self._identify()

            def read_version() -> str:
                if self._identify() != opened:
                    self._engine.dispose()  # its connections read what no name leads to any more
                    raise StoreError(f"{self._shown}: the file was replaced by another")
                with self._raising_store_errors(), connection.begin():
                    return str(connection.exec_driver_sql(query).scalar_one())

            yield read_version

    def _expect_file(self, *_: object) -> None:
        self._identify()

    def _identify(self) -> tuple[int, int] | None:
        """Which file lies under the database's name; None where it is no file."""
        if self._file is None:
            return None
        found = identify_file(self._file, self._shown)
        if found is None:
            self._engine.dispose()
            raise StoreError(f"{self._shown}: the file is not there any more")
        return found

    @contextmanager
    def unless_busy(self) -> Iterator[sa.Connection]:
        """A transaction that fails at once where another process writes: for what may be done later."""
        with self.transaction() as connection:
            if self._engine.dialect.name != "sqlite":
                yield connection
                return
            connection.exec_driver_sql("PRAGMA busy_timeout=0")
            try:
                yield connection
            finally:
                connection.exec_driver_sql(PATIENT)

    @contextmanager
    def together(self, *, exclusive: bool = False) -> Iterator[None]:
        """All that this thread writes inside, or nothing; `exclusive` as in `transaction`."""
        before = getattr(self._here, "connection", None)
        with self.transaction(exclusive=exclusive) as connection:
            self._here.connection = connection
            try:
                yield
            finally:
                self._here.connection = before

    @contextmanager
    def rehearsing(self) -> Iterator[None]:
        """All that this thread writes inside is there until the end, and then never was."""
        with suppress(_NotMeant), self.together():
            yield
            raise _NotMeant

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Make of what was stored what it was before; where that cannot be, the database is damaged."""
        try:
            yield
        except (KeyError, TypeError, ValueError) as error:
            raise describe_damage(self._shown, error) from error

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
        with self.transaction() as connection:
            return connection.execute(query).all()

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
        with self.transaction() as connection, keeping_few(connection if walks else None):
            cursor: Any = connection.execute(query).cursor
            return list(cursor.fetchall())

    def read_values(self, kind: type[T], query: sa.Select[Any], **parameters: Any) -> list[T]:
        """All rows of a query, each made a value whose fields are its columns."""
        with self.reading(), self.transaction() as connection:
            result = connection.execute(query, parameters)
            names = tuple(result.keys())
            if getattr(kind, "__match_args__", None) == names:  # by position, in half the time
                return [kind(*row) for row in result.all()]
            return [kind(**dict(zip(names, row, strict=True))) for row in result]

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
        with self.transaction() as connection:
            execute_many(connection, statement, rows)

    @contextmanager
    def _raising_store_errors(self) -> Iterator[None]:
        # where rows are read as the driver gives them, so are its errors
        errors = sa.exc.SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error
        try:
            yield
        except errors as error:
            raise describe_failure(self._shown, error, read_only=self.read_only) from error
        except (UnicodeDecodeError, orjson.JSONDecodeError) as error:
            raise describe_damage(self._shown, error) from error


class Repository:
    """A study's database, read and written by verbs of one concept.

    Parameters
    ----------
    database
        The study's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database


def split_into_batches(values: Iterable[T], size: int = PORTION) -> Iterator[list[T]]:
    """Cut a stream into lists of `size`; the last one may be shorter."""
    source = iter(values)
    while portion := list(islice(source, size)):
        yield portion
