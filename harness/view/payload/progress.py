"""How far a study has come, from counts alone: cheap enough to be asked after every change."""

from __future__ import annotations

from typing import Any

from harness.analysis import run_cost, study_prices
from harness.config import Study
from harness.store import Store


def read_progress(study: Study, store: Store) -> dict[str, Any]:
    """Rows, answers of every expert by what was said, and of every run what came and what it cost."""
    panel, prices = study.experts.is_panel, study_prices(study)
    said: dict[str, dict[str, int]] = {name: {} for name in store.count_asked(panel=panel)}
    for (expert, value), number in store.replies(panel=panel).count_replies().items():
        kind = ("rated" if value else "skip") if panel else value
        of = said.setdefault(expert, {})
        of[kind] = of.get(kind, 0) + number
    asked = store.count_asked(panel=panel)
    return {
        "rows": store.count_rows(),
        "experts": [{"name": name, "asked": asked.get(name, 0), "said": of} for name, of in said.items()],
        "runs": [
            {
                "name": run["name"],
                "run": run["id"],
                "created": run["created"],
                **_count(store, run["id"]),
                "usd": run_cost(prices, run, store.runs.sum_usage(run["id"])),
            }
            for run in store.runs.read_runs()
        ],
    }


def _count(store: Store, run: str) -> dict[str, Any]:
    counts, _ = store.runs.count_samples(run)
    return {"answers": sum(counts.values()), "statuses": {s.value: n for s, n in counts.items() if n}}
