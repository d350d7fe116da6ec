"""Ratings of a panel from files, and predictions of models from files or arrays.

Every error in a file is named by file, line and field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oversight.harness.datasets.frames import Source, name_source
from oversight.harness.datasets.row import Row
from oversight.harness.datasets.rows import read_rows
from oversight.harness.errors import DataError
from oversight.harness.expected import check_names, check_records
from oversight.harness.output import unguard_cell
from oversight.harness.types import Item, Prediction, Rating
from oversight.harness.types import Source as Origin


def read_ratings(
    path: Source,
    *,
    item: str = "item",
    annotator: str = "annotator",
    label: str = "label",
    classes: Sequence[str] | None = None,
) -> list[Rating]:
    """Read long-form ratings from CSV, JSON Lines, Parquet or a frame: one row a rating.

    Parameters
    ----------
    path
        The file or frame.
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
    if classes is not None:
        check_names("classes", classes)
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
                annotator,
                f"{rating.annotator!r} rates the item {rating.item!r} again; first in {row.name_line(first)}",
            )
        ratings.append(rating)
    if not ratings:
        raise DataError("there is no rating in it", file=name_source(path))
    return ratings


def read_choices(
    path: Source, *, item: str = "item", label: str = "label", classes: Sequence[str] | None = None
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
            raise row.error(item, f"the item {name!r} is there again; first in {row.name_line(lines[name])}")
        if said and allowed is not None and said not in allowed:
            raise row.error(label, f"{said!r} is no class; classes are {', '.join(classes or ())}")
        found[name], lines[name] = said or None, row.line
    if not found:
        raise DataError("there is no label in it", file=name_source(path))
    return found


def _text(row: Row, column: str, *, required: bool = True) -> str:
    value = row.value(column)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1.0 in one file and 1 in another are one label
    if value is not None and not isinstance(value, str | int | float):
        raise row.error(column, f"must be text or a number, is {value!r}")
    text = "" if value is None else str(value).strip()
    text = unguard_cell(text) if str(row.file).lower().endswith(".csv") else text
    if required and not text:
        raise row.error(column, "is empty")
    return text


def predictions_from_arrays(
    items: Sequence[Item],
    predicted: Any = None,
    *,
    probabilities: Any = None,
    classes: Sequence[str] | None = None,
) -> list[Prediction]:
    """Turn ``predict(X)`` or ``predict_proba(X)`` into predictions.

    Parameters
    ----------
    items
        In the order of the rows.
    predicted
        Shape (N,): labels, being members of `classes`, options' texts, or places in `classes` (in the
        first item's options without).
    probabilities
        Shape (N, K), columns as in `classes`; finite, rows sum to 1. Alone, the largest decides; with
        `predicted`, it only gives the confidence.
    classes
        Such as ``model.classes_``; the options of the first item if None.

    Raises
    ------
    DataError
        If shapes do not fit, a label is no option of its item or could be one and the place of another,
        or a row is no distribution.

    Examples
    --------
    >>> from oversight.harness.types import Item
    >>> items = [Item("a", "…", ("x", "y"), (0, 1))]
    >>> predictions_from_arrays(items, probabilities=[[0.2, 0.8]])[0].confidence
    0.8
    """
    check_records("items", items, Item)
    if classes is not None:
        check_names("classes", classes)
    known = list(classes if classes is not None else items[0].options if items else ())
    names = [str(c) for c in known]
    table = None if probabilities is None else _distribution(probabilities, len(items), len(names))
    if predicted is not None:
        labels = _names(np.asarray(predicted).tolist(), known)
        if len(labels) != len(items):
            raise DataError(f"{len(labels)} predictions for {len(items)} items", field="predicted")
    elif table is not None:
        labels = [names[j] for j in table.argmax(axis=1)]
    else:
        raise DataError("give predicted, probabilities or both")
    found = []
    for row, (item, name) in enumerate(zip(items, labels, strict=True)):
        if name not in item.options:
            raise DataError(f"row {row}: {name!r} is no option of {item.id!r}", field="predicted")
        if table is not None and name not in names:
            raise DataError(f"row {row}: {name!r} is not among the classes", field="predicted")
        sure = None if table is None else float(table[row, names.index(name)])
        found.append(Prediction(item.id, item.options.index(name), confidence=sure, source=Origin.IMPORT))
    return found


def _names(labels: list[Any], known: list[Any]) -> list[str]:
    """Labels as options' texts; numbers that are no classes themselves are places among them."""
    names = [str(c) for c in known]
    places = all(type(x) is int and 0 <= x < len(names) for x in labels)
    if not places or all(x in known for x in labels):
        return [str(x) for x in labels]
    for row, x in enumerate(labels):
        if str(x) in names and names[x] != str(x):
            raise DataError(
                f"row {row}: {x} is a class and the place of {names[x]!r}; give the labels as texts",
                field="predicted",
            )
    return [names[x] for x in labels]


def _distribution(probabilities: Any, n: int, k: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    table = np.asarray(probabilities, dtype=np.float64)
    if table.shape != (n, k):
        raise DataError(f"must have shape ({n}, {k}), has {table.shape}", field="probabilities")
    bad = np.flatnonzero(~(np.isfinite(table).all(axis=1) & (table >= 0).all(axis=1)))
    off = np.flatnonzero(~np.isclose(table.sum(axis=1), 1.0, atol=1e-3)) if not bad.size else bad
    if off.size:
        raise DataError(f"row {off[0]} is no distribution: {table[off[0]].tolist()}", field="probabilities")
    return table
