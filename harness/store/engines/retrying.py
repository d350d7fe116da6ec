"""Wait for an unreachable or locked database for a limited time, and name the program that locks it."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from oversight.harness.errors import ConfigError, StoreError
from oversight.harness.output import say
from oversight.harness.platform import find_openers
from oversight.harness.store.engines.held_file import HeldFile

PATIENCE = 120.0
"""Maximum seconds to wait for a server that does not answer."""
_FIRST, _LONGEST = 0.1, 2.0  # first and longest time between two attempts, in seconds


def connect(engine: sa.Engine, shown: str) -> sa.Connection:
    """Connect; if a server does not answer, print a message and wait for it.

    Raises
    ------
    sqlalchemy.exc.OperationalError
        The last error, if the server does not answer within `PATIENCE` seconds.
    """
    if engine.dialect.name == "sqlite":
        return engine.connect()
    pause, end, told = _FIRST, time.monotonic() + PATIENCE, False
    while True:
        try:
            connection = engine.connect()
        except sa.exc.OperationalError as error:
            if time.monotonic() >= end:
                raise
            if not told:
                reason = str(error.orig).splitlines()[0]
                say(f"{shown}: the database does not answer ({reason}); trying again")
                told = True
            time.sleep(pause)
            pause = min(_LONGEST, 2 * pause)
            continue
        if told:
            say(f"{shown}: the database answers again")
        return connection


ATTEMPT = 1.0
"""Seconds that one attempt waits for a lock before a message names the holder of the lock."""
_WAIT, _TOLD_EVERY = 300.0, 30.0
"""Maximum total seconds to wait (a large import holds the lock for minutes), and seconds between messages."""
_VARIABLE = "OVERSIGHT_LOCK_WAIT"
T = TypeVar("T")


def read_wait() -> float:
    """Return the total number of seconds to wait for a lock: ``$OVERSIGHT_LOCK_WAIT``, by default 300.

    Raises
    ------
    ConfigError
        If the variable is not a number ≥ 0.
    """
    given = os.environ.get(_VARIABLE, "")
    with suppress(ValueError):
        if 0 <= (seconds := float(given or _WAIT)) < float("inf"):
            return seconds
    raise ConfigError(f"{_VARIABLE} must be a number of seconds of at least 0, is {given!r}")


def wait_for_lock(
    shown: str, attempt: Callable[[], T], is_locked: Callable[[Exception], bool], who: Any
) -> T:
    """Call `attempt` until no lock prevents its work; each call itself waits about `ATTEMPT` seconds.

    If a call fails faster, the database refused to wait, so the error of `attempt` is raised.

    Parameters
    ----------
    shown
        Address of the database, for messages.
    attempt
        Function that waits for the lock and does the work.
    is_locked
        Function that returns whether an error was caused by a lock.
    who
        Function that returns a text about the holder of the lock, or an empty text if it is unknown.

    Raises
    ------
    StoreError
        If a lock still prevents the attempt after `read_wait` seconds.
    """
    start = told = time.monotonic()
    while True:
        before = time.monotonic()
        try:
            return attempt()
        except Exception as error:
            now = time.monotonic()
            if not is_locked(error) or now - before < 0.8 * ATTEMPT:
                raise
            limit, holder = read_wait(), who()
            if now - start >= limit:
                raise StoreError(
                    f"{shown}: another program has locked the database{holder}; nothing was written, "
                    f"although this command waited {now - start:.0f} s; end that program, or run the command "
                    "again when it is done"
                ) from error
            if told == start or now - told >= _TOLD_EVERY:
                say(
                    f"{shown}: another program has locked the database{holder}; waiting for it, "
                    f"{now - start:.0f} of at most {limit:.0f} s"
                )
                told = now


class RetryingConnection(sqlite3.Connection):
    """A connection to an SQLite file. Its statements wait while another program locks the file."""

    def __init__(self, database: str, *given: Any, **named: Any) -> None:
        self.file = database
        self.held: HeldFile | None = None
        self.committed: Callable[[], None]
        """Function called after a commit that may have written; set together with `held`."""
        super().__init__(database, *given, **named)

    def cursor(self, factory: Any = None) -> Any:
        """Return a cursor whose statements wait for locks."""
        return super().cursor(factory or _RetryingCursor)

    def commit(self) -> None:
        """Commit as soon as no lock prevents it, and check that the path still leads to the opened file.

        Raises
        ------
        LostDatabase
            If the file was removed, replaced or overwritten.
        """
        if self.held is None:
            self.wait(super().commit)
            return
        self.held.refuse_overwritten()
        writes = self.in_transaction
        self.wait(super().commit)
        self.held.has_written |= writes
        self.held.check()
        if writes:
            self.committed()

    def wait(self, attempt: Callable[[], T]) -> T:
        """Run an operation of this connection as soon as no lock of another program prevents it."""
        return wait_for_lock(self.file, attempt, _is_busy, lambda: _name_openers(self.file))

    def use_log(self) -> None:
        """Switch the file to a write-ahead log, waiting while another program writes.

        SQLite itself would not wait: it refuses the switch at once.
        """
        switch = partial(sqlite3.Cursor(self).execute, "PRAGMA journal_mode=WAL")
        try:
            switch()
        except sqlite3.OperationalError:
            from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

            again = Retrying(
                retry=retry_if_exception(_is_busy),
                stop=stop_after_delay(ATTEMPT),
                wait=wait_fixed(_FIRST / 5),
                reraise=True,
            )
            self.wait(partial(again, switch))


class _RetryingCursor(sqlite3.Cursor):
    connection: RetryingConnection

    def execute(self, *given: Any) -> Any:
        return self.connection.wait(partial(super().execute, *given))

    def executemany(self, *given: Any) -> Any:
        return self.connection.wait(partial(super().executemany, *given))


def _is_busy(error: BaseException) -> bool:
    """Whether an error is due to a lock.

    The lower 8 bits of SQLite's error code give the kind of error.
    """
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def _name_openers(file: str) -> str:
    known = [f"process {pid}, {command}" for pid, command in find_openers(Path(file))[:3]]
    return f" ({'; '.join(known)})" if known else ""
