"""Logs in JSON: of inspect-ai (``.eval`` archives and ``.json`` files), and of HELM.

Every miss is named by file, record and field. A run of HELM has its ``scenario_state.json`` in its folder.
"""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import DataError
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
    for number, sample in enumerate(_samples(path), start=1):
        output = need(sample, "output", dict, path, number)
        usage = output.get("usage") or {}
        scores = sample.get("scores") or {}
        answers = (s.get("answer") for s in scores.values() if isinstance(s, dict))
        choices = output.get("choices") or [{}]
        error = sample.get("error")
        question = sample.get("input")
        yield ForeignAnswer(
            line=number,
            id=str(need(sample, "id", (str, int), path, number)),
            text=question if isinstance(question, str) else "",
            options=tuple(map(str, sample.get("choices") or ())),
            answer=next((a for a in answers if isinstance(a, str) and a.strip()), None),
            raw=str(output.get("completion") or ""),
            error=str(error.get("message") or "error") if isinstance(error, dict) else "",
            cut=choices[0].get("stop_reason") == "max_tokens",
            sample=int(sample.get("epoch") or 1) - 1,
            input_tokens=int(usage.get("input_tokens") or 0),
            output_tokens=int(usage.get("output_tokens") or 0),
            seconds=float(output.get("time") or 0.0),
        )


def _samples(path: Path) -> Iterator[Any]:
    if path.suffix == ".json":
        yield from need(load_json(path.read_bytes(), path), "samples", list, path, 1)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if name.startswith("samples/") and name.endswith(".json"):
                    yield load_json(_read(archive, name, path), path)
    except zipfile.BadZipFile:
        raise DataError("not a whole .eval archive", file=path) from None


def _read(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    """Read a member; newer logs use Zstandard, which Python's own library knows from 3.14 on."""
    info = archive.getinfo(name)
    if info.compress_type != _ZSTANDARD:
        return archive.read(name)
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError("compressed logs need: pip install 'oversight[parquet]'", file=path) from None
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


def load_json(data: bytes, path: Path) -> Any:
    """Parse JSON.

    Raises
    ------
    DataError
        If it is not UTF-8 or not JSON.
    """
    try:
        return json.loads(data)
    except UnicodeDecodeError:
        raise DataError("not UTF-8", file=path) from None
    except ValueError as error:
        raise DataError(f"malformed JSON: {error}", file=path) from None


def need(record: Any, field: str, kind: type | tuple[type, ...], path: Path, line: int) -> Any:
    """Return a field by its dotted name.

    Raises
    ------
    DataError
        If it is not there or of another type.
    """
    value = record
    for part in field.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if not isinstance(value, kind):
        names = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
        raise DataError(f"must be {names}, is {type(value).__name__}", file=path, line=line, field=field)
    return value


def read_helm(path: Path) -> Iterator[ForeignAnswer]:
    """Read the requests of a run; trials become samples of the same item.

    ``output_mapping`` says which option a letter stands for; without one the references do, in order.

    Raises
    ------
    DataError
        If it is no such file, or the options were scored one by one (``request_mode`` "original" or
        "calibration"), where no request holds the answer.
    """
    states = need(load_json(path.read_bytes(), path), "request_states", list, path, 1)
    for number, state in enumerate(states, start=1):
        if state.get("request_mode"):
            told = "each option was scored in a request of its own"
            told += "; only joint multiple choice and generation can be read"
            raise DataError(told, file=path, line=number, field="request_mode")
        result = need(state, "result", dict, path, number)
        completions = result.get("completions") or [{}]
        mapping = state.get("output_mapping")
        references = state["instance"].get("references") or ()
        options = mapping.values() if mapping else (r["output"]["text"] for r in references)
        finish = completions[0].get("finish_reason") or {}
        yield ForeignAnswer(
            line=number,
            id=str(need(state, "instance.id", str, path, number)),
            text=need(state, "instance.input.text", str, path, number),
            options=tuple(map(str, options)),
            raw=str(completions[0].get("text") or ""),
            error="" if result.get("success", True) else str(result.get("error") or "failed"),
            cut=finish.get("reason") == "length" and bool(completions[0].get("text")) and not mapping,
            sample=int(state.get("train_trial_index") or 0),
            seconds=float(result.get("request_time") or 0.0),
        )
