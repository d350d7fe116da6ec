"""Predictions as one Parquet file, written portion by portion."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from harness.errors import DataError

_PORTION = 10_000
_TYPES = {
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
}


def write_predictions(path: str | Path, rows: Iterable[dict[str, Any]]) -> int:
    """Write rows with the columns `_TYPES`; return how many. The file appears when it is whole.

    Raises
    ------
    DataError
        If the ``parquet`` extra is missing, or the folder cannot be written to.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError("Parquet files need: pip install 'oversight[parquet]'", file=path) from None
    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in _TYPES.items()])
    path = Path(path)
    part = path.with_name(path.name + ".part")
    source, count = iter(rows), 0
    try:
        with pq.ParquetWriter(part, schema) as writer:
            while portion := list(islice(source, _PORTION)):
                writer.write_table(pa.Table.from_pylist(portion, schema=schema))
                count += len(portion)
        part.replace(path)
    except OSError as error:
        raise DataError(f"cannot be written: {error}", file=path) from None
    return count
