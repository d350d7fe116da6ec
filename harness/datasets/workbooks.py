"""Excel workbooks to portions of records: one sheet, whose values become what they would be in a CSV file."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.datasets.portions import CsvPortion, Portion, split_records
from harness.datasets.text_files import check_header
from harness.distribution import install_line
from harness.errors import DataError


def read_workbook_portions(path: Path) -> Iterator[Portion]:
    """Read the sheet of a workbook that holds something; its first row names the columns.

    Raises
    ------
    DataError
        If the ``xlsx`` extra is missing, the file is no workbook, or several sheets hold something.
    """
    records = _read_records(path)
    first = next(records, None)
    header = check_header(None if first is None else _name_columns(first[1]), path)
    for portion in split_records(records):
        filled = [(line, _fit(record, len(header))) for line, record in portion if any(record)]
        if filled:
            lines, values = zip(*filled, strict=True)
            yield CsvPortion(str(path), lines, header, values)


def _read_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Number and texts of every row, from the first that holds something."""
    try:
        import openpyxl
    except ImportError:
        raise DataError(f"Excel workbooks need: {install_line('xlsx')}", file=path) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # at what a workbook holds beside its values
        try:
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
            sheets = [sheet for sheet in book.worksheets if _holds_something(sheet)]
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  the library names no errors of its own
            raise DataError(f"not a whole Excel workbook: {error}", file=path) from None
        if len(sheets) > 1:
            names = ", ".join(repr(sheet.title) for sheet in sheets)
            raise DataError(f"several sheets hold something: {names}; keep one of them", file=path)
        try:
            for sheet in sheets:
                rows = enumerate(sheet.iter_rows(values_only=True), start=1)
                texts = ((line, [_text(value) for value in row]) for line, row in rows)
                started = False
                for line, record in texts:
                    started = started or any(record)
                    if started:
                        yield line, record
        finally:
            book.close()


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
    while len(record) > width and not record[-1]:
        record = record[:-1]
    return record + [""] * (width - len(record))
