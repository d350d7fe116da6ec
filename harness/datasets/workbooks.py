"""Excel workbooks to portions of records: one sheet, whose values become what they would be in a CSV file."""

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

_LARGEST = 256 * 2**20
"""Bytes of a workbook when unpacked that are read at most."""
_SMALL, _DENSEST = 32 * 2**20, 100
"""From so many bytes on, a workbook may unpack to so many times its size; texts take 3 to 20 times theirs."""
_PAGE = re.compile(r"xl/worksheets/[^/]+\.xml")
_LOST = re.compile(rb"<f[ >/]|<mergeCell ")


def read_workbook_portions(path: Path, columns: Sequence[str] = ()) -> Iterator[Portion]:
    """Read the sheet of a workbook that holds something; its first row names the columns.

    Where some `columns` are needed, names are made plain (`tidy_header`), and of several sheets that hold
    something the one that has these columns is read.

    Raises
    ------
    DataError
        If the ``xlsx`` extra is missing, the file is no workbook, or several sheets hold something.
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
    """Number and texts of every row, from the first that holds something."""
    book, sheets = _open_book(path)
    try:
        if len(sheets) > 1:
            sheets = _pick_sheet(path, sheets, columns)
        for sheet in sheets:
            if columns:
                _refuse_lost_cells(path, sheet.title, columns)
            yield from _read_sheet(sheet)
    finally:
        book.close()


def _refuse_bomb(path: Path) -> None:
    """Raise DataError if a workbook would take far more memory than it takes on the disk."""
    try:
        with zipfile.ZipFile(path) as packed:
            parts = packed.infolist()
    except (OSError, zipfile.BadZipFile):
        return  # whoever opens it says what is wrong
    size = sum(part.file_size for part in parts)
    packed_size = sum(part.compress_size for part in parts)
    if size > _LARGEST or (size > _SMALL and size > _DENSEST * packed_size):
        told = f"it unpacks to {size / 2**20:,.0f} MB, {size / max(packed_size, 1):,.0f} times its size"
        limit = f"at most {_LARGEST >> 20} MB, and from {_SMALL >> 20} MB on {_DENSEST} times, are read"
        raise DataError(f"{told}; {limit}; save it as CSV", file=path)


def _open_book(path: Path) -> tuple[Any, list[Any]]:
    """A workbook, and its sheets that hold something."""
    try:
        import openpyxl
    except ImportError:
        raise DataError(f"Excel workbooks need: {install_line('xlsx')}", file=path) from None
    _refuse_bomb(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # at what a workbook holds beside its values
        try:
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
            sheets = [sheet for sheet in book.worksheets if _holds_something(sheet)]
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  the library names no errors of its own
            raise DataError(f"not a whole Excel workbook: {error}", file=path) from None
    return book, sheets


def _refuse_lost_cells(path: Path, title: str, columns: Sequence[str]) -> None:
    """Raise DataError if cells of needed columns look filled in and hold nothing that can be read.

    A formula has a value once a spreadsheet program has worked it out; of merged cells the first has one.
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
    names = tidy_header(["" if cell.value is None else str(cell.value) for cell in header])
    needed = {cell.column: name for cell, name in zip(header, names, strict=False) if name in columns}
    for merged in written.merged_cells.ranges:
        name = next((needed[c] for c in range(merged.min_col, merged.max_col + 1) if c in needed), None)
        if name is not None:
            told = f"the cells {merged.coord} are merged, and only the first holds a value; separate them"
            raise DataError(told, file=path, line=merged.min_row, field=name)
    for row in rows:
        for cell in row:
            if cell.data_type == "f" and cell.column in needed and values[cell.coordinate].value is None:
                told = f"{cell.coordinate} is a formula whose value nobody worked out; write the value"
                raise DataError(told, file=path, line=cell.row, field=needed[cell.column])


def _pick_sheet(path: Path, sheets: Sequence[Any], columns: Sequence[str]) -> list[Any]:
    """The one sheet that has some columns, of several that hold something."""
    fit = [sheet for sheet in sheets if columns and _has_columns(sheet, columns)]
    if len(fit) != 1:
        names = ", ".join(repr(sheet.title) for sheet in fit or sheets)
        which = (
            f"hold something and none has the columns {', '.join(columns)}" if columns else "hold something"
        )
        told = f"several sheets {'have these columns' if fit else which}: {names}; keep one of them"
        raise DataError(told, file=path)
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
    """The first row without the empty cells at its end."""
    return _fit(record, max(at for at, text in enumerate(record, start=1) if text))


def _fit(record: list[str], width: int) -> list[str]:
    """A row as wide as the header, if what it has less or more is empty cells."""
    record = fit_record(record, width)
    return record + [""] * (width - len(record))
