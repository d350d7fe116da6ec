"""Data of the collection page: questions by person, arrivals, invalid answers, next steps."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from oversight.harness import BadInput
from oversight.harness.config import Study
from oversight.harness.output import pool_text
from oversight.harness.store import Store
from oversight.protocols.collect.arrivals import read_arrivals
from oversight.protocols.collect.next_steps import find_next_steps
from oversight.protocols.collect.progress import measure_progress

MOST_SHOWN = 1000
"""Largest number of quarantined annotations that the page lists; all are counted."""


def read_collection(study: Study, store: Store) -> dict[str, Any]:
    """Read the progress of a collection, with or without a Label Studio campaign.

    Returns
    -------
    dict
        ``is_panel``: whether people choose among all options instead of answering yes or no. ``people``:
        for each ``name``, the fields of `QueueProgress`, and ``per_hour`` and ``last`` of `Arrivals` (None
        if missing). ``asked, answered, open, foreign``: their sums. ``arrivals``: the other fields of
        `Arrivals`. ``quarantine``: ``of`` how many annotations, ``reasons`` with the number of each, and
        ``rows``, the first of them with expert, annotation, task, question, item, why, and stored detail.
        ``next``: next step as sentence and command. ``campaign``: whether questions are on a Label Studio
        server. ``deadline``: last day of the collection in ISO 8601, or None. ``items_drawn``: how many
        items were ``drawn`` from a pool, ``of`` how many, and the same as ``text``; None if all are asked
        about.
    """
    panel = study.experts.is_panel
    try:
        progress = measure_progress(study, store)
    except BadInput:  # no question was drawn yet
        progress = {}
    arrivals, rows = asdict(read_arrivals(store, panel=panel)), store.labelling.read_quarantine()
    per_hour, last = arrivals.pop("per_hour"), arrivals.pop("last")
    people = [
        {"name": name, **asdict(p), "per_hour": per_hour.get(name), "last": last.get(name)}
        for name, p in progress.items()
    ]
    shown, pool = rows[:MOST_SHOWN], store.pool.count_pool()
    items = store.find_asked_items([r.question_id for r in shown if r.question_id], panel=panel)
    return {
        "is_panel": panel,
        "people": people,
        **{key: sum(p[key] for p in people) for key in ("asked", "answered", "open", "foreign")},
        "arrivals": arrivals,
        "quarantine": {
            "of": len(rows),
            "reasons": dict(Counter(r.reason for r in rows).most_common()),
            "rows": [
                {
                    "expert": row.expert,
                    "annotation": row.annotation_id,
                    "task": row.task_id,
                    "question": row.question_id,
                    "item": items.get(row.question_id or ""),
                    "why": row.reason,
                    "detail": row.detail,
                }
                for row in shown
            ],
        },
        "next": [asdict(step) for step in find_next_steps(study, store, progress, len(rows))],
        "campaign": bool(store.labelling.read_queues()),
        "deadline": study.experts.deadline and study.experts.deadline.isoformat(),
        "items_drawn": pool and {"drawn": pool[0], "of": pool[1], "text": pool_text(*pool)},
    }
