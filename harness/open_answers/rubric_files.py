"""Read and write files about units: rubrics, corrected units, true labels, and a judge's probabilities."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from oversight.harness.config import Study
from oversight.harness.datasets import Row, read_rows
from oversight.harness.errors import BadInput, DataError
from oversight.harness.open_answers.units import NO, YES
from oversight.harness.output import did_you_mean, guard_cell, shorten, unguard_cell
from oversight.harness.platform import write_whole
from oversight.harness.store import StoredAnswer, StoredUnit

RUBRIC = "rubric"
"""Origin of units that are criteria."""
_LISTS = ("rubrics", "rubric")
"""Names of columns with a list of criteria, if study.toml names no column."""
_ITEM_IDS = ("item", "id", "prompt_id")
_NUMBERED = re.compile(r"criterion_(\d+)")
_FIELD_TAGS = ("field:", "axis:")
"""Prefixes of the tag that names the field of a criterion, most specific first."""
_FILES = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", ".gz")
UNIT_COLUMNS = ("unit", "item", "answer", "text", "points", "field")


def name_unit(item_id: str, answer: str, place: int, text: str) -> str:
    """Return the id of a unit: 16 hexadecimal digits of a SHA-256 hash of its item, answer, place and text.

    Examples
    --------
    >>> name_unit("q1", "", 0, "names the dose")
    '6dfb8c9c6fd4ddb5'
    """
    told = "\x1f".join((item_id, answer, str(place), text))
    return sha256(told.encode()).hexdigest()[:16]


def read_rubrics(study: Study, item_ids: Iterable[str]) -> list[StoredUnit]:
    """Read the criteria of all items, from a rubric file or from columns of the items.

    A rubric file has one row per criterion (columns item, criterion, points, field), or one row per item with
    a list of criteria, like HealthBench (``prompt_id`` and ``rubrics`` with ``criterion``, ``points``,
    ``tags``). If the items themselves contain the rubrics, they have either one column with such a list, or
    the columns ``criterion_1``, ``points_1``, ``field_1``, ``criterion_2`` and so on.

    Raises
    ------
    DataError
        If a criterion has no text, points are 0 or not a number, only some criteria of an item have points, a
        rubric's item is unknown, or an item has no criterion with positive points. The message names file,
        line and field.
    """
    ids, units = dict.fromkeys(item_ids), list[StoredUnit]()
    is_file = (study.open.rubric or "").lower().endswith(_FILES)
    source = study.path(study.open.rubric or "") if is_file else _find_items_file(study)
    names = (study.items.id,) if not is_file else tuple(dict.fromkeys((*_ITEM_IDS, study.items.id)))
    counts, points_given = dict.fromkeys(ids, 0), defaultdict[str, _PointsGiven](dict)
    for row in read_rows(source):
        item = _find_item(row, names)
        if item not in ids:
            if not is_file:
                # The study leaves this item out, because it is beyond the limit or its row is invalid.
                continue
            known = did_you_mean(item, ids)
            raise row.error(names[0], f"the rubric is for {item!r}, which is no item of the study{known}")
        for text, points, field in _read_criteria(row, study, points_given[item], is_file=is_file):
            place = counts[item]
            counts[item] += 1
            name = name_unit(item, "", place, text)
            units.append(StoredUnit(name, item, "", place, text, points, field, RUBRIC))
    _refuse_gaps(points_given.values())
    _check_scores(counts, units, source)
    return units


def _find_items_file(study: Study) -> Path:
    if not study.items.file:
        raise BadInput('[open] rubric: name the file with the rubrics, as in rubric = "rubrics.jsonl"')
    return study.path(study.items.file)


def _find_item(row: Row, names: Sequence[str]) -> str:
    for name in names:
        if name in row.fields:
            return row.text(name).strip()
    raise row.error(names[0], "a rubric needs the id of its item")


def _check_scores(counts: Mapping[str, int], units: Sequence[StoredUnit], source: Path) -> None:
    positive = {unit.item_id for unit in units if unit.points > 0}
    for item, n in counts.items():
        if not n:
            raise DataError(f"the item {item!r} has no rubric", file=source)
        if item not in positive:
            told = f"no criterion of the item {item!r} has positive points, so it has no score"
            raise DataError(told, file=source, field="points")


_Criterion = tuple[str, float, str | None]
_PointsGiven = dict[bool, DataError]
"""Whether an item's criterion has points → error about missing points at the first such criterion."""


def _refuse_gaps(items: Iterable[_PointsGiven]) -> None:
    """Refuse an item of which some criteria have points and others have none.

    Without any points, all criteria of an item count the same.
    """
    for points_given in items:
        if len(points_given) > 1:
            raise points_given[False]


def _read_criteria(
    row: Row, study: Study, points_given: _PointsGiven, *, is_file: bool
) -> Iterator[_Criterion]:
    named = None if is_file else study.open.rubric
    column = named or next((name for name in _LISTS if name in row.fields), None)
    if column is not None:
        yield from _read_list(row, column, points_given)
    elif "criterion" in row.fields:
        yield _read_criterion(row, row.fields, ("criterion", "points", "field"), points_given)
    else:
        places = sorted(int(found[1]) for name in row.fields if (found := _NUMBERED.fullmatch(name)))
        if not places:
            told = "a column is missing: rubrics (a list of criteria), criterion, or criterion_1"
            raise row.error("rubrics", told)
        for place in places:
            if row.fields[f"criterion_{place}"] not in (None, ""):
                columns = (f"criterion_{place}", f"points_{place}", f"field_{place}")
                yield _read_criterion(row, row.fields, columns, points_given)


def _read_list(row: Row, column: str, points_given: _PointsGiven) -> Iterator[_Criterion]:
    value = row.parsed(column, "list of criteria")
    if not isinstance(value, list):
        raise row.error(column, f"must be a list of criteria, is {shorten(value)}")
    for each in value:
        if not isinstance(each, dict):
            raise row.error(column, f"a criterion must be an object, is {shorten(each)}")
        columns = ("criterion" if "criterion" in each else "text", "points", "field")
        yield _read_criterion(row, each, columns, points_given)


def _read_criterion(
    row: Row, fields: Mapping[str, Any], columns: tuple[str, str, str], points_given: _PointsGiven
) -> _Criterion:
    plain = {name: unguard_cell(v) if isinstance(v := fields.get(name), str) else v for name in columns}
    part = Row(row.file, row.line, plain)
    text = part.text(columns[0]).strip()
    if not text:
        raise row.error(columns[0], "a criterion is empty")
    points = part.number(columns[1])
    if points == 0:
        raise row.error(columns[1], "a criterion needs points other than 0")
    told = "a criterion has no points, but others of its item have; give points to all or to none"
    points_given.setdefault(points is not None, row.error(columns[1], told))
    field = part.text(columns[2]).strip() or _find_field(fields.get("tags"))
    return text, 1.0 if points is None else points, field or None


def _find_field(tags: Any) -> str:
    """Return the field named by a tag such as ``axis:accuracy``; empty if no tag names one."""
    names = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    for start in _FIELD_TAGS:
        for tag in names:
            if tag.startswith(start):
                return tag.removeprefix(start).strip()
    return ""


def has_rubrics(columns: Iterable[str]) -> bool:
    """Return whether items with these columns have rubrics, in a form that `read_rubrics` accepts.

    Examples
    --------
    >>> has_rubrics(["id", "text", "criterion_1"]), has_rubrics(["id", "text"])
    (True, False)
    """
    names = set(columns)
    return bool(names & {*_LISTS, "criterion", "criterion_1"})


def write_units(units: Sequence[StoredUnit], texts: Mapping[str, str], path: Path) -> None:
    """Write units as a new CSV file for people to correct, each with the text of its answer.

    Parameters
    ----------
    texts
        Id of an answer → its text.

    Examples
    --------
    >>> from oversight.harness.store import StoredUnit
    >>> unit = StoredUnit("c1", "q1", "", 0, "names the dose", 1.0, "medicine", "rubric")
    >>> write_units([unit], {}, Path("written.csv"))
    >>> print(Path("written.csv").read_text(encoding="utf-8").splitlines()[1])
    c1,q1,,names the dose,1,medicine,
    """
    if path.exists():
        raise BadInput(f"{path} exists already; give another FILE")
    out = io.StringIO(newline="")
    rows = csv.writer(out)
    rows.writerow((*UNIT_COLUMNS, "whole_answer"))
    for unit in units:
        cells = (unit.id, unit.item_id, unit.answer, unit.text, f"{unit.points:g}", unit.field or "")
        rows.writerow(map(guard_cell, (*cells, texts.get(unit.answer, ""))))
    write_whole([out.getvalue().encode("utf-8-sig")], path)


def read_units(
    path: str | Path, answers: Sequence[StoredAnswer], item_ids: Iterable[str]
) -> list[StoredUnit]:
    """Read a file of `write_units` that people have corrected, possibly by adding or removing rows.

    Raises
    ------
    DataError
        If an item or answer is unknown, a unit has no text, points are 0 or not a number, only some units of
        an item or answer have points, or only some of the answers have units. The message names file, line
        and field.

    Examples
    --------
    >>> from pathlib import Path
    >>> from oversight.harness.store import StoredUnit
    >>> unit = StoredUnit("c1", "q1", "", 0, "names the dose", 1.0, "medicine", "rubric")
    >>> write_units([unit], {}, Path("units.csv"))
    >>> read_units("units.csv", [], ["q1"])[0].text
    'names the dose'
    """
    of_item, items = {a.id: a.item_id for a in answers}, set(item_ids)
    units, places = list[StoredUnit](), dict[tuple[str, str], int]()
    points_given = defaultdict[tuple[str, str], _PointsGiven](dict)
    for row in read_rows(path):
        item, answer = (unguard_cell(row.text(name)).strip() for name in ("item", "answer"))
        if item not in items:
            raise row.error("item", f"{item!r} is no item of the study{did_you_mean(item, items)}")
        if answer and of_item.get(answer) != item:
            raise row.error("answer", f"{answer!r} is no answer to the item {item!r}")
        columns = ("text", "points", "field")
        text, points, field = _read_criterion(row, row.fields, columns, points_given[item, answer])
        place = places.setdefault((item, answer), 0)
        places[item, answer] += 1
        units.append(
            StoredUnit(name_unit(item, answer, place, text), item, answer, place, text, points, field, "hand")
        )
    _refuse_gaps(points_given.values())
    if any(unit.answer for unit in units):
        left = of_item.keys() - {unit.answer for unit in units}
        if left:
            raise DataError(
                f"no row (unit to judge) belongs to the answer {min(left)!r}", file=path, field="answer"
            )
    return units


def read_probabilities(study: Study) -> dict[tuple[str, str, str], float]:
    """Read a judge's probabilities from a file: (item, model, unit id or text) → probability in [0, 1].

    Raises
    ------
    BadInput
        If the file does not exist.
    DataError
        If a probability is missing or outside [0, 1], or a unit has two different probabilities.
    """
    found, path = dict[tuple[str, str, str], float](), study.path(study.open.judge or "")
    if not path.is_file():
        raise BadInput(
            f"[open] judge: there is no model {study.open.judge!r} under [models], and no file {path}"
        )
    for row in read_rows(path):
        item, model, unit = (unguard_cell(row.text(name)).strip() for name in ("item", "model", "unit"))
        value = row.number("probability")
        if value is None or not 0 <= value <= 1:
            raise row.error("probability", f"must lie between 0 and 1, is {shorten(value)}")
        if found.setdefault((item, model, unit), value) != value:
            raise row.error("unit", f"the unit {unit!r} of {model!r} has two probabilities")
    return found


def read_unit_key(key: str | Path) -> dict[tuple[str, str, str], tuple[str, str]]:
    """Read true labels: (item, model, unit's id or text) → ("yes" or "no", unit's field or an empty text).

    Raises
    ------
    DataError
        If a label is neither yes nor no, or a unit has two different labels.

    Examples
    --------
    >>> key = read_unit_key("data/open_answers.key.csv")
    >>> key["open-01", "amber", "says that CT uses ionising X-rays"]
    ('yes', '')
    """
    found = dict[tuple[str, str, str], tuple[str, str]]()
    for row, about, label, field in iterate_unit_key(key):
        if found.setdefault(about, (label, field))[0] != label:
            raise row.error("unit", f"the unit {about[2]!r} of {about[1]!r} has two labels")
    return found


def iterate_unit_key(
    key: str | Path,
) -> Iterator[tuple[Row, tuple[str, str, str], str, str]]:
    """Yield each row of a file of true labels, with (item, model, unit's id or text), label and field.

    Raises
    ------
    DataError
        If a label is neither yes nor no.
    """
    for row in read_rows(key):
        item, model, unit = (unguard_cell(str(row.value(name))).strip() for name in ("item", "model", "unit"))
        label = row.text("label").strip().lower()
        if label not in (YES, NO):
            raise row.error("label", f"must be yes or no, is {shorten(label)}")
        yield row, (item, model, unit), label, row.text("field").strip()
