"""Read annotators' labels from filled-in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from oversight.harness import DataError
from oversight.harness.datasets import BadRows, Portion, Row, RowPortion, read_filled_portions, split_wide
from oversight.harness.output import did_you_mean
from oversight.harness.types import Assignment, Choice, Item, find_option
from oversight.protocols.collect.spreadsheets.cells import (
    ASSIGNMENT_PREFIX,
    SHOWN,
    ReadCell,
    cell_reader,
    read_id,
    write_cells,
)
from oversight.protocols.collect.spreadsheets.filled_rows import (
    LONG,
    SOURCE,
    FilledRow,
    WrongRows,
    check_person,
    check_same,
    check_shown,
    check_stored,
    fill,
    unknown_id,
)
from oversight.protocols.collect.spreadsheets.verdict_files import WITHDRAWN


def read_panel(
    paths: Iterable[str | Path],
    assignments: Sequence[Assignment],
    items: Mapping[str, Item],
    skipped: BadRows | None = None,
    stored: Mapping[str, str] | None = None,
    *,
    changes: bool = False,
) -> list[Choice]:
    """Read filled-in files, or files with the columns ``item, annotator, label``; skip empty labels.

    A file with the column ``item``, but without ``assignment_id``, ``annotator`` and ``label``, has one row
    per item and one column per annotator.

    If an assignment has the same label twice, it counts once. Two different labels are an error.

    Parameters
    ----------
    paths
        CSV, JSON Lines or Excel files.
    assignments
        All assignments of the panel.
    items
        Item id → item.
    skipped
        Records bad rows, which are then left out. If an assignment has two different labels, both are left
        out. If None, any bad row is an error.
    stored
        Assignment → stored label, from which labels must not differ; None skips this check.
    changes
        Whether the word `WITHDRAWN` withdraws a stored label. If the item has an option of this name, the
        word is read as the option.

    Raises
    ------
    DataError
        If an assignment does not exist, belongs to another annotator or was edited; if a label is not an
        option of the item, or a second label differs; or if a column is missing. The message names file, line
        and field of every bad row.
    """
    reader = _PanelReader(assignments, items, WrongRows(skipped), stored or {}, changes)
    try:
        for path in paths:
            read = cell_reader(path)
            for portion in read_filled_portions(path, LONG):
                long = reader.split_wide(portion)
                needed = f"the file needs the columns {', '.join(LONG)}"
                for filled in fill(long, LONG, needed, reader.wrong.add):
                    reader.add(filled, read)
    except DataError as error:
        reader.wrong.raise_with(error, len(reader.choices))
    reader.wrong.close(len(reader.choices))
    return [choice for name, choice in reader.choices.items() if name not in reader.contradicted]


class _PanelReader:
    def __init__(
        self,
        assignments: Sequence[Assignment],
        items: Mapping[str, Item],
        wrong: WrongRows,
        stored: Mapping[str, str],
        changes: bool,  # noqa: FBT001  private
    ) -> None:
        self._stored, self._changes = stored, changes
        self._known = {a.id: a for a in assignments}
        self._by_pair = {(a.item_id, a.annotator): a for a in assignments}
        self._items, self.wrong = items, wrong
        self.choices, self.contradicted = dict[str, Choice](), set[str]()

    def split_wide(self, portion: Portion) -> Portion:
        """Convert a portion with one row per item to one row per rating; return other portions unchanged.

        Raises
        ------
        DataError
            If a column is not named after an annotator.
        """
        first = next((row for row in portion.attempts() if isinstance(row, Row)), None)
        long = {"assignment_id", "annotator", "label"}
        if first is None or "item" not in first.fields or long & first.fields.keys():
            return portion
        people = dict.fromkeys(a.annotator for a in self._known.values())
        split = list[Row]()
        for row in portion.attempts():
            if isinstance(row, DataError):
                self.wrong.add(row)
                continue
            other = next((name for name in row.fields if name not in {*people, "item", *SHOWN}), None)
            if other is not None:
                told = f"is not named after an annotator{did_you_mean(other, people)}; the columns must be"
                wide = f"item and one column per annotator ({', '.join(people)})"
                raise row.error(other, f"{told} {', '.join(LONG)}, or {wide}")
            split += split_wide(row, people, "annotator", "label")
        return RowPortion(split)

    def add(self, filled: FilledRow, read: ReadCell) -> None:
        """Add the label of a row, or record the row's error."""
        row, said = filled
        try:
            assignment = self._find_assignment(row, read)
            label = self._find_label(row, said, assignment, read)
            if assignment.id in self._stored:
                check_stored(row, "label", self._stored[assignment.id], label)
            first = self.choices.setdefault(assignment.id, Choice(assignment, label, SOURCE))
            if first.label != label:
                self.contradicted.add(assignment.id)
            check_same(row, "label", first.label, label)
        except DataError as error:
            self.wrong.add(error)

    def _find_label(self, row: Row, said: str, assignment: Assignment, read: ReadCell) -> str:
        item = self._items[assignment.item_id]
        check_shown(row, write_cells(item))
        places = (find_option(item.options, text) for text in dict.fromkeys((said, read(said))))
        place = next((place for place in places if place is not None), None)
        if place is None and self._changes and read(said).strip().casefold() == WITHDRAWN:
            return WITHDRAWN
        if place is None:
            shown = " | ".join(item.shown_options)
            raise row.error("label", f"{said!r} is not an option; options are {shown}")
        return item.options[place]

    def _find_assignment(self, row: Row, read: ReadCell) -> Assignment:
        item, annotator = str(row.fields["item"]), str(row.fields["annotator"])
        if "assignment_id" not in row.fields:
            pairs = ((item, annotator), (read(item.strip()), read(annotator.strip())))
            found = next((self._by_pair[pair] for pair in pairs if pair in self._by_pair), None)
            if found is None:
                raise row.error("annotator", f"the item {item!r} was never given to {annotator!r}")
            return found
        text = str(row.fields["assignment_id"])
        found = self._known.get(read_id(text, ASSIGNMENT_PREFIX))
        if found is None:
            raise unknown_id(row, "assignment_id", f"{text!r} was never assigned")
        check_person(row, "annotator", read, found.annotator, "the item was given")
        return found
