"""What a column of a file looks like, so that its part in a study can be guessed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oversight.harness.datasets import BadRows, Row, read_portions

MOST_VALUES = 30
"""A column of more different values has many."""
_MOST_LOOKED_AT = 100_000
"""So many rows tell what the columns are."""


@dataclass(slots=True)
class ColumnLook:
    """What was seen of a column.

    Attributes
    ----------
    filled
        Number of rows in which it is not empty.
    lists
        Number of rows in which it holds a list, also one written as JSON.
    length, longest
        Characters of all its texts together, and of the longest text or list entry.
    values
        Its different texts, in the order of the file; some are missing if there are more than `MOST_VALUES`.
    unique
        Whether no value came twice.
    """

    filled: int = 0
    lists: int = 0
    length: int = 0
    longest: int = 0
    values: dict[str, None] = field(default_factory=dict)
    unique: bool = True
    _seen: set[int] = field(default_factory=set)

    def see(self, value: Any) -> None:
        """Take in one row's value."""
        found = _as_list(value)
        if found is not None:
            self.filled, self.lists = self.filled + 1, self.lists + 1
            self.longest = max([self.longest, *(len(str(entry)) for entry in found)])
            return
        text = "" if value is None else str(value).strip()
        if not text:
            self.unique = False
            return
        self.filled, self.length = self.filled + 1, self.length + len(text)
        self.longest = max(self.longest, len(text))
        if len(self.values) <= MOST_VALUES:
            self.values[text] = None
        if self.unique:
            self.unique = hash(text) not in self._seen
            self._seen.add(hash(text))

    @property
    def is_few(self) -> bool:
        """Whether a handful of values come again and again."""
        return 2 <= len(self.values) <= MOST_VALUES and len(self.values) * 3 <= self.filled and not self.lists


def look_at_columns(path: Path) -> tuple[int, Mapping[str, ColumnLook]]:
    """Number of rows looked at, and what their columns look like; rows that cannot be read are passed over.

    Raises
    ------
    DataError
        If the file cannot be read, or none of its rows.
    """
    looks: dict[str, ColumnLook] = {}
    rows, bad = 0, BadRows()
    for portion in read_portions(path):
        for row in portion.attempts():
            if isinstance(row, Row):
                rows += 1
                _see_all(looks, row.fields.items())
            else:
                bad.add(row)
        if rows >= _MOST_LOOKED_AT:
            break
    if bad.number and not rows:
        raise bad.error(0)
    return rows, looks


def _see_all(looks: dict[str, ColumnLook], fields: Iterable[tuple[str, Any]]) -> None:
    for name, value in fields:
        look = looks.get(name)
        if look is None:
            look = looks[name] = ColumnLook()
        look.see(value)


def _as_list(value: Any) -> list[Any] | None:
    if isinstance(value, str) and value[:1] == "[":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else None
