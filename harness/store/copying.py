"""Copy or move a study's database into an empty database: from a file to a server, or back."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.store.engines.addresses import find_file, find_users, read_address, show_address
from oversight.harness.store.serialization import describe_failure
from oversight.harness.store.study_store import Store
from oversight.harness.store.tables.insertion import insert_tuples
from oversight.harness.store.tables.study_tables import MARK, RUN_LOCK, RUN_VERSION
from oversight.harness.store.tables.table_maker import METADATA, is_json

# Locks of processes, and the row with the database's own id and mark, are not copied.
_LEFT = {table.name for table in (RUN_LOCK, MARK)}


def copy_store(source: Store, target: Store) -> dict[str, int]:
    """Copy all rows of a study in one transaction, and check that the copied rows equal the source's.

    Other processes may write to the source meanwhile; the copy contains the state at the start. The copy is
    marked, so it collects no answers until it is adopted.

    Returns
    -------
    dict
        Number of rows by table, for tables with rows.

    Raises
    ------
    StoreError
        If the target is not empty, or a row differs after copying. Then nothing is copied.
    """
    with source.together(), target.together(exclusive=True):
        source.audit.hold_still()
        counts = {table: source.count(table) for table in _find_tables()}
        filled = [table.name for table in counts if target.count(table)]
        if filled:
            told = f"already contains a study (rows of {', '.join(filled[:3])}); copy to an empty database"
            raise _Filled(f"{target.shown}: {told}")
        with make_bar(sum(counts.values())) as bar:
            for table in counts:
                _copy_table(source, target, table, bar.update)
        target.marks.mark_copy(source.shown)
    return {table.name: number for table, number in counts.items() if number}


class _Filled(StoreError):
    """The target of a copy already contains a study."""


def copy_rows(source: str, target: str) -> dict[str, int]:
    """Copy a study's database as `copy_store` does, and write all rows to the disk.

    If the copy fails, the incomplete file is removed, so that nobody takes it for a backup.

    Parameters
    ----------
    source, target
        SQLAlchemy URLs.

    Returns
    -------
    dict
        Number of rows by table, for tables with rows.

    Raises
    ------
    StoreError
        If the target is not empty, or a row differs after copying.
    FullDisk
        If the target's disk is full.
    """
    with Store(source) as old, _open_target(target) as new:
        copied = copy_store(old, new)
        new.sync()
    return copied


@contextmanager
def _open_target(url: str, is_named: Callable[[], bool] = lambda: False) -> Iterator[Store]:
    """Open the target of a copy.

    If the block fails, remove the target's file if this function created the file, except if study.toml
    already names it (`is_named`).
    """
    file, is_new = find_file(read_address(url)), False
    if file is not None:
        with suppress(OSError):  # only the creator may remove the file; `Store` reports other errors
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            is_new = True
    try:
        with Store(url, write_marked=True) as store:
            yield store
    except _Filled:  # another process filled the target first
        raise
    except BaseException:
        for ending in ("", "-wal", "-shm", "-journal") if is_new and not is_named() else ():
            Path(f"{file}{ending}").unlink(missing_ok=True)
        raise


def _continues(target: Store, source: Store) -> bool:
    """Whether the audit trail of `target` contains the last event of `source`."""
    head = source.audit.read_head()
    return any(record.link == head for record in target.audit.read_records())


def _is_whole(source: Store, target: Store) -> bool:
    """Whether `target` has exactly the rows of `source`."""
    return all(_digest(source, table) == _digest(target, table) for table in _find_tables())


def _digest(store: Store, table: sa.Table) -> int:
    found = _Digest()
    for rows in _read_rows(store, table):
        found.add(rows)
    return found.total


def _find_tables() -> list[sa.Table]:
    """Return all tables to copy; a table comes after the tables to which its foreign keys refer.

    The table that counts changes of predictions comes last.
    """
    tables = [table for table in METADATA.sorted_tables if table.name not in _LEFT]
    return [*(table for table in tables if table is not RUN_VERSION), RUN_VERSION]


def _copy_table(source: Store, target: Store, table: sa.Table, tell: Callable[[int], object]) -> None:
    names = tuple(column.name for column in table.columns)
    sent = _Digest()
    with target.transaction() as connection:
        if table is RUN_VERSION:
            connection.execute(sa.delete(table))
        for rows in _read_rows(source, table):
            sent.add(rows)
            insert_tuples(connection, table, names, rows)
            tell(len(rows))
    if _digest(target, table) != sent.total:
        told = f"rows of {table.name} differ after copying ({sent.number:,} rows)"
        raise StoreError(f"{target.shown}: {told}; nothing was copied")


def _read_rows(store: Store, table: sa.Table) -> Iterator[list[tuple[Any, ...]]]:
    """Yield a table's rows in batches, with values that do not depend on the database system.

    JSON is returned as text, and booleans as `bool`.
    """
    columns = [sa.cast(c, sa.Text) if is_json(c) else c for c in table.columns]
    truths = [place for place, c in enumerate(table.columns) if isinstance(c.type, sa.Boolean)]
    for portion in store.read_portions(sa.select(*columns)):
        values: list[Sequence[Any]] = list(portion)
        for place in truths:
            values[place] = [None if value is None else bool(value) for value in values[place]]
        yield list(zip(*values, strict=True))


class _Digest:
    """Sum of the hashes of rows, independent of their order."""

    def __init__(self) -> None:
        self.total, self.number = 0, 0

    def add(self, rows: Sequence[tuple[Any, ...]]) -> None:
        self.number += len(rows)
        for row in rows:
            self.total += int.from_bytes(blake2b(repr(row).encode(errors="replace"), digest_size=16).digest())


def make_bar(rows: int) -> Any:
    """Return a progress bar of copied rows, which is shown on a terminal after one second."""
    from tqdm import tqdm

    is_shown = sys.stderr.isatty()
    return tqdm(total=rows, desc="copying", unit="row", delay=1, disable=not is_shown, leave=False)


def move_rows(
    source: str, target: str, name_new: Callable[[], object], is_named: Callable[[], bool]
) -> dict[str, int]:
    """Move a study to another database: mark the old one as moved, copy all rows, and call `name_new`.

    If this fails before study.toml names the new database, the old database collects answers as before. If
    the process is killed, the old database stays marked as moved, and the move can be repeated.

    Parameters
    ----------
    source, target
        SQLAlchemy URLs. This process must not have either database open.
    name_new
        Function that names the new database in study.toml; it is called when all rows are on the disk.
    is_named
        Function that returns whether study.toml names the new database; a signal may interrupt `name_new`.

    Returns
    -------
    dict
        Number of rows by table, for tables with rows; empty if an earlier call copied all rows.

    Raises
    ------
    StoreError
        If the source is in use, has an active run, was moved elsewhere or is itself a copy; or if the target
        is not empty.
    FullDisk
        If the target's disk is full.
    """
    shown = show_address(target)
    # This also fails if the disk is full: then the mark set below could not be removed after a failed move.
    _refuse_users(source)
    with Store(source, write_marked=True) as store:
        mark = store.marks.read_mark()
        if mark is not None and mark.moved_to != shown:
            store.marks.refuse_mark()
        store.marks.mark_moved(shown)
    may_collect = mark is None  # whether the source may collect again if the move fails
    try:
        _refuse_users(source)  # a process that opened the database before it was marked could still write
        with Store(source) as old, _open_target(target, is_named) as new:
            is_copy = _is_whole(old, new) and (mark is not None or new.marks.read_mark() is not None)
            is_done = is_copy or (mark is not None and _continues(new, old))
            if mark is not None:  # the target may have collected answers since an earlier move
                may_collect = not is_done and not new.content.has_items()
            copied = {} if is_done else copy_store(old, new)
            try:
                new.marks.adopt()
                new.sync()
                name_new()
            except BaseException:
                if may_collect and not is_named():
                    new.marks.mark_copy(old.shown)
                raise
    except BaseException:
        if may_collect and not is_named():
            with Store(source, write_marked=True) as store:
                store.marks.adopt()
        raise
    return copied


def _refuse_users(url: str) -> None:
    with Store(url) as store:
        elsewhere = "if that process has ended, take over its run with --take-over"
        held = [
            f"{one}; {elsewhere if one.is_elsewhere else 'end that process'}"
            for one in store.locks.find_held()[:1]
        ]
    try:
        users = find_users(url)
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
        raise describe_failure(show_address(url), error, read_only=False) from error
    if users:
        held = [f"{users}; stop all commands and pages that use the study"]
    if held:
        raise StoreError(f"{show_address(url)}: {held[0]}, then move the study")
