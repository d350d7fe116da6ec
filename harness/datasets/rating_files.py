"""Ratings of a panel and predictions of models from files, every error by file, line and field."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.datasets.rows import Row, read_rows
from harness.errors import DataError
from harness.types import Rating


def read_ratings(
    path: str | Path,
    *,
    item: str = "item",
    annotator: str = "annotator",
    label: str = "label",
    classes: Sequence[str] | None = None,
) -> list[Rating]:
    """Read long-form ratings from CSV, JSON Lines or Parquet: one row a rating.

    Parameters
    ----------
    path
        The file.
    item, annotator, label
        Names of the three columns. A row with an empty label is a rating that was not given: it is
        left out, and a later row may give it.
    classes
        All classes, if labels outside them are to be refused.

    Raises
    ------
    DataError
        Naming file, line and field: a missing column, an empty item or annotator, a label outside
        the classes, an annotator twice on an item; or a file without a rating.
    """
    ratings: list[Rating] = []
    seen: dict[tuple[str, str], int] = {}
    allowed = None if classes is None else set(classes)
    for row in read_rows(path):
        said = _text(row, label, required=False)
        rating = Rating(_text(row, item), _text(row, annotator), said)
        if not said:
            continue
        if allowed is not None and said not in allowed:
            raise row.error(label, f"{said!r} is no class; classes are {', '.join(classes or ())}")
        first = seen.setdefault((rating.item, rating.annotator), row.line)
        if first != row.line:
            raise row.error(
                annotator, f"{rating.annotator!r} rates the item {rating.item!r} again; first in line {first}"
            )
        ratings.append(rating)
    if not ratings:
        raise DataError("there is no rating in it", file=path)
    return ratings


def read_choices(
    path: str | Path, *, item: str = "item", label: str = "label", classes: Sequence[str] | None = None
) -> dict[str, str | None]:
    """Read one label an item: a model's predictions, or a reference. Empty is None (unreadable).

    Raises
    ------
    DataError
        Naming file, line and field, as in `read_ratings`; an item twice.
    """
    found: dict[str, str | None] = {}
    lines: dict[str, int] = {}
    allowed = None if classes is None else set(classes)
    for row in read_rows(path):
        name, said = _text(row, item), _text(row, label, required=False)
        if name in found:
            raise row.error(item, f"the item {name!r} is there again; first in line {lines[name]}")
        if said and allowed is not None and said not in allowed:
            raise row.error(label, f"{said!r} is no class; classes are {', '.join(classes or ())}")
        found[name], lines[name] = said or None, row.line
    if not found:
        raise DataError("there is no label in it", file=path)
    return found


def _text(row: Row, column: str, *, required: bool = True) -> str:
    value = row.value(column)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1.0 in one file and 1 in another are one label
    if value is not None and not isinstance(value, str | int | float):
        raise row.error(column, f"must be text or a number, is {value!r}")
    text = "" if value is None else str(value).strip()
    if required and not text:
        raise row.error(column, "is empty")
    return text
