"""Predictions as a plain table: CSV, JSON Lines or Parquet with a row per item."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.datasets.rows import Row, read_rows
from harness.types import ForeignAnswer


def read_table(path: Path) -> Iterator[ForeignAnswer]:
    """Read rows; ``prediction`` is an option's text or letter, or empty where nothing could be read.

    Needed are a column ``id`` or ``text``, and ``prediction`` or ``raw``; ``error``, ``confidence``,
    ``sample``, ``input_tokens`` and ``output_tokens`` are read where they are, others passed over.

    Raises
    ------
    DataError
        If a needed column is missing or a number is none.
    """
    for row in read_rows(path):
        if not {"id", "text"} & set(row.fields):
            raise row.error("id", "there is neither a column id nor a column text")
        if not {"prediction", "raw"} & set(row.fields):
            raise row.error("prediction", "there is neither a column prediction nor a column raw")
        confidence = _number(row, "confidence")
        if confidence is not None and not 0 <= confidence <= 1:
            raise row.error("confidence", f"must lie between 0 and 1, is {confidence:g}")
        said = _text(row, "prediction")
        yield ForeignAnswer(
            line=row.line,
            id=_text(row, "id"),
            text=_text(row, "text"),
            answer=said or None,
            raw=_text(row, "raw") or said,
            error=_text(row, "error"),
            sample=int(_number(row, "sample") or 0),
            input_tokens=int(_number(row, "input_tokens") or 0),
            output_tokens=int(_number(row, "output_tokens") or 0),
            confidence=confidence,
        )


def _text(row: Row, column: str) -> str:
    value = row.fields.get(column)
    return "" if value is None else str(value).strip()


def _number(row: Row, column: str) -> float | None:
    value: Any = row.fields.get(column)
    try:
        return None if value in (None, "") else float(value)
    except (TypeError, ValueError):
        raise row.error(column, f"must be a number, is {value!r}") from None
