"""Predictions to a file: CSV, JSON Lines or Parquet, by its ending; the same columns in each."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from oversight.harness.datasets.rows import import_parquet
from oversight.harness.errors import DataError, FullDisk, is_full
from oversight.harness.output import guard_cell

_PORTION = 10_000
_COLUMNS = {
    "model": "string",
    "run": "string",
    "item_id": "string",
    "sample": "int32",
    "option": "int32",
    "option_text": "string",
    "status": "string",
    "reason": "string",
    "confidence": "float64",
    "raw": "string",
    "input_tokens": "int64",
    "output_tokens": "int64",
    "seconds": "float64",
    "attempts": "int32",
    "source": "string",
    "step": "string",
}
_Rows = Iterable[Mapping[str, Any]]


def write_predictions(path: str | Path, rows: _Rows) -> int:
    """Write rows with the columns of predictions; return how many. The file appears when it is whole.

    Raises
    ------
    DataError
        If the name ends otherwise, the ``parquet`` extra is missing, or the folder cannot be written to.
    FullDisk
        If there is no room for it.
    """
    path = Path(path)
    writers: dict[str, Callable[[Path, Iterator[Mapping[str, Any]]], None]] = {
        ".csv": _write_csv,
        ".jsonl": _write_jsonl,
        ".parquet": _write_parquet,
    }
    if path.suffix.lower() not in writers:
        raise DataError(f"unknown format; the name must end in {', '.join(writers)}", file=path)
    if path.suffix.lower() == ".parquet":
        import_parquet(path)
    part, count = path.with_name(path.name + ".part"), 0

    def counted() -> Iterator[Mapping[str, Any]]:
        nonlocal count
        for row in rows:
            count += 1
            yield {name: row[name] for name in _COLUMNS}

    try:
        writers[path.suffix.lower()](part, counted())
        part.replace(path)
    except OSError as error:
        if is_full(error):
            raise FullDisk(f"{path}: cannot be written: {error.strerror}") from None
        raise DataError(f"cannot be written: {error}", file=path) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return count


def _write_csv(path: Path, rows: Iterator[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(_COLUMNS))
        writer.writeheader()
        for row in rows:  # what is None becomes an empty field
            writer.writerow({n: guard_cell(v) if isinstance(v, str) else v for n, v in row.items()})
        stream.flush()
        os.fsync(stream.fileno())


def _write_jsonl(path: Path, rows: Iterator[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        stream.flush()
        os.fsync(stream.fileno())


def _write_parquet(path: Path, rows: Iterator[Mapping[str, Any]]) -> None:
    pa, pq = import_parquet(path)
    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in _COLUMNS.items()])
    with pq.ParquetWriter(path, schema) as writer:
        while portion := list(islice(rows, _PORTION)):
            writer.write_table(pa.Table.from_pylist(portion, schema=schema))
