"""Data on one model in detail: how its interval narrows with more labels, and its accuracy by stratum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oversight.harness.analysis import StratumAccuracy, close_interval, estimate_strata
from oversight.harness.config import Study
from oversight.harness.errors import OversightError, StoreError
from oversight.harness.report import estimate_to_json
from oversight.harness.store import Store
from oversight.harness.types import Estimate, interval_text, plain_fields, value_text


def read_closing(study: Study, store: Store, *, model: str) -> dict[str, Any]:
    """Return a model's estimates from the first n labels in the order of the draw, for increasing n."""
    try:
        found = close_interval(study, store, model)
    except StoreError:  # a database error may be temporary, so it is not returned as a reason
        raise
    except OversightError as error:
        return {"why": str(error), "points": [], "watchable": False}
    return plain_fields(found) | {"points": [{"labels": n, **_ends(e)} for n, e in found.points]}


def read_strata(study: Study, store: Store, *, model: str, column: str) -> dict[str, Any]:
    """Return a model's accuracy in every stratum of a column of the items."""
    return read_strata_of(study, store, [model], column)[model]


def read_strata_of(
    study: Study, store: Store, models: Sequence[str], column: str
) -> dict[str, dict[str, Any]]:
    """Return model → the model's accuracy in every stratum, or the reason why it cannot be estimated.

    If one model cannot be estimated, for example because it has no answers, all models get this reason
    instead of accuracies.
    """
    try:
        found = estimate_strata(study, store, models, column)
    except StoreError:  # a database error may be temporary, so it is not returned as a reason
        raise
    except OversightError as error:
        return {model: {"why": str(error), "strata": []} for model in models}
    return {model: {"strata": [_describe_stratum(s) for s in strata]} for model, strata in found.items()}


def _describe_stratum(stratum: StratumAccuracy) -> dict[str, Any]:
    estimate = stratum.estimate
    return plain_fields(stratum) | {
        "estimate": None if estimate is None else estimate_to_json(estimate),
        "value_text": "" if estimate is None else value_text(estimate),
        "interval_text": "" if estimate is None else interval_text(estimate),
    }


def _ends(estimate: Estimate) -> dict[str, Any]:
    ends = {name: getattr(estimate, name) for name in ("low", "high", "level", "holds", "why")}
    return {"estimate": estimate.clipped, **ends}
