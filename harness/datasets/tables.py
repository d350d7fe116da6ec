"""Tables of labels, predictions and ratings: read them from files, frames and arrays, or write them to files.

Every error names file, line and field, or row and column of the frame.
"""

from __future__ import annotations

import csv
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from oversight.harness.argument_checks import check_names, check_records
from oversight.harness.datasets.frames import Source, name_source
from oversight.harness.datasets.row import Row, split_wide
from oversight.harness.datasets.rows import import_parquet, read_rows
from oversight.harness.errors import DataError, FullDisk, is_full
from oversight.harness.output import did_you_mean, guard_cell, unguard_cell
from oversight.harness.types import (
    Item,
    Label,
    LabelKind,
    Labels,
    Prediction,
    PredictionStatus,
    Rating,
    SharedOptions,
    Verdict,
    find_number,
    find_option,
    trim_number,
)
from oversight.harness.types import Source as Origin

_ROUNDED = 0.01
"""Largest accepted relative difference of a propensity from that of a uniform draw; files may round it."""
_KINDS = {Verdict.YES: LabelKind.ORDINARY, Verdict.NO: LabelKind.COMPLEMENTARY}


def labels_from_frame(
    source: Source,
    items: Sequence[Item] | Sequence[str],
    *,
    id_column: str = "id",
    option_column: str = "option",
    answer_column: str = "answer",
    expert_column: str = "expert",
) -> Labels:
    """Convert a frame or file with one row per question to labels, in the order of its rows.

    Options must have been drawn with equal probabilities, independently of the answers. For a protocol that
    draws in another way, use the protocol's `decode`; a column ``propensity`` with other probabilities is
    refused.

    Parameters
    ----------
    source
        Frame or file with columns for the item's id, the text of the option asked about, and the expert's
        answer: ``yes``, ``no``, ``unsure`` or ``skip``, or a boolean. An empty answer counts as missing, like
        ``unsure``. The column with the expert's name is optional.
    items
        The items that were asked about, and possibly further items. If all items have the same options, a
        list of these options may be given instead; then any id is accepted.

    Raises
    ------
    DataError
        If a column is missing, an id belongs to no item, an option does not belong to the item or was asked
        about twice, or an answer has another value; the message names row and column.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": ["a", "b"], "option": ["x", "y"], "answer": ["yes", "no"]})
    >>> [(label.option, str(label.kind)) for label in labels_from_frame(frame, ["x", "y"])]
    [(0, 'ordinary'), (1, 'complementary')]
    """
    known = _KnownOptions.of(items)
    found: dict[tuple[str, int], Label] = {}
    rows = defaultdict[str, list[tuple[Row, int]]](list)
    for row in read_rows(source):
        name, said = _said(row, id_column), _said(row, option_column)
        if expert_column != "expert":
            row.value(expert_column)  # raises an error if the named column does not exist
        options = known.look_up(row, id_column, name)
        option = _find_place(row, option_column, said, name, options)
        rows[name].append((row, len(options)))
        if (name, option) in found:
            raise row.error(option_column, f"{name!r} was asked about {said!r} twice")
        found[name, option] = Label(
            item_id=name,
            option=option,
            kind=_read_kind(row, answer_column),
            n_options=len(options),
            propensity=1 / len(options),
            expert=row.text(expert_column).strip(),
        )
    _refuse_unequal_draw(rows.values())
    # Each of an item's m rows has the propensity m/K, because m of its K options were drawn.
    labels = (replace(x, propensity=len(rows[x.item_id]) / x.n_options) for x in found.values())
    return Labels(labels, options=known.shared)


def _refuse_unequal_draw(items: Iterable[Sequence[tuple[Row, int]]]) -> None:
    """Raise an error if options were not drawn uniformly.

    In a uniform draw, each of an item's m rows has the propensity m/K, where K is its number of options.
    """
    for rows in items:
        for row, options in rows:
            drawn = row.number("propensity")
            if drawn is not None and abs(drawn * options / len(rows) - 1) > _ROUNDED:
                told = f"must be {len(rows)}/{options}, is {drawn:g}: the item has {len(rows)} rows"
                advice = (
                    "for options that were not drawn uniformly, use Question, Answer and oversight.decode"
                )
                raise row.error("propensity", f"{told}; {advice}")


@dataclass(frozen=True, slots=True)
class _KnownOptions:
    """The known options: of each item by its id, or one list that all items share."""

    by_id: Mapping[str, Sequence[str]]
    shared: Sequence[str] = ()

    @classmethod
    def of(cls, items: Sequence[Item] | Sequence[str]) -> _KnownOptions:
        """Make the object from items or shared options. Raises WrongType or DataError for other values."""
        if isinstance(items, set | frozenset):
            raise DataError("must be a list, because the order of options matters", field="items")
        names = [each for each in items if isinstance(each, str)] if not isinstance(items, str) else []
        if not names:
            check_records("items", items, Item)
            return cls({item.id: item.options for item in items if isinstance(item, Item)})
        if len(names) < len(items) or len(set(names)) < max(2, len(names)):
            raise DataError(f"needs at least 2 options, each once, not {[*items]!r}", field="items")
        return cls({}, names)

    def look_up(self, row: Row, column: str, name: str) -> Sequence[str]:
        """Return the options of an item. Raises DataError if no item has this id."""
        if not name:
            raise row.error(column, "is empty")
        if self.shared or name in self.by_id:
            return self.shared or self.by_id[name]
        raise row.error(column, f"no item has the id {name!r}{did_you_mean(name, self.by_id)}")


def _find_place(row: Row, column: str, said: str, name: str, options: Sequence[str]) -> int:
    """Return the position of the option that a row names. Raises DataError if the item has no such option."""
    place = find_option(options, said)
    if place is None:
        told = f"{said!r} is not one of the options of {name!r}{did_you_mean(said, options)}"
        raise row.error(column, told)
    return place


def _read_kind(row: Row, column: str) -> LabelKind:
    value = row.value(column)
    said = {True: "yes", False: "no"}[value] if isinstance(value, bool) else _said(row, column).lower()
    if said and said not in list(Verdict):
        raise row.error(column, f"must be one of {', '.join(Verdict)}, is {said!r}")
    return _KINDS.get(Verdict(said), LabelKind.ABSTAINED) if said else LabelKind.ABSTAINED


def _said(row: Row, column: str) -> str:
    row.value(column)  # raises an error if the column does not exist
    return row.text(column).strip()


def predictions_from_frame(
    source: Source,
    items: Sequence[Item] | Sequence[str],
    *,
    id_column: str = "id",
    prediction_column: str = "prediction",
    confidence_column: str = "confidence",
) -> list[Prediction]:
    """Convert a frame or file with one row per item to predictions, in the order of its rows.

    Parameters
    ----------
    source
        Frame or file with columns for the item's id and the text of the predicted option; an empty prediction
        is read as unreadable and counts as wrong, unless a column ``status`` says ``failed``. The column with
        the confidence in [0, 1] is optional.
    items
        The items. If an item has no row, the model counts as not run on it. If all items have the same
        options, a list of these options may be given instead; then any id is accepted.

    Raises
    ------
    DataError
        If a column is missing, an id belongs to no item or occurs twice, a prediction is not one of the
        item's options, or a confidence is out of range; the message names row and column.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": ["a", "b"], "prediction": ["y", None]})
    >>> [(p.option, str(p.status)) for p in predictions_from_frame(frame, ["x", "y"])]
    [(1, 'ok'), (None, 'unreadable')]
    """
    known = _KnownOptions.of(items)
    found: dict[str, Prediction] = {}
    for row in read_rows(source):
        name, said = _said(row, id_column), _said(row, prediction_column)
        options = known.look_up(row, id_column, name)
        if name in found:
            raise row.error(id_column, f"the id {name!r} occurs twice")
        place = _find_place(row, prediction_column, said, name, options) if said else None
        is_failed = row.word("status") == PredictionStatus.FAILED
        if said and is_failed:
            raise row.error("status", f"is failed, but the row has a prediction, {said!r}")
        if confidence_column != "confidence":
            row.value(confidence_column)  # raises an error if the named column does not exist
        sure = row.number(confidence_column)
        if sure is not None and not 0 <= sure <= 1:
            raise row.error(confidence_column, f"must be between 0 and 1, is {sure:g}")
        missing = PredictionStatus.FAILED if is_failed else PredictionStatus.UNREADABLE
        found[name] = Prediction(
            name,
            place,
            PredictionStatus.OK if said else missing,
            reason="" if said else "failed" if is_failed else "empty",
            confidence=sure,
            source=Origin.IMPORT,
        )
    return SharedOptions(found.values(), known.shared)


_MISSING = frozenset(["na", "n/a", "#n/a", "nan", "null", "-", "--", "?"])
"""Words that often stand for a missing label."""
_NO_PEOPLE = frozenset(
    ["majority", "consensus", "truth", "gold", "oracle", "reference", "answer", "model", "prediction"]
)
"""Names of columns that are rarely an annotator's."""


def read_ratings(
    path: Source,
    *,
    item: str = "item",
    annotator: str = "annotator",
    label: str = "label",
    classes: Sequence[str] | None = None,
) -> list[Rating]:
    """Read ratings from CSV, JSON Lines, Excel, Parquet or a frame: one row per rating, or one per item.

    Parameters
    ----------
    path
        The file or frame.
    item, annotator, label
        Names of the three columns. If the file lacks the columns `annotator` and `label`, every column except
        `item` is named after an annotator and contains this annotator's labels. An empty label is a missing
        rating: it is left out, and a later row may contain the rating.
    classes
        All classes. If given, any other label is an error, except a number such as ``1.0`` for the class
        ``1``. Without `classes`, ``1.0`` is read as ``1`` if all labels are whole numbers.

    Raises
    ------
    DataError
        If a column is missing, an item or annotator is empty, a label is not a class, an annotator rates an
        item twice, or there is no rating. For a table with one row per item: if a column does not look like
        an annotator's ratings. Without `classes`: if a label can stand for a missing label, two labels differ
        only in case, or ``1`` and ``1.0`` occur among labels that are not whole numbers. The message names
        file, line and field.

    Examples
    --------
    >>> import pandas as pd
    >>> read_ratings(pd.DataFrame({"item": ["i1"], "ana": ["yes"], "bo": ["yes"]}))[1]
    Rating(item='i1', annotator='bo', label='yes')
    >>> frame = pd.DataFrame({"item": ["a", "a"], "annotator": ["ann", "bob"], "label": ["x", "y"]})
    >>> read_ratings(frame)[1]
    Rating(item='a', annotator='bob', label='y')
    """
    if classes is not None:
        check_names("classes", classes)
    ratings: list[Rating] = []
    seen: dict[tuple[str, str], int] = {}
    allowed = None if classes is None else dict.fromkeys(classes)
    rows = read_rows(path)
    first_row = next(rows, None)
    is_wide = first_row is not None and _is_wide(first_row, item, annotator, label)
    rows = chain([] if first_row is None else [first_row], rows)
    for row in _split_rows(rows, item, annotator, label) if is_wide else rows:
        said = _read_class(row, label, allowed)
        rating = Rating(_text(row, item), _text(row, annotator), said)
        if not said:
            continue
        first = seen.setdefault((rating.item, rating.annotator), row.line)
        if first != row.line:
            raise row.error(
                annotator,
                f"{rating.annotator!r} rates the item {rating.item!r} again; first in {row.name_line(first)}",
            )
        ratings.append(rating)
    if not ratings:
        raise DataError("the source contains no rating", file=name_source(path))
    if classes is None:
        names = _name_numbers((rating.label for rating in ratings), name_source(path))
        ratings = [Rating(r.item, r.annotator, names.get(r.label, r.label)) for r in ratings]
    if is_wide:
        _refuse_other_columns(ratings, name_source(path), are_known=classes is not None)
    if classes is None:
        _refuse_doubtful_labels(ratings, name_source(path))
    return ratings


def _read_class(row: Row, column: str, classes: Mapping[str, Any] | None) -> str:
    """Return the class that a column names; empty if the cell is empty. `classes` are the known classes.

    If the cell and exactly one class are the same whole number, such as 1.0 and 1, this class is returned.
    Raises DataError if the cell names no class. If `classes` is None, the cell's text is returned unchanged.
    """
    said = _text(row, column, required=False)
    if not said or classes is None or said in classes:
        return said
    names = list(classes)
    place = find_number(names, said)
    if place is None:
        raise row.error(column, f"{said!r} is not a class; classes are {', '.join(names)}")
    return names[place]


def _name_numbers(labels: Iterable[str], file: object) -> dict[str, str]:
    """Return label → class if all labels are whole numbers, so that ``1.0`` and ``1`` are one class.

    If one of the labels is not a whole number, the result is empty. Raises DataError if two labels are then
    the same number, because they may be different classes, for example the version numbers 1 and 1.0.
    """
    found = {said: trim_number(said) for said in dict.fromkeys(labels)}
    whole = {said: number for said, number in found.items() if number is not None}
    if len(whole) == len(found):
        return whole
    first: dict[str, str] = {}
    for said, number in whole.items():
        if (other := first.setdefault(number, said)) != said:
            told = f"the labels {other!r} and {said!r} are the same number: write them alike"
            raise DataError(f"{told}, or name all labels (--classes)", file=file)
    return {}


def _refuse_doubtful_labels(ratings: Sequence[Rating], file: object) -> None:
    """Refuse labels that may mean a missing label, and labels that differ only in case."""
    labels = dict.fromkeys(rating.label for rating in ratings)
    by_plain: dict[str, str] = {}
    for said in labels:
        if said.casefold() in _MISSING:
            told = f"the label {said!r} may mean a missing label: leave the cell empty"
            raise DataError(f"{told}, or name all labels (--classes)", file=file)
        if (other := by_plain.setdefault(said.casefold(), said)) != said:
            told = f"the labels {other!r} and {said!r} differ only in case: write them alike"
            raise DataError(f"{told}, or name all labels (--classes)", file=file)


def _is_wide(row: Row, item: str, annotator: str, label: str) -> bool:
    """Whether a table has one row per item and one column per annotator.

    Raises
    ------
    DataError
        If the table has neither these columns nor those of a table with one row per rating.
    """
    if {annotator, label} & row.fields.keys():
        return False
    if item not in row.fields or len(row.fields) < 3:
        told = f"the columns are {', '.join(row.fields)}; ratings need {item}, {annotator}, {label}, or "
        raise DataError(f"{told}{item} and one column for each of several annotators", file=row.file)
    return True


def _split_rows(rows: Iterable[Row], item: str, annotator: str, label: str) -> Iterator[Row]:
    lines: dict[str, int] = {}
    for row in rows:
        for name in (annotator, label):
            if name in row.fields:
                raise row.error(name, "earlier rows have one column per annotator instead of this column")
        if (first := lines.setdefault(_text(row, item), row.line)) != row.line:
            told = f"is also in {row.name_line(first)}; without the columns {annotator} and {label}"
            raise row.error(item, f"{told} a table has one row per item")
        yield from split_wide(row, [name for name in row.fields if name != item], annotator, label)


def _refuse_other_columns(ratings: Sequence[Rating], file: object, *, are_known: bool) -> None:
    """Raise an error if a column's name or labels suggest that it does not contain an annotator's ratings.

    Labels suggest this if most of the column's labels occur in no other column. If `are_known` is true, the
    labels were already compared with given classes, and only the names are checked.
    """
    for name in dict.fromkeys(rating.annotator for rating in ratings):
        if name.casefold() in _NO_PEOPLE:
            told = f"the column {name!r} may hold no labels: remove it, or rename it if it is an annotator"
            raise DataError(told, file=file)
    if are_known:
        return
    labels: dict[str, Counter[str]] = {}
    for rating in ratings:
        labels.setdefault(rating.annotator, Counter())[rating.label] += 1
    users = Counter(chain.from_iterable(labels.values()))
    doubtful = [
        name
        for name, counts in labels.items()
        if 2 * sum(n for said, n in counts.items() if users[said] > 1) < counts.total()
    ]
    if doubtful:
        told = f"the columns {', '.join(labels)} were read as annotators, but most values of "
        told += f"{', '.join(doubtful)} are in no other column; remove columns that hold no labels, name all "
        raise DataError(f"{told}labels (--classes), or write one row per rating", file=file)


def read_choices(
    path: Source, *, item: str = "item", label: str = "label", classes: Sequence[str] | None = None
) -> dict[str, str | None]:
    """Read one label per item: a model's predictions or a reference. An empty label becomes None.

    Numbers such as ``1.0`` are read as in `read_ratings`.

    Raises
    ------
    DataError
        As in `read_ratings`, or if an item occurs twice; the message names file, line and field.
    """
    found: dict[str, str | None] = {}
    lines: dict[str, int] = {}
    allowed = None if classes is None else dict.fromkeys(classes)
    for row in read_rows(path):
        name, said = _text(row, item), _read_class(row, label, allowed)
        if name in found:
            raise row.error(item, f"the item {name!r} occurs again; first in {row.name_line(lines[name])}")
        found[name], lines[name] = said or None, row.line
    if not found:
        raise DataError("the source contains no label", file=name_source(path))
    if classes is None:
        names = _name_numbers(filter(None, found.values()), name_source(path))
        found = {name: said and names.get(said, said) for name, said in found.items()}
    return found


def _text(row: Row, column: str, *, required: bool = True) -> str:
    value = row.value(column)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # so that 1.0 in one file equals 1 in another
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
    """Convert the result of ``predict(X)`` or ``predict_proba(X)`` to predictions.

    Parameters
    ----------
    items
        Items in the order of the rows.
    predicted
        Shape (N,): one label per item: a member of `classes`, the text of an option, or a position in
        `classes`. If `classes` is None, a position refers to the first item's options.
    probabilities
        Shape (N, K), columns as in `classes`; finite, rows sum to 1. Without `predicted`, the most probable
        class is the prediction; with `predicted`, the probabilities only give the confidence.
    classes
        For example ``model.classes_``; None for the options of the first item.

    Raises
    ------
    DataError
        If shapes do not match, an index has the items' ids in another order, a label is not an option of its
        item or is ambiguous between a class and a position, or a row is not a distribution.

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
    for field, given in {"predicted": predicted, "probabilities": probabilities}.items():
        _refuse_other_items(field, given, items)
    if hasattr(probabilities, "columns"):
        _refuse_other_order([str(name) for name in probabilities.columns], names)
    table = None if probabilities is None else _distribution(probabilities, len(items), len(names))
    if predicted is not None:
        labels = _names(np.asarray(predicted).tolist(), known)
        if len(labels) != len(items):
            raise DataError(f"{len(labels)} predictions for {len(items)} items", field="predicted")
    elif table is not None:
        labels = [names[j] for j in table.argmax(axis=1)]
    else:
        raise DataError("give `predicted`, `probabilities` or both")
    found = []
    for row, (item, name) in enumerate(zip(items, labels, strict=True)):
        if name not in item.options:
            raise DataError(f"row {row}: {name!r} is not an option of {item.id!r}", field="predicted")
        if table is not None and name not in names:
            raise DataError(f"row {row}: {name!r} is not among the classes", field="predicted")
        sure = None if table is None else float(table[row, names.index(name)])
        found.append(Prediction(item.id, item.options.index(name), confidence=sure, source=Origin.IMPORT))
    return found


def _refuse_other_order(columns: list[str], names: list[str]) -> None:
    """Refuse a frame of probabilities whose named columns are not in the order of the classes."""
    if set(columns) & set(names) and columns != names:
        told = f"the columns are {', '.join(columns)}; give one per class, in the order {', '.join(names)}"
        raise DataError(told, field="probabilities")


def _refuse_other_items(field: str, values: Any, items: Sequence[Item]) -> None:
    """Refuse a series or frame whose index has the items' ids in another order."""
    index = getattr(values, "index", None)
    if index is None or callable(index):
        return
    ids, given = [item.id for item in items], [str(name) for name in index]
    is_default = given == [str(place) for place in range(len(given))] and set(given) != set(ids)
    if given != ids and set(given) & set(ids) and not is_default:
        raise DataError("the index must contain the ids of the items, in the same order", field=field)


def _names(labels: list[Any], known: list[Any]) -> list[str]:
    """Return each label as the name of a class.

    If the labels are whole numbers and not all of them are classes, each is read as a position in `known`.
    """
    names = [str(c) for c in known]
    places = all(type(x) is int and 0 <= x < len(names) for x in labels)
    if not places or all(x in known for x in labels):
        return [str(x) for x in labels]
    for row, x in enumerate(labels):
        if str(x) in names and names[x] != str(x):
            raise DataError(
                f"row {row}: {x} is both a class and the position of the class {names[x]!r}; give the labels "
                "as texts",
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
        raise DataError(
            f"row {off[0]} is not a distribution: {table[off[0]].tolist()}", field="probabilities"
        )
    return table


_PORTION = 10_000
_COLUMNS = {
    "model": "string",
    "run": "string",
    "item_id": "string",
    "sample": "int32",
    "option": "int32",
    "option_text": "string",
    "status": "string",
    "reason": "string",
    "confidence": "float64",
    "raw": "string",
    "input_tokens": "int64",
    "output_tokens": "int64",
    "seconds": "float64",
    "attempts": "int32",
    "source": "string",
    "step": "string",
}
_Rows = Iterable[Mapping[str, Any]]


def write_predictions(path: str | Path, rows: _Rows) -> int:
    """Write rows with the columns of predictions, atomically. Returns the number of rows.

    Raises
    ------
    DataError
        If the file has another ending, the ``parquet`` extra is missing, or the folder is not writable.
    FullDisk
        If the disk is full.
    """
    path = Path(path)
    writers: dict[str, Callable[[Path, Iterator[Mapping[str, Any]]], None]] = {
        ".csv": _write_csv,
        ".jsonl": _write_jsonl,
        ".parquet": _write_parquet,
    }
    if path.suffix.lower() not in writers:
        raise DataError(f"unknown format; the name must end in {', '.join(writers)}", file=path)
    if path.suffix.lower() == ".parquet":
        import_parquet(path)
    part, count = path.with_name(path.name + ".part"), 0

    def counted() -> Iterator[Mapping[str, Any]]:
        nonlocal count
        for row in rows:
            count += 1
            yield {name: row[name] for name in _COLUMNS}

    try:
        writers[path.suffix.lower()](part, counted())
        part.replace(path)
    except OSError as error:
        if is_full(error):
            raise FullDisk(f"{path}: cannot be written: {error.strerror}") from None
        raise DataError(f"cannot be written: {error}", file=path) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return count


def _write_csv(path: Path, rows: Iterator[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(_COLUMNS))
        writer.writeheader()
        for row in rows:  # None becomes an empty field
            writer.writerow({n: guard_cell(v) if isinstance(v, str) else v for n, v in row.items()})
        stream.flush()
        os.fsync(stream.fileno())


def _write_jsonl(path: Path, rows: Iterator[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        stream.flush()
        os.fsync(stream.fileno())


def _write_parquet(path: Path, rows: Iterator[Mapping[str, Any]]) -> None:
    pa, pq = import_parquet(path)
    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in _COLUMNS.items()])
    with pq.ParquetWriter(path, schema) as writer:
        while portion := list(islice(rows, _PORTION)):
            writer.write_table(pa.Table.from_pylist(portion, schema=schema))
