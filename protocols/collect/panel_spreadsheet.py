"""A panel by spreadsheet: one file per annotator with all options of each item, ratings back.

The columns are ``assignment_id, item, annotator, text, options, label``. The annotator writes one of the
options into `label`, or leaves it empty (not rated yet). Options are shown in the item's shuffled
order, rows in an order of the annotator's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from harness import derive_seed
from harness.datasets import Row, fold, read_rows
from harness.types import Assignment, Choice, Item, Rating
from protocols.collect.spreadsheet import SOURCE, file_name, refuse_unread, write_rows

COLUMNS = ("assignment_id", "item", "annotator", "text", "options", "label")
LONG = ("item", "annotator", "label")


def export_assignments(
    assignments: Sequence[Assignment],
    items: Mapping[str, Item],
    rated: Iterable[str],
    folder: str | Path,
    form: str = "csv",
) -> list[Path]:
    """Write what is still to be rated, one file per annotator.

    Parameters
    ----------
    rated
        Ids of assignments that came back already; they are left out.
    form
        ``"csv"``, or ``"jsonl"`` with the same fields, one object a line.

    Raises
    ------
    BadInput
        If a file is there already with ratings that were not imported yet.
    """
    folder, done = Path(folder), set(rated)
    by_person: dict[str, list[Assignment]] = {}
    for assignment in assignments:
        if assignment.id not in done:
            by_person.setdefault(assignment.annotator, []).append(assignment)
    paths = {name: folder / f"panel-{file_name(name)}.{form}" for name in by_person}
    refuse_unread(paths, "assignment_id", done)
    folder.mkdir(parents=True, exist_ok=True)
    for name, given in by_person.items():
        rng = np.random.default_rng(derive_seed(given[0].seed, "order", name))
        shuffled = [given[int(j)] for j in rng.permutation(len(given))]
        write_rows(paths[name], COLUMNS, [_row(a, items[a.item_id]) for a in shuffled])
    return list(paths.values())


def read_panel(
    paths: Iterable[str | Path], assignments: Sequence[Assignment], items: Mapping[str, Item]
) -> list[Choice]:
    """Read filled-in files, or any with the columns ``item, annotator, label``; empty labels are passed over.

    The same file read twice is one rating; two different labels are an error.

    Raises
    ------
    DataError
        Naming file, line and field: a missing column, an assignment that was never made or is
        another annotator's, a label that is no option of the item, a second label.
    """
    known = {a.id: a for a in assignments}
    by_pair = {(a.item_id, a.annotator): a for a in assignments}
    found: dict[str, Choice] = {}
    for path in paths:
        for row in read_rows(path):
            for column in LONG:
                if column not in row.fields:
                    raise row.error(column, f"there is no such column; needed are {', '.join(LONG)}")
            said = str(row.fields["label"] or "").strip()
            if not said:
                continue
            assignment = _assignment(row, known, by_pair)
            option = option_named(items[assignment.item_id], said)
            if option is None:
                shown = " | ".join(items[assignment.item_id].shown_options)
                raise row.error("label", f"{said!r} is no option; options are {shown}")
            first = found.setdefault(assignment.id, Choice(assignment, option, SOURCE))
            if first.label != option:
                raise row.error("label", f"second label {option!r}; the first was {first.label!r}")
    return list(found.values())


def write_ratings(ratings: Iterable[Rating], path: str | Path) -> Path:
    """Write ratings in the long form ``item, annotator, label`` that the verbs read."""
    path = Path(path)
    write_rows(path, LONG, [dict(zip(LONG, (r.item, r.annotator, r.label), strict=True)) for r in ratings])
    return path


def option_named(item: Item, text: str) -> str | None:
    """The item's option that a person wrote, letter case and white space aside; None if there is none."""
    return next((option for option in item.options if fold(option) == fold(text)), None)


def _assignment(
    row: Row, known: Mapping[str, Assignment], by_pair: Mapping[tuple[str, str], Assignment]
) -> Assignment:
    item, annotator = str(row.fields["item"]), str(row.fields["annotator"])
    if "assignment_id" not in row.fields:
        found = by_pair.get((item, annotator))
        if found is None:
            raise row.error("annotator", f"the item {item!r} was never given to {annotator!r}")
        return found
    found = known.get(str(row.fields["assignment_id"]))
    if found is None:
        raise row.error("assignment_id", f"{row.fields['assignment_id']!r} was never assigned")
    if annotator != found.annotator:
        raise row.error("annotator", f"the item was given to {found.annotator!r}, not to {annotator!r}")
    return found


def _row(assignment: Assignment, item: Item) -> dict[str, str]:
    values = (assignment.id, item.id, assignment.annotator, item.text, " | ".join(item.shown_options), "")
    return dict(zip(COLUMNS, values, strict=True))
