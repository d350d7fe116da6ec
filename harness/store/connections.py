"""Connections to a study's database: transactions, lost connections and changes by other processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Self, TypeVar

import orjson
import sqlalchemy as sa

from oversight.harness.errors import LostConnection, LostDatabase, StoreError
from oversight.harness.store.engines.addresses import (
    PATIENT,
    make_engine,
    make_private,
    may_write,
    show_address,
)
from oversight.harness.store.engines.held_file import HeldFile, LogFolding
from oversight.harness.store.engines.retrying import RetryingConnection, connect
from oversight.harness.store.schema import begin_exclusive, prepare_tables
from oversight.harness.store.serialization import (
    describe_damage,
    describe_failure,
    is_read_only_failure,
    make_rows_storable,
    read_json,
    write_json,
)
from oversight.harness.store.tables.insertion import select_values
from oversight.harness.store.tables.study_tables import MARK, DatabaseMark

_DATABASE = "SELECT database FROM database_mark"
_LOSSES = 5  # maximum number of repetitions; a restart of the server needs fewer repetitions
T = TypeVar("T")


def read_mark(connection: sa.Connection) -> DatabaseMark | None:
    """Return a database's mark; None if the database may collect answers."""
    mark = DatabaseMark(*connection.execute(select_values(DatabaseMark, MARK)).one())
    return mark if mark.copied_at or mark.moved_to else None


class _NotMeant(Exception):
    """Raised to roll back a transaction."""


class Connections:
    """An open database with the current schema version.

    SQLite runs in WAL mode with foreign keys on. Closing the last connection merges the write-ahead log into
    the file, so an unused study can be copied as one file. The database is opened read-only if the file or
    its folder is read-only, or if the database is marked (see `DatabaseMark`). A marked database refuses all
    writes, and refuses an exclusive transaction when it begins.

    Parameters
    ----------
    url
        SQLAlchemy URL.
    write_marked
        Whether a marked database is opened for writing, which only code that changes the mark needs.

    Raises
    ------
    StoreError
        If the database cannot be opened, is not a study's database, or was written by another version.
    """

    def __init__(self, url: str, *, write_marked: bool = False) -> None:
        self._shown = show_address(url)
        self._mark: DatabaseMark | None = None
        self._here = threading.local()
        self._engine, self._file, self.read_only = make_engine(url, write_json, read_json)
        self._held: HeldFile | None = None
        if self._file is not None:
            self._held = HeldFile(self._file, self._shown)
            self._folding = LogFolding(self._held.fold)
        self._is_open, self._database = False, ""
        sa.event.listen(self._engine, "before_cursor_execute", make_rows_storable, retval=True)
        sa.event.listen(self._engine, "connect", self._watch_commits)
        try:
            with self._raising_store_errors(), self._engine.connect() as connection:
                make_private(self._file)  # a new file is still empty; its log will get the same permissions
                prepare_tables(connection, self._shown, read_only=self.read_only)
                self.read_only = self.read_only or not may_write(connection)
                self._remember_files()
                if not self.is_file:
                    self._database = connection.exec_driver_sql(_DATABASE).scalar_one()
                self._mark = None if write_marked else read_mark(connection)
                if self._mark is not None:
                    self.read_only = True
                    connection.rollback()
                    self._forbid_writes(connection.connection.dbapi_connection)
                self._is_open = True
        except StoreError:
            self.close()
            raise
        # If the file is removed later, new connections must not create an empty file.
        sa.event.listen(self._engine, "do_connect", self._expect_file)

    @property
    def shown(self) -> str:
        """Address of the database for messages, without a password."""
        return self._shown

    @property
    def is_file(self) -> bool:
        """Whether the database is an SQLite file."""
        return self._engine.dialect.name == "sqlite"

    def close(self) -> None:
        """Close all connections.

        Raises
        ------
        LostDatabase
            If the file was removed, replaced or overwritten since the last commit.
        """
        is_open, self._is_open = self._is_open, False
        try:
            if self._held is not None:
                self._folding.end()
            if is_open:
                self._expect_file()
        finally:
            self._dispose()

    def sync(self) -> None:
        """Copy all rows from the log into the database file, and write the file to the disk.

        Does nothing for a database on a server.

        Raises
        ------
        FullDisk
            If the disk is full. The rows are then in the file's log.
        """
        if self._held is not None:
            with self._raising_store_errors():
                self._held.fold_whole()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        # After an error in the block, do not replace that error by `LostDatabase`.
        with suppress(*[LostDatabase] * (kind is not None)):
            self.close()

    @contextmanager
    def transaction(self, *, exclusive: bool = False) -> Iterator[sa.Connection]:
        """Run a transaction, in which database errors become `StoreError`.

        Inside `together`, the block is part of the transaction of `together`. Two transactions with
        `exclusive` never overlap, so neither changes data that the other has read.
        """
        outer: sa.Connection | None = getattr(self._here, "connection", None)
        if outer is not None:
            yield outer
            return
        if exclusive and self._mark is not None:
            raise self._mark.refuse(self._shown)
        ended = [False]
        with self._raising_store_errors(ended):
            try:
                with connect(self._engine, self._shown) as connection, connection.begin():
                    if exclusive:
                        begin_exclusive(connection)
                    yield connection
                    ended[0] = True  # an error from here on comes from the commit
            except sa.exc.IntegrityError as error:
                raise StoreError(
                    f"another process wrote the same rows at the same time ({error.orig}); nothing was "
                    "written; run the command again"
                ) from error

    def repeat(self, work: Callable[[], T], *, twice: bool = True) -> T:
        """Run a transaction, and run it again if the connection to a server was lost meanwhile.

        Inside `together`, `work` is part of the transaction of `together` and runs once. If the connection
        was lost during the commit, which may have succeeded, `work` is repeated only if `twice` is set.
        """
        for _ in range(0 if self.is_together else _LOSSES):
            try:
                return work()
            except LostConnection as error:
                if error.may_be_done and not twice:
                    raise
        return work()

    @contextmanager
    def watching(self) -> Iterator[Callable[[], str]]:
        """Yield a cheap function whose result, a text, changes after every write to the database.

        For a read-only file, the text never changes. On a server, the text also changes when other databases
        of the server are written. If the file was removed or replaced, the function raises `StoreError`; call
        `watching` again to read the new file.
        """
        # Compare snapshots, because the end of a long transaction does not change the newest transaction id.
        query = "PRAGMA data_version" if self.is_file else "SELECT pg_current_snapshot()::text"
        if self._held is not None:
            # Save no rows of a removed file, because a watcher only reads and continues with a new file.
            self._held.may_rescue = False
            try:
                self._expect_file()
            except LostDatabase:
                self._dispose()  # open connections still read the removed file
            self._held.close()
        with self._raising_store_errors(), self._engine.connect() as connection:
            prepare_tables(connection, self._shown, read_only=True)
            connection.rollback()
            self._remember_files()

            def read_version() -> str:
                self._expect_file()
                with self._raising_store_errors(), connection.begin():
                    return str(connection.exec_driver_sql(query).scalar_one())

            yield read_version

    def _watch_commits(self, made: Any, _record: object) -> None:
        if self._held is not None and isinstance(made, RetryingConnection):
            made.held, made.committed = self._held, self._folding.start

        elif self._database:
            self._expect_database(made)
        if self._mark is not None:
            self._forbid_writes(made)

    def _forbid_writes(self, made: Any) -> None:
        """Make a connection read-only; the connection must not be in a transaction."""
        if self.is_file:
            made.execute("PRAGMA query_only=ON").close()
        else:
            made.read_only = True

    def _expect_database(self, made: Any) -> None:
        """Raise `LostDatabase` if a new connection leads to a different database than the first one did."""
        try:
            found = made.execute(_DATABASE).fetchone()
        except self._engine.dialect.loaded_dbapi.ProgrammingError:  # no such table
            found = None
        made.rollback()
        if found is None or found[0] != self._database:
            raise LostDatabase(
                f"{self._shown}: the database was removed or replaced while this command used it; rows that "
                "the command already stored are in the old database; restore it and run the command again"
            )

    def _remember_files(self) -> None:
        if self._held is not None:
            self._held.remember(writes=not self.read_only)

    def _expect_file(self, *_: object) -> None:
        """Raise `LostDatabase` if the opened file was removed, replaced or overwritten."""
        if self._held is not None:
            self._held.refuse_overwritten()
            self._held.check()

    def _dispose(self) -> None:
        self._engine.dispose()
        if self._held is not None:
            self._held.close()

    @contextmanager
    def unless_busy(self) -> Iterator[sa.Connection]:
        """Run a transaction that fails at once if another process writes to the file."""
        with self.transaction() as connection:
            if not self.is_file:
                yield connection
                return
            connection.exec_driver_sql("PRAGMA busy_timeout=0")
            try:
                yield connection
            finally:
                connection.exec_driver_sql(PATIENT)

    @property
    def is_together(self) -> bool:
        """Whether this thread is inside a block of `together`."""
        return getattr(self._here, "connection", None) is not None

    @contextmanager
    def together(self, *, exclusive: bool = False) -> Iterator[None]:
        """Combine all transactions of this thread inside the block into one; see `transaction`."""
        before = getattr(self._here, "connection", None)
        with self.transaction(exclusive=exclusive) as connection:
            self._here.connection = connection
            try:
                yield
            finally:
                self._here.connection = before

    @contextmanager
    def rehearsing(self) -> Iterator[None]:
        """Run a block and then roll back its writes. The block can also write into a marked database."""
        with suppress(_NotMeant), self.together(), self.transaction() as connection:
            if self._mark is not None:
                allow = "PRAGMA query_only=OFF" if self.is_file else "SET TRANSACTION READ WRITE"
                connection.exec_driver_sql(allow)
            try:
                yield
            finally:
                if self._mark is not None and self.is_file:
                    connection.exec_driver_sql("PRAGMA query_only=ON")
            raise _NotMeant

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Convert decoding errors in the block into a `StoreError` that reports a damaged database."""
        try:
            yield
        except (KeyError, TypeError, ValueError) as error:
            raise describe_damage(self._shown, error) from error

    @contextmanager
    def _raising_store_errors(self, ended: Sequence[bool] = (False,)) -> Iterator[None]:
        # The driver's errors are included, because some code fetches rows from the driver directly.
        errors = sa.exc.SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error
        try:
            yield
        except errors as error:
            if self._is_open:
                self._expect_file()  # a lost database file explains the error, so it is reported instead
            if self._mark is not None and is_read_only_failure(error):
                raise self._mark.refuse(self._shown) from error
            raise describe_failure(
                self._shown, error, read_only=self.read_only, may_be_done=ended[0]
            ) from error
        except (UnicodeDecodeError, orjson.JSONDecodeError) as error:
            raise describe_damage(self._shown, error) from error
