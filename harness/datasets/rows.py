"""File formats to rows: CSV, JSON Lines (both also gzipped), Parquet and Hugging Face data sets.

Predictions go the other way, as one Parquet file.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import IO, Any

from harness.datasets.frames import Source, check_path, is_frame, read_frame
from harness.datasets.portions import PORTION, CsvPortion, JsonPortion, Portion, RowPortion, split_records
from harness.datasets.row import Row
from harness.distribution import install_line
from harness.errors import DataError

_PORTION = 10_000
_BYTES = 1 << 18
"""Of a text are decoded at once."""
_PREDICTION = {
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


def read_rows(path: Source) -> Iterator[Row]:
    """Read the rows of a frame, or of a file, by its ending (``.gz`` may follow ``.csv`` and ``.jsonl``).

    Raises
    ------
    DataError
        If the file is missing, of another format, not UTF-8, truncated or malformed.
    WrongType
        If there is neither a path nor a frame.
    """
    return chain.from_iterable(read_portions(path))


def read_portions(path: Source) -> Iterator[Portion]:
    """Read the same, a portion at a time; where a record cannot be read, those before it come first."""
    if is_frame(path):
        return map(RowPortion, split_records(read_frame(path)))
    path = Path(check_path(path))
    if not path.is_file():
        raise DataError("there is no such file", file=path)
    suffixes = [s.lower() for s in path.suffixes]
    kind = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes or [""])[-1]
    readers = {".csv": _csv_portions, ".jsonl": _jsonl_portions, ".parquet": _parquet_portions}
    if kind not in readers:
        raise DataError(f"unknown format; known are {', '.join(readers)}", file=path)
    return readers[kind](path)


def read_hub_portions(name: str, *, config: str | None = None, split: str = "test") -> Iterator[Portion]:
    """Read the same as `read_hub`, a portion at a time."""
    return map(RowPortion, split_records(read_hub(name, config=config, split=split)))


def read_hub(name: str, *, config: str | None = None, split: str = "test") -> Iterator[Row]:
    """Read a Hugging Face data set by name, or from a local folder of data files.

    Raises
    ------
    DataError
        If the ``hub`` extra is missing or the data set cannot be loaded.
    """
    try:
        import datasets
    except ImportError:
        raise DataError(f"reading from the hub needs: {install_line('hub')}", file=name) from None
    try:
        data = datasets.load_dataset(name, config, split=split)
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DataError(f"could not be loaded: {first}", file=name, field=split) from error
    for number, fields in enumerate(data, start=1):
        yield Row(f"{name}/{split}", number, fields)


def _lines(path: Path) -> Iterator[str]:
    """Decode a text, so that a file of any length takes little memory."""
    return chain.from_iterable(_line_portions(path))


def _line_portions(path: Path) -> Iterator[Iterable[str]]:
    """Decode many lines at once; where that fails, those that are left one by one, up to the bad one."""
    given, encoding = 0, "utf-8-sig"
    try:
        with _open(path) as stream:
            while text := stream.read(_BYTES) + stream.readline():
                yield io.StringIO(text.decode(encoding), newline="\n")
                given, encoding = given + text.count(b"\n"), "utf-8"
    except (UnicodeDecodeError, OSError, EOFError, zlib.error):
        yield islice(_each_line(path), given, None)


def _each_line(path: Path) -> Iterator[str]:
    number = 0
    try:
        with _open(path) as stream:
            for number, line in enumerate(stream, start=1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise DataError("not UTF-8; save the file with UTF-8 encoding", file=path, line=number) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot be read: {error}", file=path) from None


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _csv_portions(path: Path) -> Iterator[Portion]:
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(_lines(path), strict=True)
    header = _read_header(reader, path)
    number = PORTION
    while number == PORTION:
        start, records, bad = reader.line_num + 1, list[list[str]](), None
        try:
            records.extend(islice(reader, PORTION))  # up to one that cannot be read
        except csv.Error as error:
            bad = _name_malformed(error, path, reader.line_num)
        except DataError as error:
            bad = error
        number = len(records)
        lines: Sequence[int] = range(start, reader.line_num + 1)
        if len(lines) != number or not all(records):
            filled = [pair for pair in zip(_number_lines(records, start), records, strict=True) if pair[1]]
            lines, records = [line for line, _ in filled], [record for _, record in filled]
        if records:
            yield CsvPortion(str(path), lines, header, records)
        if bad is not None:
            raise bad


def _read_header(reader: Any, path: Path) -> list[str]:
    try:
        header: list[str] | None = next(reader, None)
    except csv.Error as error:
        raise _name_malformed(error, path, reader.line_num) from None
    if not header:
        raise DataError("the file is empty; the first line names the columns", file=path, line=1)
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise DataError("the column is there twice", file=path, line=1, field=twice)
    return header


def _name_malformed(error: csv.Error, path: Path, line: int) -> DataError:
    return DataError(f"malformed CSV: {error}", file=path, line=line)


def _number_lines(records: Sequence[list[str]], start: int) -> Iterator[int]:
    """Line on which every record begins; one with line breaks in its values has several."""
    heights = [1 + "".join(record).count("\n") for record in records]
    return accumulate(heights[:-1], initial=start) if heights else iter(())


def _jsonl_portions(path: Path) -> Iterator[Portion]:
    numbered = enumerate(_lines(path), start=1)
    for portion in split_records((number, line) for number, line in numbered if line.strip()):
        lines, texts = zip(*portion, strict=True)
        yield JsonPortion(str(path), lines, texts)


def _parquet_portions(path: Path) -> Iterator[Portion]:
    return map(RowPortion, split_records(_parquet_rows(path)))


def _parquet_rows(path: Path) -> Iterator[Row]:
    pa, pq = _import_parquet(path)
    number = 0
    try:
        # Without threads: pyarrow's pool has been seen to abort the interpreter at exit.
        batches = pq.ParquetFile(path, pre_buffer=False).iter_batches(use_threads=False)
        for number, fields in enumerate((f for batch in batches for f in batch.to_pylist()), start=1):
            yield Row(str(path), number, fields)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        message = f"not a whole Parquet file: {str(error).splitlines()[0]}"
        raise DataError(message, file=path, line=number + 1) from None


def write_predictions(path: str | Path, rows: Iterable[dict[str, Any]]) -> int:
    """Write rows with the columns of predictions; return how many. The file appears when it is whole.

    Raises
    ------
    DataError
        If the ``parquet`` extra is missing, or the folder cannot be written to.
    """
    pa, pq = _import_parquet(path)
    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in _PREDICTION.items()])
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


def _import_parquet(path: str | Path) -> tuple[Any, Any]:
    """The two modules of the ``parquet`` extra that read and write its files."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(f"Parquet files need: {install_line('parquet')}", file=path) from None
    return pa, pq
