"""Parts that all pages share: the study's name, its pages, and the names that filters offer."""

from __future__ import annotations

from typing import Any

from oversight.harness.config import Study
from oversight.harness.distribution import VERSION
from oversight.harness.store import Store


def read_frame(study: Study, store: Store) -> dict[str, Any]:
    """Return the study's name, pages, models, experts, classes and columns of strata."""
    models = list(dict.fromkeys(run["name"] for run in store.runs.read_runs()))
    panel, rows = study.experts.is_panel, count_shown(store)
    if study.is_open and (answers := store.open_answers.read_answers()):
        rows["item"] = len({answer.item_id for answer in answers})  # without units of answers
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
        "columns": sorted({*study.items.meta, *filter(None, [study.estimate.strata, study.items.cluster])}),
        "rows": rows,
        "assignments": sum(asked.values()) if panel else 0,
        "ratings": sum(store.panel.replies.count_replies().values()) if panel else 0,
        "read_only": store.read_only and store.is_file and store.marks.read_mark() is None,
    }


def count_shown(store: Store) -> dict[str, int]:
    """Count items, questions, answers and predictions; large runs are counted from their cached columns."""
    answers = (store.run_columns.count_answers(run["id"]) for run in store.runs.read_runs())
    return {**store.count_rows("item", "question", "answer"), "prediction": sum(answers)}
