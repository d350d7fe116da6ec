"""Annotators' labels from the files that they filled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from harness.datasets import Row, read_rows
from harness.types import Assignment, Choice, Item, find_option
from protocols.collect.spreadsheets.filled_rows import LONG, SOURCE, check_same, fill


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
    choices: dict[str, Choice] = {}
    rows = chain.from_iterable(map(read_rows, paths))
    for row, said in fill(rows, LONG, f"needed are {', '.join(LONG)}"):
        assignment = _find_assignment(row, known, by_pair)
        item = items[assignment.item_id]
        place = find_option(item.options, said)
        if place is None:
            shown = " | ".join(item.shown_options)
            raise row.error("label", f"{said!r} is no option; options are {shown}")
        label = item.options[place]
        first = choices.setdefault(assignment.id, Choice(assignment, label, SOURCE))
        check_same(row, "label", first.label, label)
    return list(choices.values())


def _find_assignment(
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
