"""Copy or move a study's database into an empty database: from a file to a server, or back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

import sqlalchemy as sa

from oversight.harness.errors import StoreError
from oversight.harness.store.database import Database
from oversight.harness.store.engines.addresses import find_users, show_address
from oversight.harness.store.study_store import Store
from oversight.harness.store.tables.content_tables import DatabaseMarkRow, ItemRow
from oversight.harness.store.tables.insertion import count_rows, insert_tuples
from oversight.harness.store.tables.run_tables import RunLockRow, RunVersionRow

# Locks of processes, and the row with the database's own id and mark, are not copied.
_LEFT = {row.__table__.name for row in (RunLockRow, DatabaseMarkRow)}
_COUNTED = RunVersionRow.__table__  # a trigger writes this table when predictions arrive


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
        counts = {table: _count(source, table) for table in _find_tables()}
        filled = [table.name for table in counts if _count(target, table)]
        if filled:
            told = f"already contains a study (rows of {', '.join(filled[:3])}); copy to an empty database"
            raise StoreError(f"{target.shown}: {told}")
        with make_bar(sum(counts.values())) as bar:
            for table in counts:
                _copy_table(source, target, table, bar.update)
        target.marks.mark_copy(source.shown)
    return {table.name: number for table, number in counts.items() if number}


def is_whole_copy(source: Store, target: Store) -> bool:
    """Whether `target` has exactly the rows of `source` and is marked as a copy."""
    mark = target.marks.read_mark()
    if mark is None or not mark.copied_at:
        return False
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
    tables = [table for table in ItemRow.metadata.sorted_tables if table.name not in _LEFT]
    return [*(table for table in tables if table is not _COUNTED), _COUNTED]


def _count(store: Database, table: sa.Table) -> int:
    with store.transaction() as connection:
        return count_rows(connection, table)


def _copy_table(source: Store, target: Store, table: sa.Table, tell: Callable[[int], object]) -> None:
    names = tuple(column.name for column in table.columns)
    sent = _Digest()
    with target.transaction() as connection:
        if table is _COUNTED:
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
    columns = [sa.cast(c, sa.Text) if _is_json(c) else c for c in table.columns]
    truths = [place for place, c in enumerate(table.columns) if isinstance(c.type, sa.Boolean)]
    for portion in store.read_portions(sa.select(*columns)):
        values: list[Sequence[Any]] = list(portion)
        for place in truths:
            values[place] = [None if value is None else bool(value) for value in values[place]]
        yield list(zip(*values, strict=True))


def _is_json(column: sa.Column[Any]) -> bool:
    return isinstance(getattr(column.type, "impl_instance", column.type), sa.JSON)


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


def move_rows(source: str, target: str) -> dict[str, int]:
    """Mark a study's database as moved, and copy all rows into another database, which is marked as a copy.

    If the process is killed, the move can be repeated. The caller must adopt the new database afterwards.

    Parameters
    ----------
    source, target
        SQLAlchemy URLs. This process must not have either database open.

    Returns
    -------
    dict
        Number of rows by table, for tables with rows; empty if an earlier call copied all rows.

    Raises
    ------
    StoreError
        If the source is in use, has an active run, was moved elsewhere or is itself a copy; or if the target
        is not empty. The source is then left as it was.
    """
    shown = show_address(target)
    with Store(source, write_marked=True) as store:
        mark = store.marks.read_mark()
        if mark is not None and mark.moved_to != shown:
            store.marks.refuse_mark()
        # Mark the database before `_refuse_users`, so that no process starts to write after that check.
        store.marks.mark_moved(shown)
    try:
        _refuse_users(source)
        with Store(source) as old, Store(target, write_marked=True) as new:
            is_done = mark is not None and new.marks.read_mark() is None and new.content.has_items()
            return {} if is_done or is_whole_copy(old, new) else copy_store(old, new)
    except BaseException:
        if mark is None:
            with Store(source, write_marked=True) as store:
                store.marks.adopt()
        raise


def _refuse_users(url: str) -> None:
    with Store(url) as store:
        elsewhere = "if that process has ended, take over its run with --take-over"
        held = [
            f"{one}; {elsewhere if one.is_elsewhere else 'end that process'}"
            for one in store.locks.find_held()[:1]
        ]
    if users := find_users(url):
        held = [f"{users}; stop all commands and pages that use the study"]
    if held:
        raise StoreError(f"{show_address(url)}: {held[0]}, then move the study")
