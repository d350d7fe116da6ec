"""The verdict of a gate: pass, fail or undecided, with what it rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import check_level
from oversight.harness.estimate.planning import outcomes_to_settle

PASS, FAIL, UNDECIDED = "pass", "fail", "undecided"
ANY_TIME, WORST_CASE = "any time", "worst case"
EITHER_SIDE = "the answers fit a value on either side of the bar"
_FARTHEST = 1_000_000
"""Answers beyond which a forecast says nothing but "very many"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """On which side of a bar a model's accuracy, or its difference to another's, lies.

    Attributes
    ----------
    verdict
        ``"pass"``: the quantity is at least the bar. ``"fail"``: it is not. ``"undecided"``: the answers do
        not tell, or may not be trusted; `why` says so.
    value
        Mean of the outcomes that are bet on; NaN without any. It is unbiased, but its weights follow from the
        bar (`outcomes`): it differs a little from bar to bar and from `oversight.harness.accuracy`, which
        gives the number to quote. Where items are asked about until resolved, it is the mean of those
        resolved; at a look, it is the estimate.
    bar
        What it must reach.
    level
        Each verdict is wrong with probability at most 1 − level, at any value of the quantity.
    p_below, p_above
        How far the answers speak against a quantity below the bar, and above: p-values, valid at all looks
        if `method` says so. A verdict needs at most 1 − level. NaN where an interval decided.
    method
        ``"any time"``: may be looked at after every answer. ``"worst case"``: the same, unknown items counted
        for the other side. ``"look J of L"``: valid as that look alone.
    answers, open_questions
        Answers that count by now, and questions without one.
    low, high
        Interval of the look; NaN where bets or exact tails decided.
    further
        A forecast: answers that would settle it in four of five studies like this one, if the quantity is as
        estimated; None where it is settled, or no number up to a million is enough.
    why
        Why it is undecided; empty where it is not.
    either_side
        Whether it is undecided only because the answers fit a value on either side of the bar.
    """

    verdict: str
    value: float
    bar: float
    level: float
    p_below: float
    p_above: float
    method: str
    answers: int
    open_questions: int
    low: float = math.nan
    high: float = math.nan
    further: int | None = None
    why: str = ""
    either_side: bool = False

    @classmethod
    def open_at(cls, bar: float, level: float, *, method: str, open_questions: int = 0) -> GateVerdict:
        """Undecided, before anything is known."""
        return cls(
            verdict=UNDECIDED,
            value=math.nan,
            bar=bar,
            level=level,
            p_below=1.0,
            p_above=1.0,
            method=method,
            answers=0,
            open_questions=open_questions,
        )

    @property
    def decided(self) -> bool:
        """Whether it is pass or fail."""
        return self.verdict != UNDECIDED

    def withheld(self, why: str) -> GateVerdict:
        """The same, undecided for this reason."""
        return replace(self, verdict=UNDECIDED, why=why, further=None, either_side=False)


def judge(
    known: GateVerdict, p_below: float, p_above: float, *, spread: tuple[float, float], per_answer: float
) -> GateVerdict:
    """Verdict from both p-values.

    Parameters
    ----------
    known
        What else there is to say.
    spread
        Mean and second moment of outcomes minus the bar, for the forecast.
    per_answer
        Outcomes an answer brings.
    """
    known = replace(known, p_below=p_below, p_above=p_above)
    if p_below <= 1 - known.level:
        return replace(known, verdict=PASS)
    if p_above <= 1 - known.level:
        return replace(known, verdict=FAIL)
    need = outcomes_to_settle(*spread, level=known.level) / max(per_answer, 1e-9)
    further = further_answers(need, known.answers)
    return replace(known, further=further, why=EITHER_SIDE, either_side=True)


def further_answers(need: float, answers: int) -> int | None:
    """Answers still missing to a number needed, at least one; None beyond a million."""
    return None if not need <= _FARTHEST else max(1, math.ceil(need - answers))


def check_bar(bar: float, low: float, high: float, level: float) -> None:
    """Require a bar strictly between two ends, and a level. Raises EstimateError."""
    check_level(level)
    if not low < bar < high:
        raise EstimateError(f"the bar must lie in ({low:g}, {high:g}), is {bar!r}")
