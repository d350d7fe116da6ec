"""Convert values for storage, and describe database errors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import orjson

from oversight.harness.errors import DataError, FullDisk, LostConnection, StoreError
from oversight.harness.output import make_storable
from oversight.harness.types import Item, content_id, join_lines

_DAMAGE = ("malformed", "not a database", "Could not decode", "invalid page", "could not read block")
# SQLite reports "disk I/O error" if a disk quota or the maximum file size is reached.
_FULL = ("disk is full", "disk I/O error", "No space left on device", "Disk quota exceeded")
_RECOVERY = (
    "; the database is damaged: restore a copy of it, or save the rows that can still be read "
    "(of an SQLite file: sqlite3 {0} .recover | sqlite3 recovered.db)"
)


def describe_damage(shown: str, error: Exception) -> StoreError:
    """Return the error for a stored value that this program cannot have written."""
    told = f"a stored value was changed or is damaged ({type(error).__name__}: {error})"
    return StoreError(f"{shown}: {told}{_RECOVERY.format(shown)}")


def is_read_only_failure(error: Exception) -> bool:
    """Whether an error was raised because the database or the connection is read-only."""
    reason = str(getattr(error, "orig", None) or error)
    return "readonly" in reason or "read-only transaction" in reason


def describe_failure(
    shown: str, error: Exception, *, read_only: bool, may_be_done: bool = False
) -> StoreError:
    """Return the error for a failed database operation; for a damaged database, the error says what to do."""
    reason = str(getattr(error, "orig", None) or error).splitlines()[0]
    if getattr(error, "connection_invalidated", False):
        told = f"{shown}: the connection to the database was lost ({reason}); run the command again"
        return LostConnection(told, may_be_done=may_be_done)
    if "permission denied" in reason:
        return StoreError(f"{shown}: {reason}; see docs/postgresql.md for the rights that each role needs")
    if read_only and is_read_only_failure(error):
        return StoreError(
            f"{shown} cannot be written: the file or its folder is read-only; estimate, compare and report "
            "still work; for other commands, copy the study to a folder that you can write to"
        )
    if any(sign in reason for sign in _FULL):
        return FullDisk(
            f"{shown}: {reason}; rows that are already stored are kept: free space and run the same command "
            "again"
        )
    recovery = _RECOVERY.format(shown) if any(sign in reason for sign in _DAMAGE) else ""
    return StoreError(f"{shown}: the database cannot be used: {reason}{recovery}")


def write_json(value: Any) -> str:
    """Encode the value of a JSON column."""
    return make_storable(json.dumps(value))


def read_json(text: str | bytes) -> Any:
    """Decode the value of a JSON column."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:  # orjson refuses unpaired surrogates, which `json` accepts
        if b"\\ud" in (text if isinstance(text, bytes) else text.encode()).lower():
            return json.loads(text)
        raise


def make_rows_storable(
    _connection: object, _cursor: object, statement: str, parameters: Any, _context: object, many: object
) -> tuple[str, Any]:
    """Redact secrets in parameters, and replace characters that a database cannot store.

    Without this SQLAlchemy event handler, one row with such a character would make a whole batch fail.
    """
    return statement, clean_rows(parameters) if many else _clean(parameters)


def clean_rows(rows: Sequence[Any]) -> Sequence[Any]:
    """Return rows after redacting secrets and replacing characters that a database cannot store."""
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
    """Return items after redacting secrets and replacing characters that a database cannot store.

    Raises
    ------
    DataError
        If an id contains a secret, or a character that would be replaced, because ids must not change.
    """
    texts = "\n".join([text for item in items for text in (item.id, item.text, *item.options)])
    # Check all items at once, because almost no item needs cleaning.
    return items if make_storable(texts) == texts else list(map(_make_item_storable, items))


def _make_item_storable(item: Item) -> Item:
    if make_storable(item.id) != item.id:
        raise DataError(
            f"the item id {item.id!r} contains a secret (such as an API key), or a character that databases "
            "cannot store"
        )
    text, options = make_storable(item.text), tuple(map(make_storable, item.options))
    if text == item.text and options == item.options:
        return item
    return replace(item, text=text, options=options)


def is_same_item(item: Item, text: str, options: str) -> bool:
    """Whether an item equals a stored text and stored options (a JSON text), apart from line ends.

    Older versions stored line ends as the file had them, and checkouts of a file differ in line ends.
    """
    if item.text != text and join_lines(item.text) != join_lines(text):
        return False
    if write_tuple(item.options) == options:
        return True
    return [*map(join_lines, item.options)] == [*map(join_lines, read_tuple(options))]


def name_today(item_id: str, text: str, options: str) -> str:
    """Return the id that a stored item has if its source is read today; `options` is a JSON text.

    If a source has no ids, an id is a hash of the text. Older versions hashed line ends as the file had them,
    so an item that was stored with a carriage return has another id today.
    """
    if "\r" not in text or item_id != content_id(text, each := read_tuple(options)):
        return item_id
    return content_id(join_lines(text), [*map(join_lines, each)])


def add_meta(item: Item, stored: str) -> dict[str, str] | None:
    """Return the stored meta plus those columns of `item` that it lacks; None if it lacks no column."""
    if stored == write_meta(item.meta):
        return None
    before: dict[str, str] = read_json(stored)
    return {**item.meta, **before} if item.meta.keys() - before.keys() else None


def write_meta(meta: Mapping[str, str]) -> str:
    """Encode the meta column of an item."""
    return _write_pairs(tuple(meta.items())) if meta else "{}"


@lru_cache(maxsize=4096)  # cached, because many items have the same values
def _write_pairs(meta: tuple[tuple[str, str], ...]) -> str:
    return write_json(dict(meta))


@lru_cache(maxsize=4096)
def read_tuple(values: str) -> tuple[Any, ...]:
    """Decode a JSON column of texts or integers, for example options."""
    return tuple(read_json(values))


@lru_cache(maxsize=4096)  # cached, because many items have the same options or permutation
def write_tuple(values: tuple[str, ...] | tuple[int, ...]) -> str:
    """Encode a JSON column of texts or integers."""
    return write_json(values)
