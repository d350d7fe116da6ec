"""What a study could be, from the file that lies beside it: columns, classes, meta, a limit on tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oversight.harness.datasets import BadRows, Row, read_portions

_ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", ".csv.gz", ".jsonl.gz")
_TEXT = (
    "text",
    "question",
    "prompt",
    "input",
    "abstract",
    "note",
    "content",
    "body",
    "description",
    "document",
)
_ID = re.compile(r"(.*[_ -])?(?i:id|uid|key|number|nr|no|#)\.?|.*I[dD]")
_LONGEST_ID = 40
"""Characters of an id in a first column that is not named like one."""
_LISTS = ("options", "choices", "answers", "candidates")
_LABEL = re.compile(
    r"((true|gold|correct|right|ground)[ _-]?)?"
    r"(label|class|category|target|gold|truth|answer|correct|diagnosis|solution)"
    r"([ _-]?(idx|index|key|letter))?",
    re.IGNORECASE,
)
"""Names of columns that hold the truth; they are never stored with a study."""
_SUBJECTS = ("class", "category")
_LETTERED = re.compile(r"((?:option|choice|opt|answer)?[ _-]?)([A-J]|\d{1,2})", re.IGNORECASE)
_CHARACTERS_A_TOKEN = 2
"""At least, in most languages; a limit must not be too low."""
_ROOM, _STEP, _MOST = 1_000, 64, 2_048
"""Tokens for reasoning before the answer; limits are multiples of the step, and at most so high."""
_MOST_VALUES = 30
"""A column of more different values has many."""
_MOST_LOOKED_AT = 100_000
"""So many rows tell what the columns are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyProposal:
    """What a file looks like as the items of a study.

    Attributes
    ----------
    rows
        Number of rows looked at.
    columns
        Names of all columns.
    id, text
        Columns with an id and with what is asked; empty where none looks like it.
    options
        A column with lists, or several columns with an option each; empty where there are none.
    classes
        Fixed classes: those given, else the values of the label column where no options are there.
    label
        A column that holds the truth; it is kept out of the study. Empty if none looks like it.
    meta
        Columns of few different values, to keep for strata.
    max_tokens
        A limit that an answer in the format of the prompt does not reach.
    """

    rows: int
    columns: tuple[str, ...]
    id: str
    text: str
    options: str | tuple[str, ...]
    classes: tuple[str, ...]
    label: str
    meta: tuple[str, ...]
    max_tokens: int


def find_item_files(folder: str | Path) -> list[str]:
    """Names of the files in a folder that could hold items, in alphabetical order."""
    path = Path(folder)
    found = path.iterdir() if path.is_dir() else ()
    return sorted(p.name for p in found if p.is_file() and p.name.lower().endswith(_ENDINGS))


def propose(path: str | Path, classes: Sequence[str] = ()) -> StudyProposal:
    """Look at a file and propose what each column is.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    rows, looks = _look_at_columns(Path(path))
    given = tuple(classes)
    options = "" if given else _find_options(looks, rows)
    label = _find_label(looks, given, own=bool(options))
    if not given and not options and label:
        given = tuple(looks[label].values)
    taken = {label, *((options,) if isinstance(options, str) else options)}
    text = _find_text({name: look for name, look in looks.items() if name not in taken})
    named = _find_id({name: look for name, look in looks.items() if name not in taken | {text}}, rows)
    left = {name: look for name, look in looks.items() if name not in taken | {text, named}}
    meta = tuple(
        name for name, look in left.items() if look.is_few and not _tells(name, look, own=bool(options))
    )
    label = label or next((name for name, look in left.items() if _tells(name, look, own=bool(options))), "")
    longest = max(map(len, given), default=0) or _longest(looks, options)
    return StudyProposal(
        rows=rows,
        columns=tuple(looks),
        id=named,
        text=text,
        options=options,
        classes=given,
        label=label,
        meta=meta,
        max_tokens=limit_tokens(longest),
    )


def limit_tokens(longest: int) -> int:
    """Return the token limit for reasoning and an answer with an option of `longest` characters."""
    needed = _ROOM + longest // _CHARACTERS_A_TOKEN
    return min(_MOST, -(-needed // _STEP) * _STEP)


def _find_options(looks: Mapping[str, ColumnLook], rows: int) -> str | tuple[str, ...]:
    """A column of lists, one that is named so first; else columns that a letter or number ends."""
    lists = [name for name, look in looks.items() if look.lists == rows > 0]
    if lists:
        return next((name for name in lists if name.lower() in _LISTS), lists[0])
    by_start: dict[str, list[str]] = {}
    for name in looks:
        if found := _LETTERED.fullmatch(name):
            by_start.setdefault(found[1].lower(), []).append(name)
    several = [tuple(names) for names in by_start.values() if len(names) > 1]
    return several[0] if several else ""


def _find_label(looks: Mapping[str, ColumnLook], classes: Sequence[str], *, own: bool) -> str:
    for name, look in looks.items():
        if classes and look.values and look.values.keys() <= set(classes):
            return name
    named = [name for name, look in looks.items() if look.is_few and _tells(name, look, own=own)]
    return named[0] if named else ""


def _tells(name: str, look: ColumnLook, *, own: bool) -> bool:
    """Whether a column seems to hold the truth: by its name, or as all its values are options' letters.

    Where items have options of their own (`own`), their class or category is a subject.
    """
    if own and name.lower() in _SUBJECTS:
        return False
    return bool(_LABEL.fullmatch(name)) or (own and look.is_few and look.values.keys() <= set("ABCDEFGHIJ"))


def _find_text(looks: Mapping[str, ColumnLook]) -> str:
    """A column that is named like it, else the one of the longest texts if they are more than words."""
    by_name = {name.lower(): name for name, look in looks.items() if look.filled and not look.lists}
    for known in (*_TEXT, *(f"{name}s" for name in _TEXT)):
        if known in by_name:
            return by_name[known]
    long = {name: look.length / look.filled for name, look in looks.items() if look.filled and not look.lists}
    best = max(long, key=long.__getitem__, default="")
    return best if best and long[best] >= 20 else ""


def _find_id(looks: Mapping[str, ColumnLook], rows: int) -> str:
    """A column of different values that is named like it, else the file's first, if short."""
    good = [name for name, look in looks.items() if look.unique and look.filled == rows and not look.lists]
    named = [name for name in good if _ID.fullmatch(name)]
    first = [name for name in good[:1] if name == next(iter(looks)) and looks[name].longest <= _LONGEST_ID]
    return "id" if "id" in good else next(iter(named or first), "")


def _longest(looks: Mapping[str, ColumnLook], options: str | tuple[str, ...]) -> int:
    names = (options,) if isinstance(options, str) else options
    return max((looks[name].longest for name in names if name in looks), default=0)


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
        Its different texts, in the order of the file; some are missing if there are more than `_MOST_VALUES`.
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
        if len(self.values) <= _MOST_VALUES:
            self.values[text] = None
        if self.unique:
            self.unique = hash(text) not in self._seen
            self._seen.add(hash(text))

    @property
    def is_few(self) -> bool:
        """Whether a handful of values come again and again."""
        return (
            2 <= len(self.values) <= _MOST_VALUES and len(self.values) * 3 <= self.filled and not self.lists
        )


def _look_at_columns(path: Path) -> tuple[int, Mapping[str, ColumnLook]]:
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
                for name, value in row.fields.items():
                    if name not in looks:
                        looks[name] = ColumnLook()
                    looks[name].see(value)
            else:
                bad.add(row)
        if rows >= _MOST_LOOKED_AT:
            break
    if bad.number and not rows:
        raise bad.error(0)
    return rows, looks


def _as_list(value: Any) -> list[Any] | None:
    if isinstance(value, str) and value[:1] == "[":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else None
