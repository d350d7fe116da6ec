"""Read rows from CSV, JSON Lines (both also gzipped), Excel, Parquet and Hugging Face data sets."""

from __future__ import annotations

import gc
import marshal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar

from oversight.harness.datasets.frames import Source, check_path, is_frame, read_frame
from oversight.harness.datasets.row import Portion, Row, RowPortion, split_records
from oversight.harness.datasets.text_files import (
    no_file,
    read_csv_portions,
    read_jsonl_portions,
    refuse_other_kinds,
)
from oversight.harness.datasets.workbooks import read_workbook_portions
from oversight.harness.distribution import install_line
from oversight.harness.errors import DataError


def read_rows(path: Source) -> Iterator[Row]:
    """Read the rows of a frame, or of a file whose ending, before any ``.gz``, names its format.

    Raises
    ------
    DataError
        If the file does not exist, has another format, is truncated or malformed, or is not UTF-8.
    WrongType
        If the source is neither a path nor a frame.
    """
    return chain.from_iterable(read_portions(path))


def read_portions(path: Source) -> Iterator[Portion]:
    """Read rows in portions; if a record cannot be read, the records before it are yielded first."""
    if is_frame(path):
        return map(RowPortion, split_records(read_frame(path)))
    return _pick_reader(path, _READERS)


def read_filled_portions(path: Source, columns: Sequence[str]) -> Iterator[Portion]:
    """Read, in portions, a file that people filled in, for example with a spreadsheet program.

    In contrast to `read_portions`, the file may be UTF-16 or Windows-1252, end in ``.txt``, have empty
    columns at its end, and have further sheets besides the one with the required `columns`. Column names are
    normalised.
    """
    if is_frame(path):
        return read_portions(path)
    as_saved: _Reader = partial(read_csv_portions, as_saved=True)
    readers = {**_READERS, **dict.fromkeys((".csv", ".tsv", ".txt"), as_saved)}
    return _pick_reader(path, {**readers, ".xlsx": partial(read_workbook_portions, columns=columns)})


def _pick_reader(path: Any, readers: Mapping[str, _Reader]) -> Iterator[Portion]:
    path = Path(check_path(path))
    if not path.is_file():
        raise no_file(path)
    suffixes = [s.lower() for s in path.suffixes]
    kind = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes or [""])[-1]
    if kind not in readers:
        told = f"unknown format; known are {', '.join(readers)}"
        raise DataError(told + _JSON_HINT * (kind in (".json", ".ndjson")), file=path)
    refuse_other_kinds(path, kind)
    return readers[kind](path)


def read_hub_portions(
    name: str, *, config: str | None = None, split: str = "test", revision: str | None = None
) -> Iterator[Portion]:
    """Read a Hugging Face data set in portions, as `read_hub` does."""
    return map(RowPortion, split_records(read_hub(name, config=config, split=split, revision=revision)))


def read_hub(
    name: str,
    *,
    config: str | None = None,
    split: str = "test",
    revision: str | None = None,
    streaming: bool = False,
) -> Iterator[Row]:
    """Read a Hugging Face data set by name, or from a local folder of data files.

    Parameters
    ----------
    revision
        Branch, tag or commit of the data set's repository; None for the newest.
    streaming
        Whether rows are fetched on demand and not kept. If false, the library caches the rows, so that
        reading again needs no network. A local folder is read again each time.

    Raises
    ------
    DataError
        If the ``hub`` extra is missing, the data set cannot be loaded, or a revision of a folder is
        requested.
    """
    is_folder = Path(name).is_dir()
    if revision is not None and is_folder:
        raise DataError(f"a local folder has no revision {revision!r}", file=name)
    try:
        import datasets
    except ImportError:
        raise DataError(f"reading from the hub needs: {install_line('hub')}", file=name) from None
    # Use a new cache for a folder: a shared one distinguishes folders only by name and card, so it could
    # return the rows of another folder, or outdated rows.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) if is_folder else nullcontext() as cache:
        try:
            data = datasets.load_dataset(
                name, config, split=split, revision=revision, streaming=streaming, cache_dir=cache
            )
            # Streaming may raise the errors handled below at any row.
            yield from (Row(f"{name}/{split}", j, fields) for j, fields in enumerate(data, start=1))
        except Exception as error:
            raise DataError(f"could not be loaded: {_brief(error)}", file=name, field=split) from error


def _brief(error: BaseException) -> str:
    """Return only the first and the last line of a library's error, which lists all columns in between."""
    if type(error).__name__ == "DatasetGenerationError" and error.__cause__:
        error = error.__cause__  # only the message of its cause says what went wrong
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return " … ".join(dict.fromkeys((lines[0], lines[-1])))


def _parquet_portions(path: Path) -> Iterator[Portion]:
    return map(RowPortion, split_records(_parquet_rows(path)))


def _parquet_rows(path: Path) -> Iterator[Row]:
    pa, pq = import_parquet(path)
    number = 0
    try:
        # Use no threads, because pyarrow's pool can abort the interpreter at exit.
        batches = pq.ParquetFile(path, pre_buffer=False).iter_batches(use_threads=False)
        for number, fields in enumerate((f for batch in batches for f in batch.to_pylist()), start=1):
            yield Row(str(path), number, fields)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        message = f"not a complete Parquet file: {str(error).splitlines()[0]}"
        raise DataError(message, file=path, line=number + 1) from None


_JSON_HINT = "; a file with one JSON object per line is .jsonl; convert a list with: jq -c '.[]' FILE"
_Reader = Callable[[Path], Iterator[Portion]]
_READERS: dict[str, _Reader] = {
    ".csv": read_csv_portions,
    ".tsv": read_csv_portions,
    ".jsonl": read_jsonl_portions,
    ".parquet": _parquet_portions,
    ".xlsx": read_workbook_portions,
}


def import_parquet(path: str | Path) -> tuple[Any, Any]:
    """Import the two modules of the ``parquet`` extra that read and write its files."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(f"Parquet files need: {install_line('parquet')}", file=path) from None
    return pa, pq


T = TypeVar("T")


def read_ahead(portions: Iterable[list[T]]) -> Iterator[list[T]]:
    """Read all portions of tuples now, and yield them later from a temporary file.

    This way, the database is not locked while a source is read, and is not opened if reading fails. Tuples
    may contain texts, numbers, tuples, dictionaries and None, which `marshal` writes fast.
    """
    given = _read_and_give(portions)
    next(given)
    return given


def _read_and_give(portions: Iterable[list[T]]) -> Iterator[list[T]]:
    with TemporaryFile() as spool:
        sizes = [spool.write(marshal.dumps(portion)) for portion in portions]
        spool.seek(0)
        yield []  # this tells the caller that all portions were read
        for size in sizes:
            yield marshal.loads(spool.read(size))  # noqa: S302  written above


@contextmanager
def pause_collector() -> Iterator[None]:
    """Turn the garbage collector off while millions of rows without cycles are created.

    The collector would repeatedly traverse all live objects.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
