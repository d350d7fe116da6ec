"""Helpers for readers of other programs' logs: labels of options, records and their fields.

Other programs list options under labels such as ``A``, ``(b)`` or ``1.``. Every error names file, record and
field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from oversight.harness.datasets.row import Row, parse_json
from oversight.harness.errors import DataError
from oversight.harness.output import explain_kind, shorten

T = TypeVar("T")
_LINE = 100
"""Maximum length in characters of a text that may name a group of items."""
OWN_FILE = "write a table with the columns id, text and prediction yourself"
"""Advice for a log that cannot be read."""
_AROUND = " \t\r\n()[]{}（）.:,;*_`\"'"
_DIGITS = re.compile(r"\d{1,3}")
_LEADING = re.compile(r"[\s(\[*\"']*(\w+)[\s*\"']*[)\].:](?:\s|$)")
_STATED = re.compile(r"\b(?:answer|option|choice)\b\s*(?:is|:|=)*[\s(\[*\"']*(\w+)(?![.,]?\w)", re.IGNORECASE)


def strip_label(text: str) -> str:
    """Reduce a label to its letter or number, in lower case.

    >>> [strip_label(label) for label in ("(A)", " b.", "3)")]
    ['a', 'b', '3']
    """
    return text.strip(_AROUND).casefold()


def place_labels(labels: Sequence[str]) -> list[int] | None:
    """Return the position of each label, or None if they are not consecutive letters or numbers.

    Letters count from ``A``, numbers from 1, or from 0 if one of them is 0.

    >>> place_labels(["(B)", "(A)"]), place_labels(["1", "2"]), place_labels(["yes", "no"])
    ([1, 0], [0, 1], None)
    """
    bare = [strip_label(label) for label in labels]
    if bare and all(_DIGITS.fullmatch(name) for name in bare):
        places = [int(name) - min(1, *map(int, bare)) for name in bare]
    elif all(len(name) == 1 and "a" <= name <= "z" for name in bare):
        places = [ord(name) - ord("a") for name in bare]
    else:
        return None
    return places if sorted(places) == list(range(len(places))) else None


def sort_by_label(labels: Sequence[str], texts: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return labels and texts in the order of the labels, if these are consecutive letters or numbers.

    >>> sort_by_label(["B", "A"], ["blue", "red"])
    (('A', 'B'), ('red', 'blue'))
    """
    places = place_labels(labels) if len(labels) == len(texts) else None
    order = range(len(texts)) if places is None else sorted(range(len(texts)), key=places.__getitem__)
    return tuple(labels if places is None else (labels[j] for j in order)), tuple(texts[j] for j in order)


def is_label(text: str) -> bool:
    """Whether a text is a single letter or a number of at most three digits."""
    bare = strip_label(text)
    return (len(bare) == 1 and bare.isalpha()) or _DIGITS.fullmatch(bare) is not None


def read_label(text: str, labels: Sequence[str], *, with_words: bool) -> int | None:
    """Return the position of the label that a reply names; None if it does not clearly name a label.

    A reply counts if it, or its first line, consists of a label. With `with_words`, a label among other words
    counts too: ``2. heart``, ``The answer is 2``.

    >>> [read_label(reply, ["1", "2"], with_words=True) for reply in (" (2)", "The answer is 2.", "2.5")]
    [1, 1, None]
    """
    names = [strip_label(label) for label in labels]
    stripped = text.strip()
    lines = stripped.splitlines() or [""]
    whole = [strip_label(part) for part in (stripped, lines[0])]
    if len(set(names)) < len(names):
        exact = [label.strip() for label in labels]
        return exact.index(stripped) if exact.count(stripped) == 1 else None
    found = [name for name in whole if name in names]
    if not found and with_words:
        lead = _LEADING.match(lines[0])
        stated = {name.casefold() for name in _STATED.findall(stripped)} & set(names)
        found = list(stated) or ([lead[1].casefold()] if lead and lead[1].casefold() in names else [])
        found = found if len(found) == 1 else []
    return names.index(found[0]) if found else None


def find_listed_options(text: str, labels: Sequence[str]) -> tuple[str, ...]:
    r"""Return the options that a text lists under these labels, one per line; empty if there is no such list.

    If the text contains several such lists, the last one is read.

    >>> find_listed_options("Which?\nOptions:\n(A) red\n(B) blue", ["A", "B"])
    ('red', 'blue')
    """
    lines = text.splitlines()
    patterns = [
        re.compile(rf"\s*[(\[]?{re.escape(label.strip(_AROUND))}[)\].:]\s*(\S.*)", re.IGNORECASE)
        for label in labels
    ]
    for first in reversed(range(len(lines))):
        found: list[str] = []
        for line in lines[first:]:
            if match := patterns[len(found)].match(line):
                found.append(match[1].strip())
            elif not found:
                break
            if len(found) == len(labels):
                return tuple(found)
    return ()


def read_each(records: Iterable[Any], path: Path, read: Callable[[Row], T]) -> Iterator[T]:
    """Read records one by one, counted from 1; a record that does not match the format is an error.

    Raises
    ------
    DataError
        If a record does not match the format; the message names the record.
    """
    for number, fields in enumerate(records, start=1):
        record = Row(str(path), number, fields)
        if not isinstance(fields, dict):
            raise record.error(None, f"must be a JSON object, is {shorten(fields)}")
        yield read_one(record, read)


def read_one(record: Row, read: Callable[[Row], T]) -> T:
    """Read one record, raising the same errors as `read_each`."""
    try:
        return read(record)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        told = f"does not match the format ({type(error).__name__}: {error})"
        raise record.error(None, told) from None


def read_texts(record: Row, field: str, values: Iterable[Any]) -> tuple[str, ...]:
    """Return texts of a record; raises `DataError` for a value that is not a text."""
    found = tuple(values)
    for value in found:
        if not isinstance(value, str | int | float):
            raise record.error(field, f"must contain texts, contains {shorten(value)}")
    return tuple(map(str, found))


def read_metadata(fields: Any, without: Container[str] = ()) -> dict[str, str | float]:
    """Return the fields of a log that can be metadata of an item: short texts, numbers and truth values."""
    named = fields.items() if isinstance(fields, dict) else ()
    return {
        name: value
        for name, value in named
        if name not in without and isinstance(value, str | int | float) and len(str(value)) <= _LINE
    }


def read_whole(path: Path) -> Row:
    """Return the JSON of a file as one record; raises `DataError`."""
    data = path.read_bytes()
    if told := explain_kind(data, path.name) or ("the file is empty" if not data else ""):
        raise DataError(told, file=path)
    return Row(str(path), 1, parse_json(data, path))
