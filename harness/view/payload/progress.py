"""The progress of a study, only from counts, so that it can be read after every change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from oversight.harness.analysis import run_cost, study_prices
from oversight.harness.columns import ItemIndex
from oversight.harness.config import Study
from oversight.harness.llm import PriceTable
from oversight.harness.store import Store
from oversight.harness.types import PredictionStatus, Usage
from oversight.harness.view.payload.frame import count_shown


def read_progress(study: Study, store: Store) -> dict[str, Any]:
    """Return the numbers of rows, every expert's answers by verdict, and every run's results and cost."""
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
    """Describe a run's answers, counting every sample; an idle run is counted from its cached columns."""
    name: str = run["id"]
    if store.run_columns.is_kept(name):
        kept = store.run_columns.read_run(name, index)
        used: Sequence[Usage] = kept.usage
        answers = sum(u.answers for u in used)
        unreadable = int(np.count_nonzero(kept.predictions.is_unreadable))
        failed = int(np.count_nonzero(kept.predictions.has_failed))
    else:
        used, (counts, _) = store.runs.sum_answers(name), store.runs.count_samples(name)
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
        "usd": run_cost(store, prices, run, [*used, *store.runs.sum_charges(name)]),
    }
