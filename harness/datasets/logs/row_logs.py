"""Plain tables of predictions: CSV, JSON Lines or Parquet with a row per answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from types import NoneType
from typing import Any

from oversight.harness.datasets.portions import Portion, are_texts
from oversight.harness.datasets.row import Row
from oversight.harness.datasets.rows import read_portions
from oversight.harness.output import shorten, unguard_cell
from oversight.harness.types import ForeignAnswer, PredictionStatus

_EXPORTED = {"model", "item_id", "option_text", "status"}
"""Columns by which an export of a study is known."""
_ASKED = ("question", "text")
"""Columns that may hold what was asked; beside a question, a text may be the reply."""


def read_table(path: Path) -> Iterator[ForeignAnswer]:
    """Read rows; ``prediction`` is an option's text or letter, or empty where nothing could be read.

    Needed are a column ``id`` or ``text``, and ``prediction`` or ``raw``; a column ``question`` is read in
    place of ``text``. ``error``, ``confidence``, ``sample``, ``input_tokens`` and ``output_tokens`` are read
    where they are, others passed over.
    What a study exported (``item_id``, ``status``, ``option_text``, …) is read as it was there.

    Raises
    ------
    DataError
        If a needed column is missing or a number is none.
    """
    for portion in read_portions(path):
        yield from _read_columns(portion) or map(_table_answer, portion)


def _exported_answer(row: Row) -> ForeignAnswer:
    if str(row.file).lower().endswith(".csv"):
        texts = {
            name: unguard_cell(text) if isinstance(text, str) else text for name, text in row.fields.items()
        }
        row = replace(row, fields=texts)
    status, option, reason = row.text("status"), row.text("option_text"), row.text("reason")
    if status not in list(PredictionStatus):
        raise row.error("status", f"must be one of {', '.join(PredictionStatus)}, is {shorten(status)}")
    return ForeignAnswer(
        line=row.line,
        id=row.text("item_id"),
        answer=option or None,
        raw=row.text("raw"),
        error=reason,
        sample=row.count("sample"),
        input_tokens=row.count("input_tokens"),
        output_tokens=row.count("output_tokens"),
        seconds=row.number("seconds") or 0.0,
        confidence=row.number("confidence"),
        model=row.text("model"),
        status=status,
        step=row.text("step"),
    )


def _table_answer(row: Row) -> ForeignAnswer:
    if row.fields.keys() >= _EXPORTED:
        return _exported_answer(row)
    if not {"id", *_ASKED} & set(row.fields):
        raise row.error("id", "there is neither a column id nor a column text")
    if not {"prediction", "raw"} & set(row.fields):
        raise row.error("prediction", "there is neither a column prediction nor a column raw")
    confidence = row.number("confidence")
    if confidence is not None and not 0 <= confidence <= 1:
        raise row.error("confidence", f"must lie between 0 and 1, is {confidence:g}")
    said = row.text("prediction").strip()
    return ForeignAnswer(
        line=row.line,
        id=row.text("id").strip(),
        text=next((row.text(name).strip() for name in _ASKED if isinstance(row.find(name), str)), ""),
        answer=said or None,
        raw=row.text("raw").strip() or said,
        error=row.text("error").strip(),
        sample=row.count("sample"),
        input_tokens=row.count("input_tokens"),
        output_tokens=row.count("output_tokens"),
        confidence=confidence,
    )


def _read_columns(portion: Portion) -> list[ForeignAnswer] | None:
    """The answers of a portion that is plainly good; None where a row is to be looked at."""
    columns, n = portion.columns(), len(portion.lines)
    if (
        columns is None
        or columns.keys() >= _EXPORTED
        or not ({"id", *_ASKED} & columns.keys() and {"prediction", "raw"} & columns.keys())
    ):
        return None
    asked = next((name for name in _ASKED if name in columns), "text")
    given = [columns.get(name, ("",) * n) for name in ("id", asked, "prediction", "raw", "error")]
    numbers = [_read_counts(columns.get(name), n) for name in ("sample", "input_tokens", "output_tokens")]
    counts = [column for column in numbers if column is not None]
    sure = _read_shares(columns.get("confidence"), n)
    if not are_texts(*given) or len(counts) < len(numbers) or sure is None:
        return None
    ids, texts, said, raw, errors = (list(map(str.strip, column)) for column in given)
    written = [text or answer for text, answer in zip(raw, said, strict=True)]
    answers = [answer or None for answer in said]
    fields: tuple[Iterable[Any], ...] = (
        *(portion.lines, ids, texts, repeat(()), answers, written, errors, repeat(False)),
        *(*counts, repeat(0.0), sure, *repeat(repeat(""), 6)),
    )
    return list(map(ForeignAnswer._make, zip(*fields, strict=False)))


def _read_counts(column: Sequence[Any] | None, n: int) -> list[int] | None:
    """Whole numbers of a column that holds nothing else, 0 where it is not there."""
    if column is None:
        return [0] * n
    is_plain = are_texts(column) and all(
        text.isascii() and text.isdecimal() and len(text) < 10 for text in column
    )
    return list(map(int, column)) if is_plain else None


def _read_shares(column: Sequence[Any] | None, n: int) -> list[float | None] | None:
    """Numbers from 0 to 1 of a column that holds nothing else, or nothing."""
    if column is None:
        return [None] * n
    if not set(map(type, column)) <= {str, float, NoneType}:
        return None
    try:
        found = [None if value is None or value == "" else float(value) for value in column]
    except ValueError:
        return None
    return found if all(value is None or 0 <= value <= 1 for value in found) else None
