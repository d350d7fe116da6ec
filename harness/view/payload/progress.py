"""Data on the progress of a study, computed only from counts, so that reading it is cheap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from oversight.harness.analysis import run_cost, study_prices
from oversight.harness.columns import ItemIndex
from oversight.harness.config import Study
from oversight.harness.distribution import VERSION
from oversight.harness.llm import PriceTable
from oversight.harness.store import Store
from oversight.harness.types import PredictionStatus, Usage


def read_frame(study: Study, store: Store) -> dict[str, Any]:
    """Return the study's name, pages, models, experts, classes, strata columns, and numbers of rows."""
    models = list(dict.fromkeys(run["name"] for run in store.runs.read_runs()))
    panel, rows = study.experts.is_panel, count_shown(store)
    if study.is_open and (answers := store.open_answers.read_answers()):
        # Count items by their answers, because the table `item` also has a row for each criterion and claim.
        rows["item"] = len({answer.item_id for answer in answers})
    searches, asked = store.searches.read_searches(), store.count_asked(panel=panel)
    has_options = not (panel or study.is_open)
    pages = {
        "answers": study.is_open,
        "overview": not study.is_open,
        "items": rows["item"] > 0 and has_options,
        "compare": len(models) > 1 and has_options,
        "judges": bool(study.judges) and rows["answer"] > 0 and has_options,
        "panel": panel,
        "collection": True,
        "search": bool(searches),
    }
    return {
        "name": study.study.name,
        "version": VERSION,
        "protocol": study.experts.protocol,
        "is_panel": panel,
        "pages": [name for name, there in pages.items() if there],
        "models": models,
        "experts": list(asked),
        "classes": store.columns.read_classes(),
        "columns": sorted({*study.items.meta, *filter(None, [study.estimate.strata])}),
        "rows": rows,
        "assignments": sum(asked.values()) if panel else 0,
        "ratings": sum(store.panel.replies.count_replies().values()) if panel else 0,
        "read_only": store.read_only and store.is_file and store.marks.read_mark() is None,
    }


def count_shown(store: Store) -> dict[str, int]:
    """Count items, questions, answers and predictions; large runs are counted from their cached columns."""
    answers = (store.run_columns.count_answers(run["id"]) for run in store.runs.read_runs())
    return {**store.count_rows("item", "question", "answer"), "prediction": sum(answers)}


def read_progress(study: Study, store: Store) -> dict[str, Any]:
    """Return numbers of stored rows, every expert's answers by verdict, and every run's results and cost."""
    panel, prices, index = study.experts.is_panel, study_prices(study), store.columns.read_index()
    asked = store.count_asked(panel=panel)
    said: dict[str, dict[str, int]] = {name: {} for name in asked}
    for (expert, value), number in store.replies(panel=panel).count_replies().items():
        kind = ("rated" if value else "skip") if panel else value
        of = said.setdefault(expert, {})
        of[kind] = of.get(kind, 0) + number
    return {
        "rows": count_shown(store),
        "experts": [{"name": name, "asked": asked.get(name, 0), "said": of} for name, of in said.items()],
        "runs": [_describe_run(store, prices, run, index) for run in store.runs.read_runs()],
    }


def _describe_run(
    store: Store, prices: PriceTable, run: Mapping[str, Any], index: ItemIndex
) -> dict[str, Any]:
    """Describe a run's answers (every sample counts as an answer) and its cost."""
    name: str = run["id"]
    if store.run_columns.is_kept(name):
        kept = store.run_columns.read_run(name, index)
        used: Sequence[Usage] = kept.usage
        answers = sum(u.answers for u in used)
        unreadable = int(np.count_nonzero(kept.predictions.is_unreadable))
        failed = int(np.count_nonzero(kept.predictions.has_failed))
    else:
        used, counts = store.runs.sum_answers(name), store.runs.count_samples(name)
        answers, failed = sum(counts.values()), counts[PredictionStatus.FAILED]
        unreadable = sum(number for status, number in counts.items() if status.no_option)
    return {
        "name": run["name"],
        "run": name,
        "created": run["created"],
        "samples": run["spec"].get("samples", 1),
        "answers": answers,
        "unreadable": unreadable,
        "failed": failed,
        "usd": run_cost(store, prices, run, store.runs.sum_usage(name, used)),
    }
