"""Read answers from other programs: find out which program wrote a log, and read the log.

Plain tables of predictions are one of the formats: CSV, JSON Lines or Parquet with one row per answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from oversight.harness.datasets.helm_logs import read_helm
from oversight.harness.datasets.inspect_logs import read_inspect
from oversight.harness.datasets.lm_eval_logs import read_lm_eval
from oversight.harness.datasets.log_fields import read_metadata, read_texts
from oversight.harness.datasets.row import Row, split_records
from oversight.harness.datasets.rows import read_rows
from oversight.harness.datasets.text_files import no_file
from oversight.harness.errors import DataError
from oversight.harness.output import shorten, unguard_cell
from oversight.harness.types import ForeignAnswer, PredictionStatus

_EXPORTED = {"model", "item_id", "option_text", "status"}
"""Columns by which an export of a study is recognised."""
_READ = {
    *("id", "question", "text", "prompt", "options", "prediction", "raw", "error", "confidence", "sample"),
    *("input_tokens", "output_tokens", "model"),
}
"""Columns of a table that are read; all other columns are metadata."""
_NO_ERROR = {"", "0", "0.0", "false", "nan", "none", "null", "na", "n/a", "<na>", "nat"}
"""Values in the column ``error``, in lower case, that programs write for a row without an error."""
_ASKED = ("question", "text")
"""Columns that may contain the question; if ``question`` exists, ``text`` may be the reply instead."""


def read_table(path: Path) -> Iterator[ForeignAnswer]:
    """Read the rows of a table.

    ``prediction`` is an option's text or letter; it is empty for an unreadable answer. If it equals the text
    of one option and the letter of another, the text counts. Letters denote the options in the order of the
    list ``options`` or, without it, of a list A, B, … in ``prompt``, ``question`` or ``text``. Without such a
    list, they denote the study's options in their order.

    The table needs a column ``id`` or ``text``, and a column ``prediction`` or ``raw``. A column ``question``
    replaces ``text``. ``error``, ``confidence``, ``sample``, ``model``, ``input_tokens`` and
    ``output_tokens`` are read if present, and ``failed`` in ``status``; other columns are metadata.
    Exports of a study (``item_id``, ``status``, ``option_text``, …) are read without renaming columns.

    Raises
    ------
    DataError
        If a required column is missing, a number is malformed, or a row has a prediction and an error.
    """
    return map(_table_answer, read_rows(path))


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


def _list_columns(row: Row) -> str:
    return f"there are: {', '.join(list(row.fields)[:12])}"


def _table_answer(row: Row) -> ForeignAnswer:
    if row.fields.keys() >= _EXPORTED:
        return _exported_answer(row)
    if not {"id", *_ASKED} & set(row.fields):
        raise row.error("id", f"there is neither a column id nor a column text; {_list_columns(row)}")
    if not {"prediction", "raw"} & set(row.fields):
        raise row.error(
            "prediction", f"there is neither a column prediction nor a column raw; {_list_columns(row)}"
        )
    confidence = row.number("confidence")
    if confidence is not None and not 0 <= confidence <= 1:
        raise row.error("confidence", f"must be between 0 and 1, is {confidence:g}")
    said, error = row.text("prediction").strip(), _read_error(row)
    if said and error:
        raise row.error(
            "error", f"is {shorten(error)}, but the row has a prediction; leave one of them empty"
        )
    text = next((row.text(name).strip() for name in _ASKED if isinstance(row.find_field(name), str)), "")
    is_known = row.word("status") in list(PredictionStatus)
    return ForeignAnswer(
        line=row.line,
        id=row.text("id").strip(),
        text=text,
        answer=said or None,
        raw=row.text("raw").strip() or said,
        error=error,
        sample=row.count("sample"),
        input_tokens=row.count("input_tokens"),
        output_tokens=row.count("output_tokens"),
        confidence=confidence,
        model=row.text("model").strip(),
        options=_read_options(row),
        prompt=_read_prompt(row, text),
        meta=read_metadata(row.fields, _READ | ({"status"} if is_known else set())),
    )


def _read_options(row: Row) -> tuple[str, ...]:
    """Return the options if they are a list, or a list in JSON; empty otherwise."""
    value = row.find_field("options")
    if isinstance(value, str) and value.startswith("["):
        value = row.parsed("options", "list of options")
    return read_texts(row, "options", value) if isinstance(value, list) else ()


def _read_prompt(row: Row, text: str) -> str:
    """Return the question `text` and the prompt; empty if there is no prompt.

    Of a prompt that is a list of messages, only the last user message is returned.
    """
    prompt = row.find_field("prompt")
    if isinstance(prompt, list):
        turns = [turn if isinstance(turn, dict) else {"content": turn} for turn in prompt]
        contents = [turn.get("content") for turn in turns if turn.get("role", "user") == "user"]
        prompt = contents[-1] if contents else None
    return f"{text}\n\n{prompt}" if prompt and isinstance(prompt, str) else ""


def _read_error(row: Row) -> str:
    """Return the reason for a failed call; empty if no column says that the call failed."""
    value = row.find_field("error")
    said = str(value) if isinstance(value, bool) else row.text("error").strip()
    if said.casefold() not in _NO_ERROR:
        return said
    failed = PredictionStatus.FAILED
    return str(failed) if row.word("status") == failed and not row.find_field("prediction") else ""


_Key = str | tuple[str, str, int]
"""Key of an answer: the item's id, or a tuple of id, question (only if there is no id) and sample number."""

READERS: dict[str, Callable[[Path], Iterator[ForeignAnswer]]] = {
    "inspect": read_inspect,
    "lm-eval": read_lm_eval,
    "helm": read_helm,
    "table": read_table,
}


def format_of(path: str | Path) -> str:
    """Infer the format of a log from the file's name.

    Raises
    ------
    DataError
        If the name fits several formats.
    """
    name = Path(path).name.lower()
    if name.endswith(".eval"):
        return "inspect"
    if name == "scenario_state.json":
        return "helm"
    if name.startswith("samples_") and name.endswith((".jsonl", ".jsonl.gz")):
        return "lm-eval"
    if name.endswith((".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", ".gz")):
        return "table"
    raise DataError(
        f"the file's name does not tell which program wrote it; give --format, one of {', '.join(READERS)}",
        file=path,
    )


def iterate_foreign(
    path: str | Path, kind: str, model: str | None = None, left_out: Counter[str] | None = None
) -> Iterator[list[ForeignAnswer]]:
    """Read a log's answers in portions; the portions before an error are yielded first.

    If a log names several models, only the answers of `model` are read. A log in which only some answers name
    a model is refused. Samples that are not answers are counted in `left_out`, by reason.

    Raises
    ------
    DataError
        At the first deviation from the format, naming file, record and field; or if an item has two answers
        with the same sample number.
    """
    path = Path(path)
    if not path.is_file():
        raise no_file(path)
    seen: dict[_Key, int] = {}
    counts = Counter[str]() if left_out is None else left_out
    chosen = _choose_model(READERS[kind](path), path, model)
    for records in split_records(READERS[kind](path)):
        _refuse_unnamed(records, chosen, path)
        others = Counter(reason for answer in records if (reason := _why_left_out(answer, chosen)))
        portion = [a for a in records if not _why_left_out(a, chosen)] if others else records
        counts.update(others)
        keys = [a.id if a.id and not a.sample else _key_of(a) for a in portion]
        if len(set(keys)) < len(keys) or not seen.keys().isdisjoint(keys):
            _refuse_second(portion, keys, seen, path)
        seen.update(zip(keys, [answer.line for answer in portion], strict=True))
        if portion:
            yield portion
    if not seen:
        told = "the log contains no answers"
        if counts:
            told += f"; left out: {tell_left_out(counts)}"
        raise DataError(told, file=path)


def tell_left_out(counts: Mapping[str, int]) -> str:
    """Format the numbers of left-out samples by reason: ``3 × perturbed copy, 1 × invalidated sample``."""
    return ", ".join(f"{n} × {reason}" for reason, n in counts.items())


def _why_left_out(answer: ForeignAnswer, model: str) -> str:
    return answer.left_out or (f"answer of the model {answer.model!r}" if answer.model != model else "")


def _choose_model(answers: Iterator[ForeignAnswer], path: Path, model: str | None) -> str:
    """Return the name of the model to read from a log of several models; empty if the log names no model."""
    first = next((answer for answer in answers if not answer.left_out), None)
    if first is None or not first.model:
        return ""
    names = dict.fromkeys([first.model, *(answer.model for answer in answers if answer.model)])
    if model in names:
        return str(model)
    if len(names) > 1:
        given = f"no model {model!r}; " if model else ""
        told = f"{given}the log contains answers of {len(names)} models: {', '.join(names)}"
        told += "; choose one with --model" if model else "; keep the rows of one"
        raise DataError(told, file=path, field="model")
    return first.model


def _refuse_unnamed(answers: Sequence[ForeignAnswer], chosen: str, path: Path) -> None:
    for answer in answers:
        if bool(answer.model) != bool(chosen) and not answer.left_out:
            told = "is empty" if chosen else f"is {answer.model!r}, but earlier rows name no model"
            raise DataError(
                f"{told}; name the model in every row, or in none",
                file=path,
                line=answer.line,
                field="model",
            )


def _key_of(answer: ForeignAnswer) -> _Key:
    return (answer.id, "" if answer.id else answer.text, answer.sample)


def _refuse_second(
    portion: Sequence[ForeignAnswer], keys: Sequence[_Key], lines: dict[_Key, int], path: Path
) -> None:
    """Raise DataError if an answer's key occurred before, in this portion of the log or an earlier one."""
    for answer, key in zip(portion, keys, strict=True):
        if key in lines:
            name = answer.id or answer.text[:40]
            message = f"{name!r} was answered in line {lines[key]} already (sample {answer.sample})"
            raise DataError(message, file=path, line=answer.line)
        lines[key] = answer.line
