"""Whether the models of a study reach a bar: the gate that `oversight gate` is.

A verdict needs more than its test: a run that is finished, calls that did not fail, checks of the
assumptions that do not speak against the answers. Where one is missing it is undecided, never pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from oversight.harness.analysis.chosen_runs import find_newest_runs
from oversight.harness.analysis.collected_labels import count_pool, doubt_repeated, study_labels, unused_text
from oversight.harness.analysis.controls import (
    describe_rates,
    doubt_answers,
    find_rates,
    read_control_answers,
)
from oversight.harness.analysis.gate.bars import Bars, GateCheck, GateReport
from oversight.harness.analysis.gate.doubts import find_doubts, name_unused, write_remarks
from oversight.harness.analysis.looks import check_look, note_look
from oversight.harness.analysis.options import refuse_panel
from oversight.harness.columns import ItemIndex, LabelColumns, PredictionColumns
from oversight.harness.config import Study
from oversight.harness.errors import BadInput, EstimateError
from oversight.harness.estimate import (
    ANY_TIME,
    ErrorRanges,
    GateVerdict,
    check_level,
    gate_accuracy,
    gate_at_look,
    gate_difference,
    obrien_fleming_level,
)
from oversight.harness.output import pool_text
from oversight.harness.store import PlannedLook, Store


def gate_study(
    study: Study, bars: Bars, *, names: Sequence[str] | None = None, level: float | None = None
) -> GateReport:
    """Hold the newest runs of models against bars.

    Parameters
    ----------
    names
        Models; None for the only one that is not the baseline.

    Raises
    ------
    BadInput
        If a bar is none, models were not run, there are several and none is named, or a look is not the next
        one of its plan.
    """
    bars.check()
    level = study.estimate.level if level is None else level
    check_level(level)
    if bars.look is not None:
        obrien_fleming_level(*bars.look, level)  # which refuses a look beyond its plan
    refuse_panel(study, "gate")
    with Store(study.store_url) as store:
        index = store.columns.read_index()
        models = _read_models(store, index, bars.baseline, names, study.judges)
        labels = replace(study_labels(study, store, index), models=_add_others(store, index, models, study))
        drawn = len(labels.drawn or ())
        look = None
        if bars.look is not None:
            look = PlannedLook(look=bars.look[0], looks=bars.look[1], answered=len(labels), drawn=drawn)
            check_look(study, store, look)
        pool = count_pool(labels)
        drawn_items = [pool_text(*pool)] if pool else []
        if second := len(store.content.read_questions(second=True)):
            drawn_items.append(unused_text(second))
        answers = read_control_answers(store)
        doubt = doubt_answers(study, answers)
        errors = find_rates(study, answers) if doubt and not labels.is_resolved else None
        baseline = {} if bars.baseline is None else {bars.baseline: models.pop(bars.baseline)}
        checks = [
            check
            for name, predictions in models.items()
            for check in _hold_against(bars, {name: predictions}, baseline, labels, (level, errors))
        ]
        if doubt and errors is None:
            checks = [_withhold(check, f"{doubt}; no gold and no ranges tell how often") for check in checks]
        elif errors is not None:
            told = f"experts' errors are allowed for, {describe_rates(errors)}"
            checks = [replace(check, remarks=[*check.remarks, told]) for check in checks]
        if repeated := doubt_repeated(study, store, labels):
            checks = [_withhold(check, repeated) for check in checks]
        if look is not None and any(np.isfinite(check.verdict.value) for check in checks):
            note_look(store, look)
    return GateReport(
        study=study.study.name,
        level=level,
        checks=[
            replace(check, remarks=[*check.remarks, *drawn_items, *name_unused(study)]) for check in checks
        ],
        questions={"drawn": drawn, "answered": len(labels)},
    )


def _read_models(
    store: Store,
    index: ItemIndex,
    baseline: str | None,
    names: Sequence[str] | None,
    judges: Sequence[str],
) -> dict[str, PredictionColumns]:
    """The models asked for, and the baseline."""
    if names is None:
        there = [run["name"] for run in find_newest_runs(store, None, judges).runs]
        others = [name for name in there if name != baseline]
        if len(others) != 1:
            raise BadInput(
                f"which model? there are {', '.join(map(repr, others))}: name one with --model"
                if others
                else f"there is no model besides the baseline {baseline!r}; see: oversight run --help"
            )
        names = others
    if baseline in names:
        raise BadInput(f"--model {baseline}: the baseline cannot be compared with itself")
    wanted = list(dict.fromkeys([*names, *([] if baseline is None else [baseline])]))
    runs = find_newest_runs(store, wanted).runs
    return {run["name"]: store.run_columns.read_run(run["id"], index).predictions for run in runs}


def _add_others(
    store: Store, index: ItemIndex, models: Mapping[str, PredictionColumns], study: Study
) -> tuple[PredictionColumns, ...]:
    """The models, followed by all others of the study, which the checks hold answers against."""
    others = [run for run in find_newest_runs(store, None, study.judges).runs if run["name"] not in models]
    return (
        *models.values(),
        *(store.run_columns.read_run(run["id"], index).predictions for run in others),
    )


def _hold_against(
    bars: Bars,
    model: Mapping[str, PredictionColumns],
    baseline: Mapping[str, PredictionColumns],
    labels: LabelColumns,
    trust: tuple[float, ErrorRanges | None],
) -> list[GateCheck]:
    """Every bar for one model, at a level and with what is known of experts' errors."""
    found = []
    if bars.at_least is not None:
        found.append(_hold(bars, model, bars.at_least, labels, trust))
    if bars.margin is not None:
        found.append(_hold(bars, {**model, **baseline}, -bars.margin, labels, trust))
    return found


def _hold(
    bars: Bars,
    models: Mapping[str, PredictionColumns],
    bar: float,
    labels: LabelColumns,
    trust: tuple[float, ErrorRanges | None],
) -> GateCheck:
    """One bar for one model, or for a model and its baseline."""
    level, errors = trust
    names, columns = list(models), list(models.values())
    try:
        if bars.look is not None:
            verdict = gate_at_look(models, labels, bar, look=bars.look, level=level, errors=errors)
        elif len(columns) == 1:
            verdict = gate_accuracy(columns[0], labels, bar, level=level, errors=errors)
        else:
            verdict = gate_difference(columns[0], columns[1], labels, bar, level=level, errors=errors)
    except EstimateError as error:
        why = str(error) if len(labels) else "there are no answers yet; see: oversight label --help"
        verdict = GateVerdict.open_at(bar, level, method=ANY_TIME).withheld(why)
    doubts = [
        why
        for name, one in models.items()
        for why in find_doubts(name, one, labels, allows_errors=errors is not None)
    ]
    return GateCheck(
        model=names[0],
        baseline="".join(names[1:]),
        verdict=verdict.withheld("; ".join(doubts)) if doubts else verdict,
        remarks=write_remarks(models, labels),
    )


def _withhold(check: GateCheck, why: str) -> GateCheck:
    """The check, undecided for this reason and those before."""
    return replace(check, verdict=check.verdict.withheld("; ".join(filter(None, [check.verdict.why, why]))))
