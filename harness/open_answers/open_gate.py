"""Compare the models of a study of open answers with bars, for `oversight gate`.

Without a planned analysis, the interval is that of
`oversight.harness.open_answers.intervals.betting_sequence`, which is valid however often the gate runs. A
missing judgement counts against the verdict. A verdict is withheld if a model's answers have changed since
the questions were drawn, or if many of its answers did not exist at that time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from oversight.harness.analysis import (
    Bars,
    GateCheck,
    GateReport,
    check_look,
    name_gated,
    note_look,
    study_items,
)
from oversight.harness.config import Study
from oversight.harness.errors import BadInput
from oversight.harness.estimate import (
    ANY_TIME,
    WORST_CASE,
    GateVerdict,
    check_level,
    judge_interval,
    obrien_fleming_level,
)
from oversight.harness.open_answers.estimates import SCORE, OpenEstimate, OpenResult, estimate_open
from oversight.harness.open_answers.judged_study import JudgedStudy, read_judged
from oversight.harness.output import counted, did_you_mean
from oversight.harness.store import PlannedLook, Store

_MANY_MISSING = 0.02
"""Largest share of items without an answer of a model for which a verdict is given."""


def gate_open_study(study: Study, bars: Bars, *, names: Sequence[str] | None = None) -> GateReport:
    """Compare the mean scores of models with bars.

    Parameters
    ----------
    names
        Models to compare; None for the only model besides the baseline.

    Raises
    ------
    BadInput
        If a bar is invalid, no question was drawn, a named model has no answers, several models have answers
        but none is named, or the planned analysis in `bars` is not the next one.
    """
    bars.check()
    level = study.estimate.level
    check_level(level)
    now = level if bars.look is None else obrien_fleming_level(*bars.look, level)
    with Store(study.store_url) as store:
        judged = read_judged(study, store)
        chosen = name_gated(judged.frame.models, bars.baseline, names)
        for name in chosen:
            if name not in judged.frame.models:
                hint = did_you_mean(name, judged.frame.models)
                raise BadInput(f"no answer of the model {name!r} was drawn{hint}")
        questions = {"drawn": judged.put, "answered": judged.answered}
        look = None
        if bars.look is not None:
            look = PlannedLook(look=bars.look[0], looks=bars.look[1], **questions)
            check_look(store, look)
        result = estimate_open(
            judged.judgements,
            experts=judged.experts,
            level=now,
            metrics=(SCORE,),
            by_field=False,
            judge=None if look is None else judged.judge,
            cluster=judged.clusters,
            anytime=look is None,
            widest=math.inf,
            doubt=judged.repeated,
        )
        method = "" if look is None else f"look {look.look} of {look.looks}"
        items = len(study_items(study))
        checks = [
            _check(
                judged, items, judge_score(_find_score(result, name, other), bar, level, method), name, other
            )
            for name in chosen
            if name != bars.baseline
            for other, bar in _list_bars(bars)
        ]
        if look is not None and any(math.isfinite(check.verdict.value) for check in checks):
            note_look(store, look)
    return GateReport(study=study.study.name, level=level, checks=checks, questions=questions)


def _list_bars(bars: Bars) -> list[tuple[str, float]]:
    """Return a pair (baseline, bar) for each bar; the baseline is empty if the bar is for a score."""
    alone = [] if bars.at_least is None else [("", bars.at_least)]
    return alone if bars.margin is None else [*alone, (bars.baseline or "", -bars.margin)]


def _find_score(result: OpenResult, model: str, other: str) -> OpenEstimate:
    """Return the estimate of a model's score or, if `other` is given, of the difference model − other."""
    for estimate in result.estimates:
        if (estimate.model, estimate.other or "") == (model, other):
            return estimate
    turned = result.find_estimate(SCORE, other, other=model)
    if turned.value is None or turned.low is None or turned.high is None:
        return turned
    return replace(turned, value=-turned.value, low=-turned.high, high=-turned.low)


def judge_score(found: OpenEstimate, bar: float, level: float, method: str = "") -> GateVerdict:
    """Decide whether a score, or a difference, is at least a bar.

    Parameters
    ----------
    found
        Estimate whose interval allows for missing judgements: from `estimate_open` with ``widest=math.inf``.
    level
        Level of the verdict. The interval of `found` can have a higher level if the analysis is planned.
    method
        Text that names the planned analysis; empty for an interval that is valid at any time.

    Examples
    --------
    >>> found = OpenEstimate(
    ...     metric="score", model="m", value=0.9, low=0.85, high=0.94, worst_low=0.85, worst_high=0.94,
    ...     level=0.95, items=60, judged=120, missing=0, method="anytime",
    ... )
    >>> judge_score(found, 0.8, 0.95).verdict, judge_score(found, 0.92, 0.95).verdict
    ('pass', 'undecided')
    """
    known = GateVerdict(
        bar=bar,
        level=level,
        method=method or (WORST_CASE if found.missing else ANY_TIME),
        answers=found.judged,
        open_questions=found.missing,
    )
    if found.value is None or found.low is None or found.high is None:
        return known.withheld(found.withheld)
    told = replace(known, value=found.value, low=found.low, high=found.high, why=found.why)
    return judge_interval(told, found.level)


def _check(judged: JudgedStudy, items: int, verdict: GateVerdict, model: str, baseline: str) -> GateCheck:
    """Add remarks to a verdict, and withhold it if the judged answers are outdated or incomplete."""
    answers = Counter(answer.model for answer in judged.frame.answers)
    whys = list[str]()
    for name in filter(None, [model, baseline]):
        whys += filter(None, [judged.later.get(name)])
        if (lacking := items - answers[name]) > _MANY_MISSING * items:
            whys.append(
                f"{lacking} of {counted(items, 'item')} had no answer of {name!r} when questions were drawn, "
                "and the items left out may be the hard ones; start a new study with all answers"
            )
    waiting = verdict.open_questions
    told = f"{counted(waiting, 'question')} without a yes or no, each counted in the less favourable way"
    return GateCheck(
        model=model,
        baseline=baseline,
        verdict=verdict.withheld("; ".join(filter(None, [verdict.why, *whys]))) if whys else verdict,
        remarks=[told] if waiting else [],
        quantity="score",
    )
