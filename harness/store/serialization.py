"""Convert values for storage, and describe damaged databases."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import orjson

from oversight.harness.errors import DataError, FullDisk, LostConnection, StoreError
from oversight.harness.output import make_storable
from oversight.harness.types import Item

_DAMAGE = ("malformed", "not a database", "Could not decode", "invalid page", "could not read block")
# SQLite reports "disk I/O error" at a quota or a limit on file sizes.
_FULL = ("disk is full", "disk I/O error", "No space left on device", "Disk quota exceeded")
_RECOVERY = (
    "; the database is damaged: restore a copy of it, or save the rows that can still be read "
    "(of an SQLite file: sqlite3 {0} .recover | sqlite3 recovered.db)"
)


def describe_damage(shown: str, error: Exception) -> StoreError:
    """Make the error for a stored value that this program cannot have written."""
    told = f"a stored value is not what was written ({type(error).__name__}: {error})"
    return StoreError(f"{shown}: {told}{_RECOVERY.format(shown)}")


def is_read_only_failure(error: Exception) -> bool:
    """Whether a write was refused because the database or the connection is read-only."""
    reason = str(getattr(error, "orig", None) or error)
    return "readonly" in reason or "read-only transaction" in reason


def describe_failure(
    shown: str, error: Exception, *, read_only: bool, may_be_done: bool = False
) -> StoreError:
    """Make the error for a failing database; if it is damaged, the message says how to recover."""
    reason = str(getattr(error, "orig", None) or error).splitlines()[0]
    if getattr(error, "connection_invalidated", False):
        told = f"{shown}: the connection to the database was lost ({reason}); run the command again"
        return LostConnection(told, may_be_done=may_be_done)
    if "permission denied" in reason:
        return StoreError(
            f"{shown}: {reason}; this role may not do that: see docs/postgresql.md for what roles may do"
        )
    if read_only and is_read_only_failure(error):
        return StoreError(
            f"{shown} cannot be written: the file or its folder is read-only; estimate, compare and report "
            "still work; for other commands, copy the study to a folder that you can write to"
        )
    if any(sign in reason for sign in _FULL):
        return FullDisk(
            f"{shown}: {reason}; rows stored before are kept: free space and run the same command again"
        )
    recovery = _RECOVERY.format(shown) if any(sign in reason for sign in _DAMAGE) else ""
    return StoreError(f"{shown}: the database cannot be used: {reason}{recovery}")


def write_json(value: Any) -> str:
    """Write a JSON column."""
    return make_storable(json.dumps(value))


def read_json(text: str | bytes) -> Any:
    """Read a JSON column."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:  # SQLite cannot store unpaired surrogates
        if b"\\ud" in (text if isinstance(text, bytes) else text.encode()).lower():
            return json.loads(text)
        raise


def make_rows_storable(
    _connection: object, _cursor: object, statement: str, parameters: Any, _context: object, many: object
) -> tuple[str, Any]:
    """Remove characters that no database stores, so that one row cannot make a batch fail."""
    return statement, clean_rows(parameters) if many else _clean(parameters)


def clean_rows(rows: Sequence[Any]) -> Sequence[Any]:
    """Return rows without characters that no database stores."""
    # Check all rows at once, because almost no row needs cleaning.
    values = [row.values() for row in rows] if isinstance(rows[0], dict) else rows
    texts = "\n".join(map(_join_texts, zip(*values, strict=True)))
    return rows if make_storable(texts) == texts else [_clean(row) for row in rows]


def _join_texts(column: tuple[Any, ...]) -> str:
    kinds = set(map(type, column))
    if kinds == {str}:
        return "\n".join(column)
    return "\n".join([value for value in column if type(value) is str]) if str in kinds else ""


def _clean(row: Any) -> Any:
    if isinstance(row, dict):
        return dict(zip(row, _clean(tuple(row.values())), strict=True))
    return tuple([make_storable(value) if type(value) is str else value for value in row])


def make_items_storable(items: list[Item]) -> list[Item]:
    """Return items with characters that no database stores made visible.

    Raises
    ------
    DataError
        If an id contains such a character, because ids must not change.
    """
    texts = "\n".join([text for item in items for text in (item.id, item.text, *item.options)])
    # Check all items at once, because almost none contains such a character.
    return items if make_storable(texts) == texts else list(map(_make_item_storable, items))


def _make_item_storable(item: Item) -> Item:
    if make_storable(item.id) != item.id:
        raise DataError(f"the item id {item.id!r} contains a character that no database can store, or a key")
    text, options = make_storable(item.text), tuple(map(make_storable, item.options))
    if text == item.text and options == item.options:
        return item
    return replace(item, text=text, options=options)


def is_same_item(item: Item, text: str, options: str) -> bool:
    """Whether an item has the stored text and options (as JSON)."""
    return item.text == text and (write_tuple(item.options) == options or item.options == read_texts(options))


def add_meta(item: Item, stored: str) -> dict[str, str] | None:
    """Return a stored item's meta with the columns of `item` that it lacks; None if it lacks none."""
    if stored == write_meta(item.meta):
        return None
    before: dict[str, str] = read_json(stored)
    return {**item.meta, **before} if item.meta.keys() - before.keys() else None


def write_meta(meta: Mapping[str, str]) -> str:
    """Write the column of an item's meta."""
    return _write_pairs(tuple(meta.items())) if meta else "{}"


@lru_cache(maxsize=4096)  # cached, because few combinations of values occur
def _write_pairs(meta: tuple[tuple[str, str], ...]) -> str:
    return write_json(dict(meta))


@lru_cache(maxsize=4096)
def read_texts(options: str) -> tuple[str, ...]:
    """Read a JSON column of texts, such as options."""
    return tuple(read_json(options))


@lru_cache(maxsize=4096)  # cached, because fixed classes have few different orders
def write_tuple(values: tuple[str, ...] | tuple[int, ...]) -> str:
    """Write a JSON column of texts or of whole numbers."""
    return write_json(values)
