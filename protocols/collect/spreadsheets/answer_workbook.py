"""Write a workbook in which answers are chosen from lists and questions are protected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import IO, Any

from oversight.harness import DataError
from oversight.harness.datasets import INSTRUCTIONS
from oversight.harness.distribution import install_line
from oversight.harness.types import Verdict
from oversight.protocols.collect.spreadsheets.cells import escape

_WIDTHS = {"text": 70, "options": 36, "question": 36, "comment": 40, "question_id": 20, "assignment_id": 20}
"""Widths of columns in characters; all other columns have 16."""
_FILLED_IN = ("answer", "comment", "label")
_PICKED = ("answer", "label")
_MOST = 32_767
"""Largest number of characters in a cell."""
_VERDICTS = '"' + ",".join(v for v in Verdict if v is not Verdict.SKIP) + '"'
_HOW = (
    "Answer in the column “{column}” of the sheet “questions”. Start with the first row.",
    "Click on a cell, then pick an answer from its list. All cells in which you cannot write are locked.",
    "Save the file as an Excel workbook (.xlsx) and send it back. You may answer the other questions later.",
)
_UNSURE = "If you cannot tell, pick “unsure”. Do not leave a cell empty and then answer a later question."
_LISTS = "choices"
"""Name of the hidden sheet with each row's options; options inside a cell's rule cannot contain commas."""


def write_workbook(
    stream: IO[bytes],
    rows: Sequence[Mapping[str, str]],
    choices: Sequence[Sequence[str]],
    instructions: str = "",
) -> None:
    """Write rows as a workbook, with a sheet that says how to answer.

    Parameters
    ----------
    stream
        Output stream.
    rows
        Column → text, with the same columns in each row.
    choices
        Choices of each row; an empty entry stands for yes, no and unsure.
    instructions
        Text at the top of the sheet of instructions.

    Raises
    ------
    DataError
        If the ``xlsx`` extra is missing, or a text is too long for a cell.
    """
    try:
        from openpyxl import Workbook
    except ImportError:
        raise DataError(f"Excel workbooks need: {install_line('xlsx')}") from None
    book, columns = Workbook(), list(rows[0])
    sheet: Any = book.active
    sheet.title = "questions"
    _write_sheet(sheet, columns, rows)
    picked = next(place for place, name in enumerate(columns, start=1) if name in _PICKED)
    _write_instructions(book.create_sheet(INSTRUCTIONS), instructions, columns[picked - 1])
    if any(choices):
        lists: Any = book.create_sheet(_LISTS)
        lists.sheet_state = "hidden"
        lists.protection.sheet = True
        for line, options in enumerate(choices, start=2):
            for place, option in enumerate(options, start=1):
                _write_text(lists.cell(line, place), option)
    for rule in _make_rules(choices, sheet.cell(1, picked).column_letter):
        sheet.add_data_validation(rule)
    book.save(stream)


def _write_sheet(sheet: Any, columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
    from openpyxl.styles import Alignment, Font, Protection

    wrapped, open_to_all = Alignment(wrap_text=True, vertical="top"), Protection(locked=False)
    for place, name in enumerate(columns, start=1):
        head = sheet.cell(1, place, name)
        head.font = Font(bold=True)
        sheet.column_dimensions[head.column_letter].width = _WIDTHS.get(name, 16)
    for line, row in enumerate(rows, start=2):
        for place, name in enumerate(columns, start=1):
            cell = sheet.cell(line, place)
            _write_text(cell, row[name])
            cell.alignment = wrapped
            if name in _FILLED_IN:
                cell.protection = open_to_all
    sheet.freeze_panes = "A2"
    # The protection needs no password, because it only prevents mistakes. Columns and rows stay resizable.
    sheet.protection.sheet = True
    sheet.protection.formatColumns = sheet.protection.formatRows = False


def _write_instructions(sheet: Any, instructions: str, column: str) -> None:
    """Write a locked sheet of instructions that says how to fill in `column` of the first sheet."""
    from openpyxl.styles import Alignment

    told = [line.format(column=column) for line in _HOW]
    lines = [*instructions.strip().splitlines(), *told, *([_UNSURE] if column == "answer" else [])]
    sheet.column_dimensions["A"].width = 100
    for line, text in enumerate(lines, start=1):
        _write_text(sheet.cell(line, 1), escape(text))
        sheet.cell(line, 1).alignment = Alignment(wrap_text=True, vertical="top")
    sheet.protection.sheet = True


def refuse_long_text(text: str) -> None:
    """Raise DataError if a text is too long for a cell."""
    if len(text) > _MOST:
        told = f"a text has {len(text):,} characters, and a cell holds {_MOST:,}; use --format csv"
        raise DataError(f"{told}: it begins {text[:60]!r}")


def _write_text(cell: Any, text: str) -> None:
    """Write a text into a cell, never as a formula, a number or an error."""
    refuse_long_text(text)
    cell.number_format = "@"
    if text:
        cell.value = text
        cell.data_type = "s"
        # Set the prefix, because a text like "=1" would become a formula if somebody edits its cell.
        cell.quotePrefix = True


def _make_rules(choices: Sequence[Sequence[str]], column: str) -> Iterator[Any]:
    """Yield the drop-down lists, one for each range of rows with the same number of options."""
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    numbered = enumerate(map(len, choices), start=2)
    for width, stretch in groupby(numbered, key=lambda pair: pair[1]):
        lines = [line for line, _ in stretch]
        # Name the first row only, because references are relative to the first row of the range.
        cells = f"{_LISTS}!$A{lines[0]}:${get_column_letter(width)}{lines[0]}" if width else _VERDICTS
        rule = DataValidation(type="list", formula1=cells, allow_blank=True, showErrorMessage=True)
        rule.error, rule.errorTitle = "Pick one of the list, or leave the cell empty.", "Not in the list"
        rule.add(f"{column}{lines[0]}:{column}{lines[-1]}")
        yield rule
