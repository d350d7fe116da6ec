"""Decide whether the models of a study reach required bars, for `oversight gate`.

A passed test is not enough for a pass: the run must also be finished with at most a few failed calls, and the
answers must not contradict the test's assumptions. If one of these conditions does not hold, the verdict is
undecided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from oversight.harness.analysis.opened_study import (
    OpenStudy,
    check_look,
    describe_rates,
    note_look,
    refuse_panel,
)
from oversight.harness.columns import ABSTAINED, LabelColumns, PredictionColumns
from oversight.harness.config import Study
from oversight.harness.errors import BadInput, EstimateError
from oversight.harness.estimate import (
    ANY_TIME,
    FAIL,
    PASS,
    UNDECIDED,
    ErrorRanges,
    GateVerdict,
    check_level,
    collected_part,
    explain_failed_calls,
    explain_failures,
    gate_accuracy,
    gate_at_look,
    gate_difference,
    obrien_fleming_level,
)
from oversight.harness.output import pool_text
from oversight.harness.store import PlannedLook, Store
from oversight.harness.types import Displayable, HtmlTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Requirements (bars) that models must reach.

    Attributes
    ----------
    at_least
        Required accuracy, in (0, 1); None for no such bar.
    baseline, margin
        A model, and how far the tested model's accuracy may be below that model's, in (0, 1); both None for
        no such bar.
    look
        (J, L), if the gate is the J-th of L planned interim analyses; None for a gate that is valid at any
        time.

    Examples
    --------
    >>> Bars(at_least=1.5).check()
    Traceback (most recent call last):
        ...
    oversight.harness.errors.BadInput: --at-least: must lie between 0 and 1, such as 0.8 for ...
    """

    at_least: float | None = None
    baseline: str | None = None
    margin: float | None = None
    look: tuple[int, int] | None = None

    def check(self) -> None:
        """Raise BadInput for invalid bars."""
        if self.at_least is None and self.baseline is None:
            raise BadInput("a gate needs a bar: give --at-least, or --not-worse-than and --margin")
        if (self.baseline is None) != (self.margin is None):
            raise BadInput(
                "--not-worse-than and --margin must be given together; the margin is the largest accepted "
                "loss"
            )
        for name, value in (("--at-least", self.at_least), ("--margin", self.margin)):
            if value is not None and not 0 < value < 1:
                raise BadInput(f"{name}: must lie between 0 and 1, such as 0.8 for 80 %, is {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck:
    """One bar for one model, with the verdict.

    Attributes
    ----------
    baseline
        Model with which the tested model is compared; empty if the bar is an accuracy.
    remarks
        Sentences about left-out items, abstentions and settings.
    quantity
        Name of the quantity that must be at least the bar.
    """

    model: str
    baseline: str
    verdict: GateVerdict
    remarks: Sequence[str] = ()
    quantity: str = "accuracy"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GateReport(Displayable):
    """Verdicts on every bar for every model.

    Attributes
    ----------
    level
        Confidence level: each verdict is wrong with probability at most 1 − level.
    questions
        ``drawn`` and ``answered``: numbers of questions.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> gate_study(read_study("study.toml"), Bars(at_least=0.5), names=["quick"]).verdict
    'undecided'
    """

    study: str
    level: float
    checks: Sequence[GateCheck]
    questions: Mapping[str, int]

    picture: ClassVar[str] = "gate"

    def __str__(self) -> str:
        """Return the overall verdict, then one line per bar."""
        lines = [
            f"{check.model} {check.baseline and f'− {check.baseline} '}{check.verdict}"
            for check in self.checks
        ]
        return "\n".join([self.verdict, *lines])

    def records(self) -> list[dict[str, Any]]:
        """Return one row per bar."""
        return [
            {"model": check.model, "baseline": check.baseline} | check.verdict.records()[0]
            for check in self.checks
        ]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the table shown in a notebook."""
        rows = [(check.model, check.baseline or "–", str(check.verdict)) for check in self.checks]
        remarks = dict.fromkeys(remark for check in self.checks for remark in check.remarks)
        return (HtmlTable(columns=("model", "against", "verdict"), rows=rows, notes=(*remarks,)),)

    @property
    def verdict(self) -> str:
        """Overall verdict: fail if any bar fails, pass if all bars pass, undecided in all other cases."""
        found = {check.verdict.verdict for check in self.checks}
        return next(word for word in (FAIL, UNDECIDED, PASS) if word in found)


def gate_study(study: Study, bars: Bars, *, names: Sequence[str] | None = None) -> GateReport:
    """Decide whether the newest runs of models reach the bars.

    Parameters
    ----------
    names
        Names of models; not needed if there is only one model besides the baseline.

    Raises
    ------
    BadInput
        If a bar is invalid, a named model was not run, several models were run but none is named, or the
        requested interim analysis is not the next one of the plan.

    Examples
    --------
    >>> from oversight.harness.config import read_study
    >>> report = gate_study(read_study("study.toml"), Bars(at_least=0.5), names=["quick"])
    >>> report.questions, report.verdict
    ({'drawn': 54, 'answered': 54}, 'undecided')
    """
    bars.check()
    level = study.estimate.level
    check_level(level)
    if bars.look is not None:
        obrien_fleming_level(*bars.look, level)  # raises an error after the last planned analysis
    refuse_panel(study, "gate")
    with Store(study.store_url) as store:
        opened = OpenStudy(study, store)
        models = opened.predict(opened.choose(name_gated(opened.choose().names, bars.baseline, names)))
        # the checks of assumptions use the predictions of all models of the study
        others = [name for name in opened.choose().names if name not in models]
        every = (*models.values(), *(opened.runs[name] for name in others))
        labels = replace(opened.labels, models=every)
        look = None
        if bars.look is not None:
            look = PlannedLook(look=bars.look[0], looks=bars.look[1], **opened.questions)
            check_look(store, look)
        errors = opened.rates if opened.doubt and not labels.is_resolved else None
        baseline = {} if bars.baseline is None else {bars.baseline: models.pop(bars.baseline)}
        whys = [*filter(None, [opened.repeated])]
        if opened.doubt and errors is None:
            known = "without gold items or ranges of error rates, this cannot be corrected"
            whys.insert(0, f"{opened.doubt}; {known}")
        checks = [
            _hold(
                bars, held, bar, labels, level, errors, [*whys, *filter(None, [opened.explain_choice(name)])]
            )
            for name, predictions in models.items()
            for held, bar in _pair(bars, {name: predictions}, baseline)
        ]
        if look is not None and any(np.isfinite(check.verdict.value) for check in checks):
            note_look(store, look)
        told = f"verdicts allow for experts' errors, {describe_rates(errors)}" if errors else ""
        drawn = pool_text(*opened.pool) if opened.pool else ""
        remarks = [*filter(None, [told, drawn, opened.tell_unused()]), *_name_unused(study)]
    return GateReport(
        study=study.study.name,
        level=level,
        checks=[replace(check, remarks=[*check.remarks, *remarks]) for check in checks],
        questions=opened.questions,
    )


def name_gated(models: Sequence[str], baseline: str | None, names: Sequence[str] | None) -> list[str]:
    """Return the names of the requested models, followed by that of the baseline.

    Parameters
    ----------
    models
        Models with answers.
    names
        Requested models; not needed if there is only one model besides the baseline.

    Raises
    ------
    BadInput
        If `names` contains the baseline. Without `names`, if there is not exactly one model besides the
        baseline.

    Examples
    --------
    >>> name_gated(["new", "old"], "old", None)
    ['new', 'old']
    """
    if names is None:
        names = [name for name in models if name != baseline]
        if len(names) != 1:
            raise BadInput(
                f"which model? there are {', '.join(map(repr, names))}: name one with --model"
                if names
                else f"there is no model besides the baseline {baseline!r}; see: oversight run --help"
            )
    if baseline in names:
        raise BadInput(f"--model {baseline}: the baseline cannot be compared with itself")
    return list(dict.fromkeys([*names, *([] if baseline is None else [baseline])]))


def _pair(
    bars: Bars, model: Mapping[str, PredictionColumns], baseline: Mapping[str, PredictionColumns]
) -> list[tuple[Mapping[str, PredictionColumns], float]]:
    """Return, for every bar, the predictions that its test needs, and the bar.

    An accuracy needs the predictions of `model`; a margin needs those of `model` and `baseline`.
    """
    alone = [] if bars.at_least is None else [(model, bars.at_least)]
    return alone if bars.margin is None else [*alone, ({**model, **baseline}, -bars.margin)]


def _hold(
    bars: Bars,
    models: Mapping[str, PredictionColumns],
    bar: float,
    labels: LabelColumns,
    level: float,
    errors: ErrorRanges | None,
    whys: Sequence[str],
) -> GateCheck:
    """Check one bar for one model, or for a model and its baseline.

    If there are reasons to doubt the estimates, the verdict is undecided and states the reasons. `whys` are
    reasons that the caller has found.
    """
    names, columns = list(models), list(models.values())
    try:
        if bars.look is not None:
            verdict = gate_at_look(models, labels, bar, look=bars.look, level=level, errors=errors)
        elif len(columns) == 1:
            verdict = gate_accuracy(columns[0], labels, bar, level=level, errors=errors, checks=False)
        else:
            first, second = columns
            verdict = gate_difference(first, second, labels, bar, level=level, errors=errors, checks=False)
    except EstimateError as error:
        verdict = GateVerdict(bar=bar, level=level, method=ANY_TIME).withheld(str(error))
    if not len(labels):
        verdict = verdict.withheld("there are no answers yet; see: oversight label --help")
    doubts = [
        why
        for name, one in models.items()
        for why in _find_doubts(name, one, labels, allows_errors=errors is not None)
    ]
    if doubts or whys:
        verdict = verdict.withheld("; ".join([*(doubts or filter(None, [verdict.why])), *whys]))
    return GateCheck(
        model=names[0],
        baseline="".join(names[1:]),
        verdict=verdict,
        remarks=_write_remarks(models, labels),
    )


def _find_doubts(
    name: str, predictions: PredictionColumns, labels: LabelColumns, *, allows_errors: bool
) -> list[str]:
    """Return the reasons why a verdict on this model, pass or fail, could not be trusted.

    Unanswered questions are not a reason, because the tests assume the worst possible answers.
    """
    doubts = [explain_failed_calls(predictions)]
    try:
        part = collected_part(labels, predictions.is_there)[0] if len(labels) else None
    except EstimateError:
        part = None
    if part is not None:
        doubts.append(explain_failures(predictions, part, corrected=allows_errors))
    return [f"{name!r}: {why}" for why in doubts if why]


def _write_remarks(models: Mapping[str, PredictionColumns], labels: LabelColumns) -> list[str]:
    """Return remarks on abstentions and on items left out."""
    remarks = []
    if silent := int(np.count_nonzero(labels.kind == ABSTAINED)):
        remarks.append(f"abstentions: {silent}, each counted in the less favourable way")
    for name, predictions in models.items():
        if failed := int(np.count_nonzero(predictions.has_failed)):
            remarks.append(f"items left out because every call of {name!r} failed: {failed}")
    return remarks


def _name_unused(study: Study) -> list[str]:
    """Name the settings of study.toml that a gate does not use, because its tests weight items equally."""
    section = study.estimate.model_dump(exclude={"level"}, exclude_defaults=True)
    return [
        f"estimate.{name} = {value!r} is not used: a gate compares all items together with its bar"
        for name, value in section.items()
    ]
