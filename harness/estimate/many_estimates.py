"""All estimates of a model, and of several models, by name; with the reason where one is withheld."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from oversight.harness.columns import (
    AnyLabels,
    AnyPredictions,
    LabelColumns,
    PredictionColumns,
    align,
    align_pool,
)
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.assisted import assist, refuse_votes, withhold_assisted
from oversight.harness.estimate.by_design import estimate_by_design
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.data import (
    Conditioning,
    Estimates,
    ModelEstimates,
    Strata,
    all_estimators,
    estimate_tallies,
    tally_pool,
)
from oversight.harness.estimate.evaluation import accuracy, complete, needs_tilting
from oversight.harness.estimate.judged import judge_models, withhold_judged
from oversight.harness.estimate.missing_answers import bound_missing
from oversight.harness.estimate.routed import GoldCounts
from oversight.harness.expected import check_mapping
from oversight.harness.types import Estimate, Note, NoteKind


def accuracies(
    predictions: AnyPredictions,
    labels: AnyLabels,
    *,
    interval: str | None = None,
    level: float = 0.95,
    strata: Strata = None,
    published: bool = False,
    split: Conditioning | Literal["auto"] = "auto",
    gold: GoldCounts | None = None,
    anytime: float | None = None,
) -> Estimates:
    """All that the labels' protocol allows to estimate of one model; parameters as in `accuracy`.

    Parameters
    ----------
    anytime
        Level of an interval to add that may be looked at any time.

    Returns
    -------
    Estimates
        For uniformly drawn options ``ord``, ``comp``, ``ivw_half``, ``ivw``, ``ml``, with `anytime` and
        `gold` also ``anytime`` and ``corrected``; else ``routed`` or ``resolved``. Where calls failed or
        experts abstained also ``worst_case``, which holds whatever is missing. One that is undefined or
        withheld is left out and `undefined` says why.

    Raises
    ------
    EstimateError
        If the data are contradictory, or no estimator is defined for uniformly drawn options.
    NotIdentified
        As in `accuracy`, for a plain list of labels.
    """
    predictions, labels = align(predictions, labels)
    main = main_estimator(labels)
    try:
        part, notes = collected_part(labels, predictions.is_there)
    except NotIdentified as error:
        return Estimates({}, {main: str(error)})
    shown: dict[str, Any] = {"interval": interval, "level": level, "published": published}

    def make(said: LabelColumns, name: str = main) -> Estimate:
        if main == "ml" and said.cluster is None:
            return estimate_tallies(tally_pool(predictions, said, strata, split), estimator=name, **shown)
        return estimate_by_design(predictions, said, level=level, gold=None)

    if main == "ml" and labels.cluster is None:
        made = all_estimators(tally_pool(predictions, part, strata, split), **shown)
        completed = {
            name: complete(e, predictions, part, notes, make=partial(make, name=name))
            for name, e in made.items()
        }
        tilted: dict[str, Any] = {**shown, "strata": strata, "split": split}
        more = [_tilt_main(Estimates(completed, made.undefined), predictions, labels, part, tilted)]
    else:
        more = [_try(main, predictions, labels, strata=strata, **shown)]
    if anytime is not None:
        more.append(_try("anytime", predictions, labels, level=anytime, interval="anytime"))
    if gold is not None:
        more.append(_try("corrected", predictions, labels, level=level, gold=gold))
    found = {name: e for part_ in more for name, e in part_.items()}
    if main in found:
        bounded = bound_missing(make(part), make, predictions, part)
        if bounded is not None:
            found["worst_case"] = complete(bounded, predictions, part, notes)
    return Estimates(found, {name: why for part_ in more for name, why in part_.undefined.items()})


def _tilt_main(
    made: Estimates,
    predictions: PredictionColumns,
    labels: LabelColumns,
    part: LabelColumns,
    options: Mapping[str, Any],
) -> Estimates:
    """The same with an estimate ``ml`` that is corrected for unequal answering rates, if they are."""
    if not needs_tilting(predictions, part):
        return made
    main = _try("ml", predictions, labels, **options)
    others = {name: e for name, e in made.items() if name != "ml"}
    return Estimates({**others, **main}, {**made.undefined, **main.undefined})


def main_estimator(labels: LabelColumns) -> str:
    """Name of the estimate that the protocol gives of one model; ``"accuracy"`` where it gives none."""
    if labels.is_even:
        return "ml"
    if not labels.tells_accuracy:
        return "accuracy"
    return "resolved" if labels.is_resolved else "routed"


def model_accuracies(
    models: Mapping[str, AnyPredictions],
    labels: AnyLabels,
    *,
    level: float = 0.95,
    joint: bool = False,
    judges: Mapping[str, AnyPredictions] | None = None,
    **options: Any,
) -> ModelEstimates:
    """`accuracies` of every model, by name; each from the labels of the items that it was asked about.

    Of several models also ``assisted``, with the votes of all as side information (`assist`); with
    `judges` also ``judged`` (`judge_models`).

    Parameters
    ----------
    joint
        Whether the intervals of all models are to hold together with probability `level`: each is then
        made at ``level ** (1 / M)`` (Šidák 1967, JASA 62).
    judges
        Predictions of models that are asked how likely each option is, by name; they are not estimated.
    """
    check_mapping("models", models, "name to predictions")
    judges = judges or {}
    check_mapping("judges", judges, "name to predictions")
    number = len(models) if joint else 0
    columns, labels = align_pool([*models.values(), *judges.values()], labels)
    by_name = dict(zip(models, columns, strict=False))
    labels = replace(labels, models=tuple(by_name.values()))
    found = {
        name: accuracies(
            predictions, keep_predicted(labels, predictions), level=joint_level(level, number), **options
        )
        for name, predictions in by_name.items()
    }
    given: dict[str, Any] = {
        "strata": options.get("strata") is not None,
        "interval": options.get("interval"),
        "published": bool(options.get("published")),
    }
    if why := refuse_votes(labels, **given):
        found = withhold_assisted(len(models), labels, found, why)
    else:
        found = assist(by_name, labels, found, level=joint_level(level, number))
    if judges and (why := refuse_votes(labels, **given, what="a judge is")):
        found = withhold_judged(found, why)
    elif judges:
        asked = columns[len(models) :]
        found = judge_models(by_name, asked, labels, found, level=joint_level(level, number))
    joined = {name: mark_joint(made, level, number) for name, made in found.items()} if joint else found
    return ModelEstimates(joined)


def joint_level(level: float, models: int) -> float:
    """Level of each of so many intervals that hold together at `level`, see `model_accuracies`; 0: alone."""
    return level ** (1 / models) if models else level


def mark_joint(made: Estimates, level: float, models: int) -> Estimates:
    """Estimates of `joint_level` as those of the joint level; one for looking on has a level of its own."""
    note = Note(NoteKind.JOINT, {"models": models})
    return Estimates(
        {
            name: replace(e, level=level, notes=(*e.notes, note))
            for name, e in made.items()
            if name != "anytime"
        },
        made.undefined,
    )


def keep_predicted(labels: LabelColumns, predictions: PredictionColumns) -> LabelColumns:
    """The labels of items that have a prediction, with their design: a run under way has fewer items."""
    kept = predictions.is_there[labels.item]
    return labels if kept.all() else labels.take(np.flatnonzero(kept))


def _try(name: str, predictions: PredictionColumns, labels: LabelColumns, **options: Any) -> Estimates:
    try:
        return Estimates({name: accuracy(predictions, labels, **options)}, {})
    except EstimateError as error:
        return Estimates({}, {name: str(error)})
