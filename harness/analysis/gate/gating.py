"""Whether the models of a study reach a bar: the gate that `oversight gate` is.

A verdict needs more than its test: a run that is finished, calls that did not fail, checks of the
assumptions that do not speak against the answers. Where one is missing it is undecided, never pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from oversight.harness.analysis.controls import describe_rates
from oversight.harness.analysis.gate.bars import Bars, GateCheck, GateReport
from oversight.harness.analysis.gate.doubts import find_doubts, name_unused, write_remarks
from oversight.harness.analysis.looks import check_look, note_look
from oversight.harness.analysis.opened_study import OpenStudy
from oversight.harness.columns import LabelColumns, PredictionColumns
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
    if study.experts.is_panel:
        raise BadInput("this study is a panel, which has no gate; see: oversight certify --help")
    with Store(study.store_url) as store:
        opened = OpenStudy(study, store)
        models = opened.predict(opened.choose(_name_models(opened, bars.baseline, names)))
        # the checks hold answers against all models of the study
        others = [name for name in opened.choose().names if name not in models]
        every = (*models.values(), *(opened.runs[name] for name in others))
        labels = replace(opened.labels, models=every)
        look = None
        if bars.look is not None:
            look = PlannedLook(look=bars.look[0], looks=bars.look[1], **opened.questions)
            check_look(study, store, look)
        errors = opened.rates if opened.doubt and not labels.is_resolved else None
        baseline = {} if bars.baseline is None else {bars.baseline: models.pop(bars.baseline)}
        checks = [
            check
            for name, predictions in models.items()
            for check in _hold_against(bars, {name: predictions}, baseline, labels, (level, errors))
        ]
        if opened.doubt and errors is None:
            why = f"{opened.doubt}; no gold and no ranges tell how often"
            checks = [_withhold(check, why) for check in checks]
        if opened.repeated:
            checks = [_withhold(check, opened.repeated) for check in checks]
        if look is not None and any(np.isfinite(check.verdict.value) for check in checks):
            note_look(store, look)
        told = f"experts' errors are allowed for, {describe_rates(errors)}" if errors else ""
        drawn = pool_text(*opened.pool) if opened.pool else ""
        remarks = [*filter(None, [told, drawn, opened.unused]), *name_unused(study)]
    return GateReport(
        study=study.study.name,
        level=level,
        checks=[replace(check, remarks=[*check.remarks, *remarks]) for check in checks],
        questions=opened.questions,
    )


def _name_models(opened: OpenStudy, baseline: str | None, names: Sequence[str] | None) -> list[str]:
    """Names of the models asked for, and of the baseline."""
    if names is None:
        names = [name for name in opened.choose().names if name != baseline]
        if len(names) != 1:
            raise BadInput(
                f"which model? there are {', '.join(map(repr, names))}: name one with --model"
                if names
                else f"there is no model besides the baseline {baseline!r}; see: oversight run --help"
            )
    if baseline in names:
        raise BadInput(f"--model {baseline}: the baseline cannot be compared with itself")
    return list(dict.fromkeys([*names, *([] if baseline is None else [baseline])]))


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
