"""Read Excel workbooks in portions: one sheet, with values as they would be in a CSV file."""

from __future__ import annotations

import datetime
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from oversight.harness.datasets.row import CsvPortion, Portion, split_records
from oversight.harness.datasets.text_files import check_header, fit_record, tidy_header
from oversight.harness.distribution import install_line
from oversight.harness.errors import DataError
from oversight.harness.output import say

INSTRUCTIONS = "instructions"
"""Title of the sheet that tells how to fill in a workbook; it is not read."""
_LARGEST = 256 * 2**20
"""Largest accepted size in bytes of an unpacked workbook."""
_SMALL, _DENSEST = 32 * 2**20, 100
"""Unpacked size in bytes from which the ratio of unpacked to packed size is limited, and the largest
accepted ratio; texts have a ratio of 3 to 20."""
_PAGE = re.compile(r"xl/worksheets/[^/]+\.xml")
_LOST = re.compile(rb"<f[ >/]|<mergeCell ")


def read_workbook_portions(path: Path, columns: Sequence[str] = ()) -> Iterator[Portion]:
    """Read the only sheet with content; the first row with content contains the column names.

    If `columns` are given, column names are normalised (`tidy_header`), and several sheets can have content.
    Only the sheet that has all these columns is read; a sheet of instructions, for example, is left out.

    Raises
    ------
    DataError
        If the ``xlsx`` extra is missing, the file is not a workbook, or the sheet to read is ambiguous.
    """
    records = _read_records(path, columns)
    first = next(records, None)
    names = None if first is None else _name_columns(first[1])
    header = check_header(tidy_header(names) if names and columns else names, path)
    for portion in split_records(records):
        filled = [(line, _fit(record, len(header))) for line, record in portion if any(record)]
        if filled:
            lines, values = zip(*filled, strict=True)
            yield CsvPortion(str(path), lines, header, values)


def _read_records(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cell texts of every row, beginning with the first row that has content."""
    book, sheets = _open_book(path)
    if columns:
        sheets = [sheet for sheet in sheets if sheet.title != INSTRUCTIONS] or sheets
    try:
        if len(sheets) > 1:
            sheets = _pick_sheet(path, sheets, columns)
        for sheet in sheets:
            _refuse_lost_cells(path, sheet.title, columns)
            yield from _read_sheet(sheet)
    finally:
        book.close()


def _refuse_bomb(path: Path) -> None:
    """Raise DataError if a workbook would unpack to too large a size."""
    try:
        with zipfile.ZipFile(path) as packed:
            parts = packed.infolist()
    except (OSError, zipfile.BadZipFile):
        return  # opening the file will report the error
    size = sum(part.file_size for part in parts)
    packed_size = sum(part.compress_size for part in parts)
    if size > _LARGEST or (size > _SMALL and size > _DENSEST * packed_size):
        told = f"it unpacks to {size / 2**20:,.0f} MB, {size / max(packed_size, 1):,.0f} times its size"
        limit = f"allowed: {_LARGEST >> 20} MB, but above {_SMALL >> 20} MB at most {_DENSEST} times its size"
        raise DataError(f"{told}; {limit}; save it as CSV", file=path)


def _open_book(path: Path) -> tuple[Any, list[Any]]:
    """Open a workbook. Returns the workbook and its sheets with content."""
    try:
        import openpyxl
    except ImportError:
        raise DataError(f"Excel workbooks need: {install_line('xlsx')}", file=path) from None
    _refuse_bomb(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warnings concern features of workbooks that are not read
        try:
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
            sheets = [sheet for sheet in book.worksheets if _holds_something(sheet)]
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  the library documents no error types
            raise DataError(f"not a complete Excel workbook: {error}", file=path) from None
    return book, sheets


def _refuse_lost_cells(path: Path, title: str, columns: Sequence[str]) -> None:
    """Raise DataError if cells of required columns (default: all) look filled in but have no readable value.

    A formula has a value only after a spreadsheet program has calculated it. Of merged cells, only the first
    has a value.
    """
    with zipfile.ZipFile(path) as packed:
        pages = [name for name in packed.namelist() if _PAGE.fullmatch(name)]
        if not any(_LOST.search(packed.read(name)) for name in pages):
            return
    import openpyxl

    written = openpyxl.load_workbook(path)[title]
    values = openpyxl.load_workbook(path, data_only=True)[title]
    rows = (row for row in written.iter_rows() if any(cell.value is not None for cell in row))
    header = next(rows, ())
    names = ["" if cell.value is None else str(cell.value) for cell in header]
    required = columns or list(filter(None, names))
    named = zip(header, tidy_header(names) if columns else names, strict=False)
    needed = {cell.column: name for cell, name in named if name in required}
    for merged in written.merged_cells.ranges:
        name = next((needed[c] for c in range(merged.min_col, merged.max_col + 1) if c in needed), None)
        if name is not None:
            told = f"the cells {merged.coord} are merged, and only the first has a value; unmerge them"
            raise DataError(told, file=path, line=merged.min_row, field=name)
    for row in rows:
        for cell in row:
            if cell.data_type != "f" or cell.column not in needed:
                continue
            found = values[cell.coordinate]
            if found.value is None and found.data_type != "str":  # a calculated empty text is "str"
                told = f"{cell.coordinate} is a formula without a calculated value; enter the value"
                raise DataError(told, file=path, line=cell.row, field=needed[cell.column])


def _pick_sheet(path: Path, sheets: Sequence[Any], columns: Sequence[str]) -> list[Any]:
    """Return a list that contains only the sheet with the required columns, and print which are left out.

    Raises DataError if no sheet has these columns, or more than one.
    """
    fit = [sheet for sheet in sheets if columns and _has_columns(sheet, columns)]
    if len(fit) != 1:
        names = ", ".join(repr(sheet.title) for sheet in fit or sheets)
        which = f"have content, and none has the columns {', '.join(columns)}" if columns else "have content"
        told = f"several sheets {'have these columns' if fit else which}: {names}; keep one of them"
        raise DataError(told, file=path)
    left = [sheet.title for sheet in sheets if sheet not in fit and sheet.sheet_state == "visible"]
    if left:
        say(f"{path}: only the sheet {fit[0].title!r} is read, not {', '.join(map(repr, left))}")
    return fit


def _has_columns(sheet: Any, columns: Sequence[str]) -> bool:
    _, first = next(_read_sheet(sheet))
    return {*tidy_header(_name_columns(first))} >= {*columns}


def _read_sheet(sheet: Any) -> Iterator[tuple[int, list[str]]]:
    started = False
    for line, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        record = [_text(value) for value in row]
        started = started or any(record)
        if started:
            yield line, record


def _holds_something(sheet: Any) -> bool:
    return any(value is not None for row in sheet.iter_rows(values_only=True) for value in row)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def _name_columns(record: list[str]) -> list[str]:
    """Return the header row with the empty cells at its end removed."""
    return _fit(record, max(at for at, text in enumerate(record, start=1) if text))


def _fit(record: list[str], width: int) -> list[str]:
    """Fit a row to the header's width: add missing cells, and remove surplus cells that are empty."""
    record = fit_record(record, width)
    return record + [""] * (width - len(record))
