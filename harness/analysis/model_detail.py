"""One model in detail: its interval as labels arrive, and its accuracy in every stratum."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from oversight.harness.analysis.inputs import read_meta
from oversight.harness.analysis.opened_study import OpenStudy, requested_interval
from oversight.harness.columns import (
    ItemGroup,
    LabelColumns,
    PredictionColumns,
    keep_drawn,
    keep_predicted,
    split_items,
)
from oversight.harness.config import Study
from oversight.harness.errors import BadInput, EstimateError, NotIdentified
from oversight.harness.estimate import (
    accuracy,
    check_watchable,
    collected_part,
    explain_failures,
    explain_unfinished,
    growing_accuracy,
)
from oversight.harness.store import Store
from oversight.harness.types import Estimate

CURVE_POINTS = 24
_MOST_STRATA = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatesOverTime:
    """Learning curve: a model's estimates from increasing numbers of labels, in the order of the draw.

    Attributes
    ----------
    points
        Pairs of a number of answers and the estimate from them. Reasons to doubt the study's estimate, for
        example experts' errors, are in `why` of every estimate that has no own reason.
    watchable
        Whether all intervals are valid simultaneously, so that a reader can watch them while labels arrive.
        If not, an interval is valid only if its number of labels was fixed in advance.
    why
        Reason why the intervals are not valid simultaneously; empty if `watchable`.
    """

    points: tuple[tuple[int, Estimate], ...]
    watchable: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StratumAccuracy:
    """A model's accuracy on the items of one stratum.

    Attributes
    ----------
    items, predicted, answered
        Number of items in the stratum, number that the model answered, and number that both the model and an
        expert answered.
    estimate
        The accuracy, not corrected for experts' errors; None if it is undefined, with the reason in `why`.
    """

    stratum: str
    items: int
    predicted: int
    answered: int
    estimate: Estimate | None
    why: str


def close_interval(study: Study, store: Store, model: str) -> EstimatesOverTime:
    """Compute a model's learning curve, with anytime-valid intervals if the draw allows them.

    Raises
    ------
    BadInput
        If the model was not run or has no answers yet.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> from oversight.harness.store import Store
    >>> study = read_study("study.toml")
    >>> with Store(study.store_url) as store:
    ...     print(len(close_interval(study, store, "quick").points))
    ...
    24
    """
    opened = OpenStudy(study, store)
    predictions, labels = _read(opened, model)
    level, why = study.estimate.level, ""
    try:
        check_watchable(predictions, labels)
    except NotIdentified as error:
        why = str(error)
    interval = requested_interval(study) if why else "anytime"
    varies = len(store.columns.count_options()) > 1
    n_options = store.columns.read_options(labels.index) if varies and not why else None
    curve = partial(growing_accuracy, predictions, labels, CURVE_POINTS, level=level)
    points = curve(interval=interval, n_options=n_options)
    if not points and not why:
        why = "there are too few answers for an anytime interval"
        points = curve(interval=requested_interval(study))
    doubt = _find_doubt(opened, model, predictions, labels)
    doubted = tuple((n, replace(found, why=found.why or doubt)) for n, found in points)
    return EstimatesOverTime(points=doubted, watchable=not why, why=why)


def estimate_strata(
    study: Study, store: Store, models: Sequence[str], column: str
) -> dict[str, tuple[StratumAccuracy, ...]]:
    """Estimate models' accuracies in every stratum of a metadata column; intervals have the study's level.

    Raises
    ------
    BadInput
        If a model was not run or has no answers yet, no item has the column, or the column has more than 100
        values.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> from oversight.harness.store import Store
    >>> study = read_study("study.toml")
    >>> with Store(study.store_url) as store:
    ...     found = estimate_strata(study, store, ["quick"], "ward")
    ...
    >>> [(part.stratum, part.items) for part in found["quick"]]
    [('day', 36), ('night', 18)]
    """
    opened = OpenStudy(study, store)
    columns = {model: _read(opened, model) for model in models}
    values = read_meta(study, store, column)
    if not values.names:
        known = ", ".join(map(repr, store.columns.read_meta_names())) or "none"
        raise BadInput(f"there is no column {column!r} of the items; there are: {known}")
    if len(values.names) > _MOST_STRATA:
        raise BadInput(
            f"the column {column!r} has {len(values.names)} values, but at most {_MOST_STRATA} can be shown"
        )
    return {
        model: tuple(
            _estimate_stratum(study, group, predictions, doubt) for group in split_items(values, labels)
        )
        for model, (predictions, labels) in columns.items()
        for doubt in [_find_doubt(opened, model, predictions, labels)]
    }


def _read(opened: OpenStudy, model: str) -> tuple[PredictionColumns, LabelColumns]:
    every = opened.predict(opened.choose([model]))[model]
    predictions = keep_drawn(every, opened.labels)
    return predictions, keep_predicted(opened.labels, predictions)


def _find_doubt(opened: OpenStudy, model: str, predictions: PredictionColumns, labels: LabelColumns) -> str:
    """Return why uncorrected estimates from parts of a study may be wrong; empty if no reason is known."""
    failed = ""
    with suppress(EstimateError):  # too few answers: no estimate is possible
        failed = explain_failures(predictions, collected_part(labels, predictions.is_there)[0])
    errors = "" if opened.correction is None else opened.doubt
    unfinished = explain_unfinished(predictions, labels)
    found = [failed, unfinished, errors, opened.repeated, opened.explain_choice(model)]
    return "; ".join(filter(None, found))


def _estimate_stratum(
    study: Study, group: ItemGroup, predictions: PredictionColumns, doubt: str
) -> StratumAccuracy:
    within, estimate, why = group.take(predictions), None, ""
    try:
        estimate = accuracy(
            within, group.labels, interval=requested_interval(study), level=study.estimate.level
        )
        estimate = replace(estimate, why=estimate.why or doubt)
    except EstimateError as error:
        why = str(error)
    return StratumAccuracy(
        stratum=group.name,
        items=group.index.size,
        predicted=int(np.count_nonzero(within.ran)),
        answered=int(np.count_nonzero(group.labels.answered & within.ran)),
        estimate=estimate,
        why=why,
    )
