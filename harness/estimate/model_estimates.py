"""All estimates of a model, and of several models, by name; with the reason where one is withheld."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from oversight.harness.columns import (
    AnyLabels,
    AnyPredictions,
    LabelColumns,
    PredictionColumns,
    align,
    align_pool,
    keep_drawn,
    keep_predicted,
)
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.collected import collected_part
from oversight.harness.estimate.core import check_level
from oversight.harness.estimate.estimators import POINTS
from oversight.harness.estimate.evaluation import Evaluation
from oversight.harness.estimate.intervals import check_method
from oversight.harness.estimate.judged import Judges
from oversight.harness.estimate.routed import GoldCounts
from oversight.harness.estimate.side_information import (
    Setting,
    SideInformation,
    Votes,
    add_side_information,
)
from oversight.harness.estimate.tallies import Estimates, ModelEstimates, Strata, find_strata, tally_pool
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
    shown: dict[str, Any] = {"interval": interval, "level": level, "published": published, "strata": strata}
    wanted: dict[str, dict[str, Any]] = {main: shown}
    if main == "ml" and labels.cluster is None:
        shown |= {"strata": find_strata(predictions, part, strata)}
        wanted = {name: {"estimator": name, **shown} for name in POINTS}
        _check_uniform(predictions, part, shown)
    if anytime is not None:
        wanted["anytime"] = {"level": anytime, "interval": "anytime"}
    if gold is not None:
        wanted["corrected"] = {"level": level, "gold": gold}
    found, undefined = dict[str, Estimate](), dict[str, str]()
    for name, options in wanted.items():
        try:
            found[name] = Evaluation(predictions=predictions, labels=labels, **options).estimate(part, notes)
        except EstimateError as error:
            undefined[name] = str(error)
    if POINTS.keys() <= undefined.keys():
        raise EstimateError(f"no estimator is defined: {undefined['ml']}")
    if main in found:
        bounded = Evaluation(predictions=predictions, labels=labels, **wanted[main]).worst_case(part, notes)
        found |= {} if bounded is None else {"worst_case": bounded}
    return Estimates(found, undefined)


def _check_uniform(predictions: PredictionColumns, labels: LabelColumns, options: Mapping[str, Any]) -> None:
    """Refuse, for all estimators at once, a level or an interval that is none, and contradictory labels."""
    check_level(options["level"])
    if options["interval"] is not None:
        check_method(options["interval"])
    tally_pool(predictions, labels, options["strata"])


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

    Of several models also ``assisted``, with the votes of all as side information (`Votes`); with `judges`
    also ``judged`` (`Judges`).

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
    columns, labels = align_pool([*models.values(), *judges.values()], labels)
    by_name = dict(zip(models, columns, strict=False))
    kinds: list[SideInformation] = [Votes(by_name)]
    if judges:
        kinds.append(Judges(by_name, columns[len(models) :]))
    return estimate_models(by_name, labels, kinds, level=level, joint=joint, **options)


def estimate_models(
    models: Mapping[str, PredictionColumns],
    labels: LabelColumns,
    kinds: Sequence[SideInformation] = (),
    *,
    level: float = 0.95,
    joint: bool = False,
    failures: dict[str, str] | None = None,
    progress: Callable[[Sequence[str]], Iterable[str]] = iter,
    **options: Any,
) -> ModelEstimates:
    """All estimates of all models, with side information: what every command, page and search calls.

    Parameters
    ----------
    models, labels
        Over one index of items. Predictions may be of a whole pool from which the labelled items were drawn.
    kinds
        Side information that each adds an estimate beside the protocol's own.
    level, joint
        As in `model_accuracies`.
    failures
        Receives the reason for each model whose labels cannot be used, which then has no estimate; without
        it the reason is raised.
    progress
        Wraps the names of the models as they are estimated, to show a bar.
    options
        Further options of `accuracies`.

    Raises
    ------
    EstimateError
        As `accuracies`, without `failures`.
    """
    number = len(models) if joint else 0
    each = joint_level(level, number)
    main = main_estimator(labels)
    labels = replace(labels, models=tuple(keep_drawn(one, labels) for one in models.values()))
    found = dict[str, Estimates]()
    for name in progress(list(models)):
        drawn = keep_drawn(models[name], labels)
        try:
            found[name] = accuracies(drawn, keep_predicted(labels, drawn), level=each, **options)
        except EstimateError as error:
            if failures is None:
                raise
            failures[name] = str(error)
    setting = Setting(
        labels=labels,
        level=each,
        strata=options.get("strata"),
        interval=options.get("interval"),
        published=bool(options.get("published")),
    )
    found = add_side_information(found, kinds, setting)
    for name, why in (failures or {}).items():
        found[name] = Estimates({}, {main: why})
    if joint:
        found = {name: mark_joint(made, level, number) for name, made in found.items()}
    return ModelEstimates({name: found[name] for name in models})


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
