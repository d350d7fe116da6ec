"""Logs with a row per answer: of lm-evaluation-harness, and plain tables of predictions.

The former are its sample files (``samples_TASK_DATE.jsonl``, written with ``--log_samples``); the latter
are CSV, JSON Lines or Parquet with a row per item.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.datasets.json_logs import need
from harness.datasets.rows import Row, read_rows
from harness.errors import DataError
from harness.types import ForeignAnswer

_INVALID = "[invalid]"  # what its filters put where they found nothing


def read_lm_eval(path: Path) -> Iterator[ForeignAnswer]:
    """Read samples of generating and of multiple-choice tasks.

    The item's id is the document's ``id`` or, without one, its number. Of several filters the first in
    the file counts. For multiple choice the answer is the continuation of highest log-likelihood, and
    the confidence its share when all of them are normalised.

    Raises
    ------
    DataError
        If a line lacks ``doc``, ``arguments`` or ``resps``.
    """
    first_filter = None
    for row in read_rows(path):
        record = dict(row.fields)
        first_filter = first_filter or record.get("filter")
        if record.get("filter") != first_filter:
            continue
        document = need(record, "doc", dict, path, row.line)
        arguments = need(record, "arguments", dict, path, row.line)
        responses = need(record, "filtered_resps", list, path, row.line)
        name = str(document.get("id", need(record, "doc_id", int, path, row.line)))
        text = str(document.get("question") or document.get("text") or "")
        first: Any = next(iter(arguments.values()), None)
        if isinstance(first, dict) and isinstance(first.get("arg_1"), str):
            options = tuple(str(a["arg_1"]).strip() for a in arguments.values())
            best, share = _choose(responses, len(options), path, row.line)
            yield ForeignAnswer(
                line=row.line, id=name, text=text, options=options, answer=best, confidence=share
            )
        else:
            raw = need(record, "resps", list, path, row.line)
            said = responses[0] if responses else ""
            yield ForeignAnswer(
                line=row.line,
                id=name,
                text=text,
                options=_listed(document),
                answer=None if not isinstance(said, str) or said == _INVALID else said,
                raw=str(raw[0][0] if raw and raw[0] else ""),
            )


def _choose(responses: Sequence[Any], k: int, path: Path, line: int) -> tuple[int, float]:
    """The likeliest of k continuations, and its share when all are normalised."""
    try:
        scores = [float(pair[0]) for pair in responses]
    except (TypeError, ValueError, IndexError):
        raise DataError("must be log-likelihoods", file=path, line=line, field="filtered_resps") from None
    if len(scores) != k:
        message = f"{len(scores)} log-likelihoods for {k} continuations"
        raise DataError(message, file=path, line=line, field="filtered_resps")
    best = max(range(len(scores)), key=scores.__getitem__)
    return best, 1 / sum(math.exp(score - scores[best]) for score in scores)


def _listed(document: dict[str, Any]) -> tuple[str, ...]:
    found: Any = document.get("choices") or document.get("options") or ()
    if isinstance(found, dict):
        found = found.get("text") or ()
    return tuple(map(str, found)) if isinstance(found, list) else ()


def read_table(path: Path) -> Iterator[ForeignAnswer]:
    """Read rows; ``prediction`` is an option's text or letter, or empty where nothing could be read.

    Needed are a column ``id`` or ``text``, and ``prediction`` or ``raw``; ``error``, ``confidence``,
    ``sample``, ``input_tokens`` and ``output_tokens`` are read where they are, others passed over.

    Raises
    ------
    DataError
        If a needed column is missing or a number is none.
    """
    for row in read_rows(path):
        if not {"id", "text"} & set(row.fields):
            raise row.error("id", "there is neither a column id nor a column text")
        if not {"prediction", "raw"} & set(row.fields):
            raise row.error("prediction", "there is neither a column prediction nor a column raw")
        confidence = _number(row, "confidence")
        if confidence is not None and not 0 <= confidence <= 1:
            raise row.error("confidence", f"must lie between 0 and 1, is {confidence:g}")
        said = _text(row, "prediction")
        yield ForeignAnswer(
            line=row.line,
            id=_text(row, "id"),
            text=_text(row, "text"),
            answer=said or None,
            raw=_text(row, "raw") or said,
            error=_text(row, "error"),
            sample=int(_number(row, "sample") or 0),
            input_tokens=int(_number(row, "input_tokens") or 0),
            output_tokens=int(_number(row, "output_tokens") or 0),
            confidence=confidence,
        )


def _text(row: Row, column: str) -> str:
    value = row.fields.get(column)
    return "" if value is None else str(value).strip()


def _number(row: Row, column: str) -> float | None:
    value: Any = row.fields.get(column)
    try:
        return None if value in (None, "") else float(value)
    except (TypeError, ValueError):
        raise row.error(column, f"must be a number, is {value!r}") from None
