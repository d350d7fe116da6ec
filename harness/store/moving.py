"""Move a study to another database, such that at most one of the two databases collects answers."""

from __future__ import annotations

from oversight.harness.errors import StoreError
from oversight.harness.store.copying import copy_store, is_whole_copy
from oversight.harness.store.engines.addresses import find_users, show_address
from oversight.harness.store.study_store import Store


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
        store.marks.mark_moved(shown)  # mark the database first, so that nobody writes after the check
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
