"""Estimates that stand beside a protocol's own: with the votes of all models, and with the study's judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from oversight.harness.analysis.chosen_runs import find_judges, find_newest_runs
from oversight.harness.analysis.model_report import Collected, ModelReport
from oversight.harness.columns import PredictionColumns
from oversight.harness.config import Study
from oversight.harness.errors import BadInput
from oversight.harness.estimate import (
    ASSISTED,
    DEEPENED,
    JUDGED,
    Estimates,
    assist,
    deepen,
    joint_level,
    judge_models,
    mark_joint,
    refuse_votes,
    withhold_assisted,
    withhold_judged,
)
from oversight.harness.store import Store
from oversight.harness.types import ESTIMATOR_NAMES


def add_side_information(
    store: Store, study: Study, models: Sequence[ModelReport], data: Collected
) -> tuple[ModelReport, ...]:
    """Reports with the estimates that models' votes and the study's judges narrow, or why there are none."""
    found = {model.name: Estimates(model.estimates, model.undefined) for model in models}
    found = _judge(store, study, _assist(store, found, data), data)
    if data.second is not None:
        runs = {model.name: {"name": model.name, "id": model.run_id} for model in models}
        predicted = _read_predictions(store, list(runs.values()), data)
        level, why = joint_level(data.level, data.joint), _refuse(data, "second questions are")
        found = deepen(predicted, data.labels, data.second, found, level=level, refused=why)
    return tuple(_put_in(model, found[model.name], data) for model in models)


def _assist(store: Store, found: Mapping[str, Estimates], data: Collected) -> dict[str, Estimates]:
    """Every model's newest run votes, whichever are shown, so that the number is the same in every table."""
    runs = find_newest_runs(store, None).runs
    if why := _refuse(data, "votes are"):
        return withhold_assisted(len(runs), data.labels, found, why)
    if len(runs) < 2:
        return dict(found)
    votes = _read_predictions(store, runs, data)
    return assist(votes, data.labels, found, level=joint_level(data.level, data.joint))


def _judge(
    store: Store, study: Study, found: Mapping[str, Estimates], data: Collected
) -> dict[str, Estimates]:
    """With the study's judges, where it has any."""
    if not study.judges:
        return dict(found)
    if why := _refuse(data, "a judge is"):
        return withhold_judged(found, why)
    try:
        judges = find_judges(store, study.judges)
    except BadInput as error:
        return withhold_judged(found, f"judge: {error}")
    models = _read_predictions(store, find_newest_runs(store, list(found)).runs, data)
    asked = list(_read_predictions(store, judges, data).values())
    level, index = joint_level(data.level, data.joint), data.labels.index
    labels = replace(
        data.labels, models=tuple(data.models.values())
    )  # checks hold answers against all models
    n_options = None
    if data.labels.pool is not None:
        options = store.columns.read_options(index)
        n_options = np.array([options[name] for name in index.ids], np.int64)
    return judge_models(models, asked, labels, found, level=level, n_options=n_options)


def _refuse(data: Collected, what: str) -> str:
    options = data.options
    return refuse_votes(
        data.labels,
        strata=data.strata is not None,
        interval=options.interval,
        published=options.published,
        what=what,
    )


def _read_predictions(
    store: Store, runs: Sequence[dict[str, Any]], data: Collected
) -> dict[str, PredictionColumns]:
    index = data.labels.index
    return {run["name"]: store.run_columns.read_run(run["id"], index).predictions for run in runs}


def _put_in(model: ModelReport, made: Estimates, data: Collected) -> ModelReport:
    estimates = dict(made)
    added = {name: made[name] for name in (ASSISTED, JUDGED, DEEPENED) if name in made}
    if data.joint and added:
        estimates |= mark_joint(Estimates(added, {}), data.level, data.joint)
    in_order = {name: estimates[name] for name in ESTIMATOR_NAMES if name in estimates}
    if data.correction:
        in_order = data.correction.put_first(in_order)
    return replace(model, estimates=in_order, undefined=dict(made.undefined))
