"""Answers from elsewhere: which program wrote a log, and how to read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from oversight.harness.datasets.logs.helm_logs import read_helm
from oversight.harness.datasets.logs.json_logs import read_inspect
from oversight.harness.datasets.logs.lm_eval_logs import read_lm_eval
from oversight.harness.datasets.logs.row_logs import read_table
from oversight.harness.datasets.portions import split_records
from oversight.harness.datasets.text_files import no_file
from oversight.harness.errors import DataError
from oversight.harness.types import ForeignAnswer

_Key = str | tuple[str, str, int]
"""An item's id, or what takes its place and the number of the sample."""

READERS: dict[str, Callable[[Path], Iterator[ForeignAnswer]]] = {
    "inspect": read_inspect,
    "lm-eval": read_lm_eval,
    "helm": read_helm,
    "table": read_table,
}


def format_of(path: str | Path) -> str:
    """Tell the format by the file's name.

    Raises
    ------
    DataError
        If the name could be anything.
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
    raise DataError(f"which program wrote this? Give --format, one of {', '.join(READERS)}", file=path)


def iterate_foreign(
    path: str | Path, kind: str, model: str | None = None, left_out: Counter[str] | None = None
) -> Iterator[list[ForeignAnswer]]:
    """Read a log's answers, some thousand at a time; the last may not be good although the first were.

    Of a log that says whose answers it holds those of `model` are read, or all if they are of one model.
    Samples that are no answers of their own are counted in `left_out`, by the reason.

    Raises
    ------
    DataError
        Naming file, record and field of the first thing that is not as the format says; if an item has
        two answers with the same sample number.
    """
    path = Path(path)
    if not path.is_file():
        raise no_file(path)
    seen: dict[_Key, int] = {}
    counts = Counter[str]() if left_out is None else left_out
    chosen = _choose_model(READERS[kind](path), path, model)
    for records in split_records(READERS[kind](path)):
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
        told = "there are no answers in it"
        if counts:
            told += f"; left out: {tell_left_out(counts)}"
        raise DataError(told, file=path)


def tell_left_out(counts: Mapping[str, int]) -> str:
    """Tell how many samples were left out and why: ``3 × perturbed copy, 1 × invalidated sample``."""
    return ", ".join(f"{n} × {reason}" for reason, n in counts.items())


def _why_left_out(answer: ForeignAnswer, model: str) -> str:
    return answer.left_out or (f"answer of the model {answer.model!r}" if answer.model != model else "")


def _choose_model(answers: Iterator[ForeignAnswer], path: Path, model: str | None) -> str:
    """Whose answers to read of a log that holds those of several models; empty if it does not say."""
    first = next((answer for answer in answers if not answer.left_out), None)
    if first is None or not first.model:
        return ""
    names = dict.fromkeys([first.model, *(answer.model for answer in answers)])
    if model in names:
        return str(model)
    if len(names) > 1:
        told = f"answers of {len(names)} models are in it: {', '.join(names)}; --model takes one of them"
        raise DataError(told, file=path, field="model")
    return first.model


def _key_of(answer: ForeignAnswer) -> _Key:
    return (answer.id, "" if answer.id else answer.text, answer.sample)


def _refuse_second(
    portion: Sequence[ForeignAnswer], keys: Sequence[_Key], lines: dict[_Key, int], path: Path
) -> None:
    """Raise the error of the first answer whose key was there before, in these lines or the portion."""
    for answer, key in zip(portion, keys, strict=True):
        if key in lines:
            name = answer.id or answer.text[:40]
            message = f"{name!r} was answered in {lines[key]} already (sample {answer.sample})"
            raise DataError(message, file=path, line=answer.line)
        lines[key] = answer.line
