"""One model in detail: how its interval closes, and its strata."""

from __future__ import annotations

from typing import Any

from harness.analysis import close_interval, estimate_strata
from harness.config import Study
from harness.errors import OversightError, StoreError
from harness.report import estimate_to_json, interval_text, value_text
from harness.store import Store
from harness.types import Estimate


def read_closing(study: Study, store: Store, *, model: str) -> dict[str, Any]:
    """A model's estimate from the first so many labels, in the order of the draw."""
    try:
        found = close_interval(study, store, model)
    except StoreError:  # says nothing of the study, and may be over soon
        raise
    except OversightError as error:
        return {"why": str(error), "points": [], "watchable": False}
    return {
        "points": [{"labels": n, **_ends(e)} for n, e in found.points],
        "watchable": found.watchable,
        "why": found.why,
    }


def read_strata(study: Study, store: Store, *, model: str, column: str) -> dict[str, Any]:
    """A model's accuracy in every stratum of a column of the items."""
    try:
        found = estimate_strata(study, store, model, column)
    except StoreError:  # says nothing of the study, and may be over soon
        raise
    except OversightError as error:
        return {"why": str(error), "strata": []}
    return {
        "strata": [
            {
                "stratum": s.stratum,
                "items": s.items,
                "predicted": s.predicted,
                "answered": s.answered,
                "estimate": None if s.estimate is None else estimate_to_json(s.estimate),
                "value_text": "" if s.estimate is None else value_text(s.estimate),
                "interval_text": "" if s.estimate is None else interval_text(s.estimate),
                "why": s.why,
            }
            for s in found
        ]
    }


def _ends(estimate: Estimate) -> dict[str, Any]:
    return {
        "estimate": estimate.clipped,
        "low": estimate.low,
        "high": estimate.high,
        "level": estimate.level,
        "holds": estimate.holds,
    }
