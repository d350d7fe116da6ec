"""A panel by spreadsheet: one CSV file per annotator with all options of each item, ratings back.

The columns are ``assignment_id, item, annotator, text, options, label``. The annotator writes one of the
options into `label`, or leaves it empty (not rated yet). Options are shown in the item's shuffled
order, rows in an order of the annotator's own. What comes back is what `oversight agree` reads.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.datasets.items import fold
from harness.datasets.rows import Row, read_rows
from harness.errors import BadInput
from harness.seeding import derive_seed
from harness.types import Rating
from protocols.offline import file_name
from protocols.panel import Assignment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.types import Item

PLAN = ("id", "item", "annotator", "propensity", "protocol", "seed")
COLUMNS = ("assignment_id", "item", "annotator", "text", "options", "label")


def export_assignments(
    assignments: Sequence[Assignment],
    items: Mapping[str, Item],
    folder: str | Path,
    rated: Iterable[str] = (),
) -> list[Path]:
    """Write what is still to be rated, one file per annotator.

    Parameters
    ----------
    rated
        Ids of assignments that came back already; they are left out.

    Raises
    ------
    BadInput
        If a file is there already: it may hold ratings that were not read yet.
    """
    folder, done = Path(folder), set(rated)
    by_person: dict[str, list[Assignment]] = {}
    for assignment in assignments:
        if assignment.id not in done:
            by_person.setdefault(assignment.annotator, []).append(assignment)
    paths = {name: folder / f"panel-{file_name(name)}.csv" for name in by_person}
    if len(set(paths.values())) < len(paths):
        raise BadInput("two annotators' names make the same file name; rename one")
    for path in paths.values():
        if path.exists():
            raise BadInput(f"{path} is there already and may hold ratings; read it or move it away first")
    folder.mkdir(parents=True, exist_ok=True)
    for name, given in by_person.items():
        rng = np.random.default_rng(derive_seed(given[0].seed, "order", name))
        _write(paths[name], [_row(given[int(j)], items) for j in rng.permutation(len(given))])
    return list(paths.values())


def write_plan(assignments: Iterable[Assignment], path: str | Path) -> Path:
    """Record who was given what, with propensity, rule and seed, before anything is rated.

    Raises
    ------
    BadInput
        If the file is there already: a plan is drawn once.
    """
    path = Path(path)
    if path.exists():
        raise BadInput(f"{path} is there already; a plan is drawn once, before any rating")
    rows = [(a.id, a.item_id, a.annotator, repr(a.propensity), a.protocol, str(a.seed)) for a in assignments]
    _write(path, [dict(zip(PLAN, row, strict=True)) for row in rows], PLAN)
    return path


def read_plan(path: str | Path) -> list[Assignment]:
    """Read a recorded plan.

    Raises
    ------
    DataError
        Naming file, line and field of a missing column, a bad number or an assignment made twice.
    """
    made: dict[str, Assignment] = {}
    for row in read_rows(path):
        for column in PLAN:
            if column not in row.fields:
                raise row.error(column, "there is no such column; read what write_plan wrote")
        f = row.fields
        if f["id"] in made:
            raise row.error("id", f"the assignment {f['id']!r} is there twice")
        try:
            propensity, seed = float(f["propensity"]), int(f["seed"])
        except ValueError as error:
            raise row.error(None, str(error)) from None
        if not 0 < propensity <= 1:
            raise row.error("propensity", f"must lie in (0, 1], is {propensity}")
        made[f["id"]] = Assignment(f["id"], f["item"], f["annotator"], propensity, f["protocol"], seed)
    return list(made.values())


def read_panel(
    paths: Iterable[str | Path], assignments: Sequence[Assignment], items: Mapping[str, Item]
) -> list[Rating]:
    """Read filled-in files; rows without a label are passed over.

    The same file read twice is one rating; two different labels are an error.

    Raises
    ------
    DataError
        Naming file, line and field: a missing column, an assignment that was never made or is
        another annotator's, a label that is no option of the item, a second label.
    """
    known = {a.id: a for a in assignments}
    found: dict[str, Rating] = {}
    for path in paths:
        for row in read_rows(path):
            rating = _rating(row, known, items)
            if rating is None:
                continue
            first = found.setdefault(str(row.fields["assignment_id"]), rating)
            if first.label != rating.label:
                raise row.error("label", f"second label {rating.label!r}; the first was {first.label!r}")
    return list(found.values())


def write_ratings(ratings: Iterable[Rating], path: str | Path) -> Path:
    """Write ratings in the long form ``item, annotator, label`` that the verbs read."""
    path = Path(path)
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("item", "annotator", "label"))
        writer.writerows((r.item, r.annotator, r.label) for r in ratings)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)
    return path


def option_named(item: Item, text: str) -> str | None:
    """The item's option that a person wrote, letter case and white space aside; None if there is none."""
    return next((option for option in item.options if fold(option) == fold(text)), None)


def _rating(row: Row, known: Mapping[str, Assignment], items: Mapping[str, Item]) -> Rating | None:
    for column in ("assignment_id", "annotator", "label"):
        if column not in row.fields:
            raise row.error(column, "there is no such column; read the files that were exported")
    said = str(row.fields["label"] or "").strip()
    if not said:
        return None
    assignment = known.get(str(row.fields["assignment_id"]))
    if assignment is None:
        raise row.error("assignment_id", f"{row.fields['assignment_id']!r} was never assigned")
    annotator = str(row.fields["annotator"])
    if annotator != assignment.annotator:
        raise row.error("annotator", f"the item was given to {assignment.annotator!r}, not to {annotator!r}")
    item = items[assignment.item_id]
    option = option_named(item, said)
    if option is None:
        raise row.error("label", f"{said!r} is no option; options are {' | '.join(item.shown_options)}")
    return Rating(item.id, annotator, option)


def _row(assignment: Assignment, items: Mapping[str, Item]) -> dict[str, str]:
    item = items[assignment.item_id]
    return {
        "assignment_id": assignment.id,
        "item": item.id,
        "annotator": assignment.annotator,
        "text": item.text,
        "options": " | ".join(item.shown_options),
        "label": "",
    }


def _write(path: Path, rows: list[dict[str, str]], columns: Sequence[str] = COLUMNS) -> None:
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns)
        writer.writeheader()
        writer.writerows(rows)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)
