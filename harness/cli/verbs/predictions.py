"""Bring in answers of models that another program ran, make items of its log, or export all answers.

example: oversight predictions import logs/2026-11-21_questions.eval --model gpt-5-mini
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.analysis import study_items
from harness.cli.output import emit
from harness.cli.study_arguments import add_study, study_of
from harness.config import RunSpec
from harness.datasets import READERS, format_of, read_foreign
from harness.errors import BadInput, ConfigError, DataError
from harness.store import Store
from harness.types import Item, PredictionStatus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight predictions``."""
    parser.add_argument("action", choices=["import", "items", "export"])
    parser.add_argument("file", help="the log to read, or for export the .parquet file to write")
    parser.add_argument("--format", choices=list(READERS), help="told by the file's name if left out")
    parser.add_argument("--model", help="import: the name under which the model is estimated")
    parser.add_argument(
        "--out", default="items.jsonl", help="items: the file to write (default: %(default)s)"
    )
    add_study(parser)


def run(args: argparse.Namespace) -> int:
    """Do one of the three."""
    return {"import": _import, "items": _items, "export": _export}[args.action](args)


def _import(args: argparse.Namespace) -> int:
    """Store all answers of a log, or none; the same log again changes nothing."""
    from harness.llm import to_predictions

    if not args.model:
        raise ConfigError("give the model a name with --model")
    study = study_of(args)
    kind = args.format or format_of(args.file)
    answers = read_foreign(args.file, kind)
    items = study_items(study)
    predictions = to_predictions(answers, items, args.file)
    digest = hashlib.sha256(Path(args.file).read_bytes()).hexdigest()[:12]
    spec = RunSpec(
        name=args.model,
        model=args.model,
        endpoint=f"import {kind}",
        temperature=None,
        max_tokens=None,
        stop=(),
        template=f"{Path(args.file).name} {digest}",
        max_words=None,
    )
    with Store(study.store_url) as store:
        store.content.add_items(items)
        store.runs.add_run(spec)
        store.runs.store_predictions([(spec.id, p) for p in predictions])
        voted = store.runs.read_predictions(spec.id)
    by_status = {status: sum(p.status == status for p in voted) for status in PredictionStatus}
    missing = len(items) - len(voted)
    text = f"{args.model}: {len(predictions)} answers to {len(voted)} items; " + ", ".join(
        f"{n} {status}" for status, n in by_status.items()
    )
    if missing:
        text += f"; {missing} items of the study have none"
    emit(args, {"run": spec.id, "answers": len(predictions), "items": len(voted)} | by_status, text)
    return 0


def _items(args: argparse.Namespace) -> int:
    """Write an items file from a log, so that a study needs nothing but labels."""
    answers = read_foreign(args.file, args.format or format_of(args.file))
    out = Path(args.out)
    if out.exists():
        raise BadInput(f"{out} is there already; give another --out")
    lines: dict[str, str] = {}
    for answer in answers:
        record = {"id": answer.id, "text": answer.text, "options": list(answer.options)}
        for field in ("id", "text", "options"):
            if not record[field]:
                raise DataError("the log does not say it", file=args.file, line=answer.line, field=field)
        lines[answer.id] = json.dumps(record, ensure_ascii=False)
    out.write_text("\n".join(lines.values()) + "\n", encoding="utf-8")
    emit(args, {"written": str(out), "items": len(lines)}, f"wrote {len(lines)} items to {out}")
    return 0


def _export(args: argparse.Namespace) -> int:
    """Write every stored answer of every run."""
    from harness.datasets import write_predictions

    study = study_of(args)
    with Store(study.store_url) as store:
        runs = store.runs.read_runs()
        if not runs:
            raise BadInput("no model was run yet; see: oversight run --help")
        count = write_predictions(args.file, _rows(store, runs, store.content.read_items()))
    emit(args, {"written": args.file, "rows": count}, f"wrote {count} answers to {args.file}")
    return 0


def _rows(store: Store, runs: Sequence[dict[str, Any]], items: Sequence[Item]) -> Iterator[dict[str, Any]]:
    options = {item.id: item.options for item in items}
    for run in runs:
        for p in store.runs.read_samples(run["id"]):
            yield {
                "model": run["name"],
                "run": run["id"],
                "item_id": p.item_id,
                "sample": p.sample,
                "option": p.option,
                "option_text": None if p.option is None else options[p.item_id][p.option],
                "status": p.status.value,
                "reason": p.reason,
                "confidence": p.confidence,
                "raw": p.raw,
                "input_tokens": p.input_tokens,
                "output_tokens": p.output_tokens,
                "seconds": p.seconds,
                "attempts": p.attempts,
                "source": p.source.value,
            }
