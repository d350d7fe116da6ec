"""Read logs of inspect-ai: ``.eval`` archives and ``.json`` files."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from oversight.harness.datasets.log_fields import (
    OWN_FILE,
    read_each,
    read_metadata,
    read_texts,
    read_whole,
)
from oversight.harness.datasets.row import Row, parse_json
from oversight.harness.distribution import install_line
from oversight.harness.errors import DataError
from oversight.harness.output import shorten
from oversight.harness.types import ForeignAnswer, PredictionStatus, find_listed_order, find_option

_ZSTANDARD = 93
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")  # header of a member of a ZIP archive, up to its name
_SAMPLE, _CHUNKED = re.compile(r"samples/.+\.json"), re.compile(r"samples/.+_epoch_\d+/")
_CUT = ("max_tokens", "length", "model_length")
_SHUFFLED = "Choices were shuffled"  # first words of an explanation written by inspect-ai's scorer
_RESTORED = re.compile(r"\s*ANSWER: [A-Z](, [A-Z])*\s*")
"""Text with which the solver replaces the reply if it restores the order of shuffled choices."""


def read_inspect(path: Path) -> Iterator[ForeignAnswer]:
    """Read the samples of a log; if an item was run in several epochs, each epoch gives one answer.

    If several scorers extracted an answer from a reply, the first scorer's answer is used. If none did, the
    reply is parsed like the reply of a model that this project calls. The question is the sample's input,
    without system messages. Invalidated samples are left out. Of a model's output, only the first choice is
    read. Letters denote the sample's choices, in the order of the last user message if it lists them. Without
    choices, they denote the options that this message lists.

    Raises
    ------
    DataError
        If the file is not a log of inspect-ai, or a sample has no id.
    """
    header = _header(path)
    read = partial(_inspect_answers, shuffles=_shuffles(header))
    return chain.from_iterable(read_each(_samples(path, header), path, read))


def _inspect_answers(sample: Row, *, shuffles: bool) -> list[ForeignAnswer]:
    name = str(sample.need("id", (str, int)))
    if sample.find_field("invalidation"):
        return [ForeignAnswer(sample.line, name, left_out="invalidated sample")]
    choices = sample.find_field("output.choices") or [{}]
    scores = _scores(sample)
    answer = next(filter(None, map(_read_answer, scores.values())), None)
    raw, error, limit = _completion(sample), sample.find_field("error"), sample.find_field("limit.type")
    text, gap = _question(sample)
    options = read_texts(sample, "choices", sample.find_field("choices") or ())
    found = ForeignAnswer(
        line=sample.line,
        id=name,
        text=text,
        options=options,
        answer=_place_letter(answer, options),
        raw=raw,
        error=_error_text(error) if error else "",
        cut=choices[0].get("stop_reason") in _CUT or limit in ("token", "context"),
        sample=max(1, sample.count("epoch", 1)) - 1,
        input_tokens=sample.count("output.usage.input_tokens"),
        output_tokens=sample.count("output.usage.output_tokens"),
        seconds=sample.number("output.time") or 0.0,
        gap=gap,
        shown=_system_texts(sample),
        prompt=_last_sent(sample),
        meta=read_metadata(sample.find_field("metadata")),
    )
    if options and not error:
        found = _read_shuffled(found, scores, shuffles=shuffles)
    further = ForeignAnswer(sample.line, name, left_out="further choice of an output")
    return [found, *[further] * (len(choices) - 1)]


def _scores(sample: Row) -> dict[str, dict[str, Any]]:
    """Return every score of a sample by its scorer; the oldest logs have only one ``score``."""
    scores = {**(sample.find_field("scores") or {}), "": sample.find_field("score")}
    return {name: score for name, score in scores.items() if isinstance(score, dict)}


def _read_answer(score: Mapping[str, Any]) -> str | None:
    answer = score.get("answer")
    return (answer.strip() or None) if isinstance(answer, str) else None


def _place_letter(answer: str | None, options: Sequence[str]) -> str | int | None:
    """Return the position of the option that a letter names; other answers are returned unchanged."""
    letters = [chr(ord("A") + place) for place in range(min(26, len(options)))]
    return letters.index(answer) if answer in letters else answer


def _read_shuffled(answer: ForeignAnswer, scores: Mapping[str, Any], *, shuffles: bool) -> ForeignAnswer:
    """Decide how to read an answer to choices that may have been shuffled.

    inspect-ai restores the original order of the choices only if its solver read an answer; its scorer
    ``choice`` then states this answer. If the solver read none, letters denote the choices in the order that
    the scorer recorded or that the prompt lists. Without such an order, the reply is unreadable.
    """
    shown = {name: str(s["explanation"]) for name, s in scores.items() if _is_shuffled(s)}
    chosen = next(
        filter(None, (_read_answer(scores[name]) for name in (*shown, "choice") if name in scores)), None
    )
    told = next((text.partition("\nShuffled answer:")[0] for text in shown.values()), answer.prompt)
    order = find_listed_order(answer.options, told)
    is_moved = order is not None and order != tuple(range(len(order)))
    is_restored = _RESTORED.fullmatch(answer.raw) and (shown or not is_moved)
    if is_restored or not (shown or shuffles or is_moved):
        return answer
    if isinstance(answer.answer, str) and find_option(answer.options, answer.answer) is not None:
        return answer  # an answer that is an option's text does not depend on the order
    if chosen is not None:
        return answer._replace(answer=_place_letter(chosen, answer.options))
    if order is not None:
        return answer._replace(options=tuple(answer.options[place] for place in order), answer=None)
    return answer._replace(status=PredictionStatus.UNREADABLE.value, error="letter")


def _is_shuffled(score: Mapping[str, Any]) -> bool:
    return str(score.get("explanation")).startswith(_SHUFFLED)


def _completion(sample: Row) -> str:
    """Return the text that the model wrote; older logs store it in messages only."""
    text = sample.text("output.completion")
    if text:
        return text
    choices = sample.find_field("output.choices") or []
    if choices:
        return _content(sample, choices[0].get("message") or {})[0]
    messages = [m for m in sample.find_field("messages") or () if m.get("role") == "assistant"]
    texts = [_content(sample, message)[0] for message in messages]
    return next((text for text in reversed(texts) if text.strip()), "")


def _question(sample: Row) -> tuple[str, str]:
    """Return the question, and the reason why the sample cannot become an item (empty if it can).

    All turns of a conversation, except system messages, are part of the question.
    """
    given = sample.find_field("input")
    if isinstance(given, str):
        return _resolve(sample, given), ""
    if not isinstance(given, list):
        raise sample.error("input", f"must be text or a list of messages, is {shorten(given)}")
    turns = [m for m in given if m.get("role") in ("user", "assistant")]
    contents = [_content(sample, message) for message in turns]
    is_plain = all(message["role"] == "user" for message in turns)
    texts = [
        text if is_plain else f"{message['role']}: {text}"
        for message, (text, _) in zip(turns, contents, strict=True)
        if text.strip()
    ]
    others = sorted({kind for _, kinds in contents for kind in kinds})
    gap = "" if texts else f"no message of the input contains a user's text; {OWN_FILE}"
    if others:
        gap = f"the input contains {', '.join(others)}, which an items file cannot show; {OWN_FILE}"
    return "\n\n".join(texts), gap


def _system_texts(sample: Row) -> str:
    """Return the text of the input's system messages, because some logs put the question there."""
    given = sample.find_field("input")
    messages = [m for m in given if m.get("role") == "system"] if isinstance(given, list) else []
    return "\n\n".join(_content(sample, message)[0] for message in messages)


def _last_sent(sample: Row) -> str:
    """Return the last user message that was sent, because a solver can add options to the input.

    Without such a message, return the last user message of the input.
    """
    for given in (sample.find_field("messages"), sample.find_field("input")):
        turns = [m for m in given if m.get("role") == "user"] if isinstance(given, list) else []
        if turns:
            return _content(sample, turns[-1])[0]
    return ""


def _content(sample: Row, message: dict[str, Any]) -> tuple[str, list[str]]:
    """Return a message's text without reasoning, and the kinds of its other parts, for example images."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return _resolve(sample, content), []
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    kinds = [str(part.get("type", "text")) for part in parts]
    texts = [part["text"] for part, kind in zip(parts, kinds, strict=True) if kind == "text"]
    others = [kind for kind in kinds if kind not in ("text", "reasoning", "thinking", "tool_use")]
    return "\n".join(_resolve(sample, text) for text in texts), others


def _resolve(sample: Row, text: str) -> str:
    """Return the attachment that a text refers to; other texts are returned unchanged."""
    if text.startswith(("attachment://", "tc://")):
        text = sample.text(f"attachments.{text.partition('://')[2]}") or text
    return text


def _error_text(error: Any) -> str:
    return str(error.get("message") or "error") if isinstance(error, dict) else str(error)


def _shuffles(header: Row) -> bool:
    """Whether a solver of the run shuffled the choices."""
    steps = header.find_field("plan.steps")
    steps = steps if isinstance(steps, list) else ()
    params = [step.get("params") for step in steps if isinstance(step, dict)]
    return any(isinstance(given, dict) and bool(given.get("shuffle")) for given in params)


def how_log_ended(path: str | Path) -> str:
    """Return the status of an unsuccessful inspect-ai run: ``"error"``, ``"cancelled"`` or ``"started"``.

    Returns "" if the run finished. An archive without a header comes from an unfinished run.

    Raises
    ------
    DataError
        If the file is not a log of inspect-ai.
    """
    path = Path(path)
    status = _header(path).text("status") or ("" if path.suffix == ".json" else "started")
    return "" if status == "success" else status


def _header(path: Path) -> Row:
    """Return a log's description of its run; the archive's journal contains it if the run is unfinished."""
    if path.suffix == ".json":
        return read_whole(path)
    with _opened(path) as archive:
        for name in ("header.json", "_journal/start.json"):
            if name in archive.namelist():
                header = parse_json(_read(archive, name, path), f"{path}/{name}")
                return Row(str(path), 1, header)
    return Row(str(path), 1, {})


def _samples(path: Path, header: Row) -> Iterator[Any]:
    if path.suffix == ".json":
        if "samples" not in header.fields:
            told = "the log contains no samples: the run ended before the first, or wrote only its header"
            raise header.error("samples", told)
        yield from header.need("samples", list)
        return
    with _opened(path) as archive:
        # A rewritten sample occurs twice under one name; only the later one is read.
        names = sorted({name for name in archive.namelist() if _SAMPLE.fullmatch(name)})
        for name in names:
            if part := _CHUNKED.match(name):
                if name == f"{part[0]}sample.json":
                    yield _join_chunks(archive, part[0], path)
                continue
            yield parse_json(_read(archive, name, path), f"{path}/{name}")


def _join_chunks(archive: zipfile.ZipFile, folder: str, path: Path) -> Any:
    """Return a sample that is stored in several files, with its attachments.

    Each file of attachments is named after the index of its first text.
    """
    sample = parse_json(_read(archive, f"{folder}sample.json", path), f"{path}/{folder}")
    prefix = f"{folder}attachments/"
    attachments: dict[str, Any] = {}
    for name in archive.namelist():
        first = name.removeprefix(prefix).removesuffix(".json")
        if not (name.startswith(prefix) and first.isdecimal()):
            continue
        texts = parse_json(_read(archive, name, path), f"{path}/{name}")
        if isinstance(texts, list):
            attachments.update((str(at), text) for at, text in enumerate(texts, int(first)))
    if not isinstance(sample, dict):
        return sample
    return {**sample, "attachments": attachments}


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, struct.error, zlib.error) as error:
        raise DataError(f"not a whole .eval archive: {error}", file=path) from None


def _read(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    """Read a member of an archive; newer logs need Zstandard, which Python supports from 3.14 on."""
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
