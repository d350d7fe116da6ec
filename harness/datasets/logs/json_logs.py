"""Logs in JSON: of inspect-ai (``.eval`` archives and ``.json`` files), and of HELM.

Every miss is named by file, record and field. A run of HELM has its ``scenario_state.json`` in its folder.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.datasets.row import Row, parse_json
from harness.distribution import install_line
from harness.errors import DataError
from harness.output import explain_kind, shorten
from harness.types import ForeignAnswer

_ZSTANDARD = 93
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")  # of a member in a ZIP archive, before its name


def read_inspect(path: Path) -> Iterator[ForeignAnswer]:
    """Read the samples of a log; epochs become samples of the same item.

    The answer is the first scorer's, where it read one, else it is left to this project's parser.

    Raises
    ------
    DataError
        If it is no such log, or a sample lacks its id or output.
    """
    return read_each(_samples(path), path, _inspect_answer)


def _inspect_answer(sample: Row) -> ForeignAnswer:
    sample.need("output", dict)
    choices, scores = sample.find("output.choices") or [{}], sample.find("scores") or {}
    answers = (s.get("answer") for s in scores.values() if isinstance(s, dict))
    error, question = sample.find("error"), sample.find("input")
    return ForeignAnswer(
        line=sample.line,
        id=str(sample.need("id", (str, int))),
        text=question if isinstance(question, str) else "",
        options=_texts(sample, "choices", sample.find("choices") or ()),
        answer=next((a for a in answers if isinstance(a, str) and a.strip()), None),
        raw=sample.text("output.completion"),
        error=sample.text("error.message") or "error" if isinstance(error, dict) else "",
        cut=choices[0].get("stop_reason") == "max_tokens",
        sample=max(1, sample.count("epoch", 1)) - 1,
        input_tokens=sample.count("output.usage.input_tokens"),
        output_tokens=sample.count("output.usage.output_tokens"),
        seconds=sample.number("output.time") or 0.0,
    )


def how_log_ended(path: str | Path) -> str:
    """How a run of inspect-ai ended that did not end well: ``"error"``, ``"cancelled"``, ``"started"``.

    Empty if it was finished. An archive without a header was never finished, either.

    Raises
    ------
    DataError
        If it is no such log.
    """
    path = Path(path)
    if path.suffix == ".json":
        status = _whole(path).text("status")
    else:
        with _opened(path) as archive:
            named = "header.json" in archive.namelist()
            status = "started"
            if named:
                header = parse_json(_read(archive, "header.json", path), f"{path}/header.json")
                status = Row(str(path), 1, header).text("status")
    return "" if status in ("success", "") else status


def read_each(
    records: Iterable[Any], path: Path, read: Callable[[Row], ForeignAnswer]
) -> Iterator[ForeignAnswer]:
    """Read records one by one, numbered from 1; what is built otherwise than the format says is refused.

    Raises
    ------
    DataError
        Naming the record.
    """
    for number, fields in enumerate(records, start=1):
        record = Row(str(path), number, fields)
        if not isinstance(fields, dict):
            raise record.error(None, f"must be a JSON object, is {shorten(fields)}")
        yield read_one(record, read)


def read_one(record: Row, read: Callable[[Row], ForeignAnswer]) -> ForeignAnswer:
    """Read one record; raises as `read_each` does."""
    try:
        return read(record)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        told = f"is not built as the format says ({type(error).__name__}: {error})"
        raise record.error(None, told) from None


def _texts(record: Row, field: str, values: Iterable[Any]) -> tuple[str, ...]:
    found = tuple(values)
    for value in found:
        if not isinstance(value, str | int | float):
            raise record.error(field, f"must hold texts, holds {shorten(value)}")
    return tuple(map(str, found))


def _samples(path: Path) -> Iterator[Any]:
    if path.suffix == ".json":
        yield from _whole(path).need("samples", list)
        return
    with _opened(path) as archive:
        for name in sorted(archive.namelist()):
            if name.startswith("samples/") and name.endswith(".json"):
                yield parse_json(_read(archive, name, path), f"{path}/{name}")


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, struct.error, zlib.error) as error:
        raise DataError(f"not a whole .eval archive: {error}", file=path) from None


def _whole(path: Path) -> Row:
    """Return a file that is one record."""
    data = path.read_bytes()
    if told := explain_kind(data, path.name) or ("the file is empty" if not data else ""):
        raise DataError(told, file=path)
    return Row(str(path), 1, parse_json(data, path))


def _read(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    """Read a member; newer logs use Zstandard, which Python's own library knows from 3.14 on."""
    info = archive.getinfo(name)
    if info.compress_type != _ZSTANDARD:
        return archive.read(name)
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(f"compressed logs need: {install_line('parquet')}", file=path) from None
    with path.open("rb") as stream:
        stream.seek(info.header_offset)
        header = stream.read(_LOCAL_HEADER.size)
        name_length, extra_length = _LOCAL_HEADER.unpack(header)[-2:]
        stream.seek(name_length + extra_length, 1)
        data = stream.read(info.compress_size)
    try:
        return bytes(pa.decompress(data, decompressed_size=info.file_size, codec="zstd", asbytes=True))
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{name} is damaged: {error}", file=path) from None


def read_helm(path: Path) -> Iterator[ForeignAnswer]:
    """Read the requests of a run; trials become samples of the same item.

    ``output_mapping`` says which option a letter stands for; without one the references do, in order.

    Raises
    ------
    DataError
        If it is no such file, or the options were scored one by one (``request_mode`` "original" or
        "calibration"), where no request holds the answer.
    """
    return read_each(_whole(path).need("request_states", list), path, _helm_answer)


def _helm_answer(state: Row) -> ForeignAnswer:
    if state.find("request_mode"):
        told = "each option was scored in a request of its own"
        told += "; only joint multiple choice and generation can be read"
        raise state.error("request_mode", told)
    result = state.need("result", dict)
    completions = result.get("completions") or [{}]
    mapping = state.find("output_mapping")
    references = state.find("instance.references") or ()
    options = mapping.values() if mapping else (r["output"]["text"] for r in references)
    finish = completions[0].get("finish_reason") or {}
    completion = Row(state.file, state.line, completions[0])
    raw = completion.text("text")
    return ForeignAnswer(
        line=state.line,
        id=state.need("instance.id", str),
        text=state.need("instance.input.text", str),
        options=_texts(state, "output_mapping" if mapping else "instance.references", options),
        raw=raw,
        error="" if result.get("success", True) else state.text("result.error") or "failed",
        cut=finish.get("reason") == "length" and bool(raw) and not mapping,
        sample=state.count("train_trial_index"),
        seconds=state.number("result.request_time") or 0.0,
    )
