"""Test whether a judge's calibration that was fitted on one study (source) holds on another (target).

The calibration is linear in the logits, logit P(yes) = α + β logit p, and is fitted to
the answers of the source. On the target, the gap is the mean of answer − calibrated
probability. One gap is computed for questions with low probabilities and one for those
with high probabilities, because a single gap could be near 0 although these two are not.
The calibration passes if the intervals of both gaps lie within ±margin. This is an
intersection–union test (Berger 1982, Technometrics 24), which needs no correction for two
tests. The calibration fails if one interval, with Bonferroni's correction, lies outside
±margin. In every other case the result is undecided, also if one of the two gaps has too
few answers. The fitted calibration is treated as fixed, because the question is whether
this calibration can be used.

A gap's interval encloses two intervals. Student's t interval of the gap is too short if
nearly all answers are the same. So the interval also encloses that of the share of
yes-answers (`weighted_share`), minus the mean calibrated probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit, ndtri, stdtrit

from oversight.harness.arrays import BoolArray, FloatArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import FAIL, PASS, UNDECIDED, effective_clusters
from oversight.harness.judges.probabilities import JudgeProbabilities
from oversight.harness.judges.questions import JudgedQuestions
from oversight.harness.judges.shares import Measure, deviation_of_mean, weighted_share

LEAST_ANSWERS = 30
"""Smallest number of answers in the source, and in each part of the target, for a decision."""
MOST_QUESTIONS = 100_000
"""Largest number of further questions that is reported."""
_POWER = 0.8
_LEAST = 1e-3
"""Probabilities are clipped to [_LEAST, 1 − _LEAST] before logits are taken."""
_SLOPE_SPREAD = 2.0
_STEPS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Calibration logit P(yes) = intercept + slope · logit p, fitted to n answers.

    Examples
    --------
    >>> Calibration(intercept=0.0, slope=0.5, n=100).apply(np.array([0.9, 0.5])).round(2).tolist()
    [0.75, 0.5]
    """

    intercept: float
    slope: float
    n: int

    def apply(self, p: FloatArray) -> FloatArray:
        """Return calibrated probabilities, same shape as `p`."""
        found: FloatArray = expit(self.intercept + self.slope * _logit(p))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportPart:
    """Questions of the target whose calibrated probabilities lie between `start` and `end`.

    Attributes
    ----------
    gap
        Mean of answer − calibrated probability; positive if calibrated probabilities are too low.
    """

    start: float
    end: float
    gap: Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """Result of the test whether a calibration holds on the target.

    Attributes
    ----------
    group
        Group of items of the target; empty if all items are tested.
    judge
        Name of the judge.
    verdict
        ``"pass"``, ``"fail"`` or ``"undecided"``.
    margin
        Largest true gap at which a calibration is still good enough.
    parts
        Gaps for low and for high probabilities; empty if either has fewer than 30 answers.
    calibration
        Calibration fitted on the source; None if the source has too few answers.
    further
        Number of further questions on the target after which the verdict would be pass or
        fail with probability 80 %, if the true gaps equal the estimated ones. Without
        parts, it is the number of further questions that would give both parts enough
        answers. It is 0 after a pass or fail, and None if it is unknown or more than
        `MOST_QUESTIONS`.
    why
        Reason why the verdict is undecided; empty after a pass or fail.
    missing
        Number of questions without a yes or no, if their answers could change the
        verdict, which is then "undecided"; otherwise 0.
    """

    group: str = ""
    judge: str
    verdict: str = UNDECIDED
    margin: float
    parts: Sequence[TransportPart] = ()
    calibration: Calibration | None = None
    further: int | None = None
    why: str = ""
    missing: int = 0


def calibrate(judge: JudgeProbabilities, questions: JudgedQuestions) -> Calibration:
    """Fit a judge's calibration to answered questions.

    Raises
    ------
    EstimateError
        If fewer than 30 answers are about items that the judge judged.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judge
    >>> p, judge, asked = example_judge()
    >>> found = calibrate(judge, asked)
    >>> print(f"{found.intercept:.2f} + {found.slope:.2f} logit p")
    0.00 + 1.09 logit p
    """
    mine = questions.take(judge.speaks[questions.item])
    if len(mine) < LEAST_ANSWERS:
        raise EstimateError(f"a calibration needs at least {LEAST_ANSWERS} answers, there are {len(mine)}")
    x = np.column_stack([np.ones(len(mine)), _logit(judge.p[mine.item, mine.option])])
    weight = mine.weight / mine.weight.mean()
    center, precision = np.array([0.0, 1.0]), np.full(2, _SLOPE_SPREAD**-2.0)
    theta = center.copy()
    for _ in range(_STEPS):
        p = expit(x @ theta)
        gradient = x.T @ (weight * (mine.answer - p)) - precision * (theta - center)
        step = np.linalg.solve((x * (weight * p * (1 - p))[:, None]).T @ x + np.diag(precision), gradient)
        theta = theta + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-9:
            break
    return Calibration(intercept=float(theta[0]), slope=float(theta[1]), n=len(mine))


def check_transport(
    name: str,
    judge: JudgeProbabilities,
    calibration: Calibration,
    questions: JudgedQuestions,
    *,
    margin: float = 0.1,
    level: float = 0.95,
) -> Transport:
    """Test whether a judge's calibration still holds on a target: items on which it was not fitted.

    Parameters
    ----------
    name
        Name of the judge.
    judge
        The judge's probabilities for the target's items.
    calibration
        Calibration fitted on the source.
    questions
        Answered questions of the target.
    margin
        Largest true gap at which the calibration is still good enough, in (0, 1).
    level
        Confidence level. A calibration with a gap of at least the margin passes with
        probability at most (1 − level)/2.

    Examples
    --------
    >>> from oversight.harness.example_data import example_judge
    >>> p, judge, asked = example_judge()
    >>> check_transport("judge", judge, calibrate(judge, asked), asked, margin=0.2).verdict
    'pass'
    """
    if not 0 < margin < 1:
        raise EstimateError(f"margin must lie between 0 and 1, is {margin}")
    mine = questions.take(judge.speaks[questions.item])
    f = calibration.apply(judge.p[mine.item, mine.option])
    low = _low_half(f)
    found = Transport(judge=name, margin=margin, calibration=calibration)
    number = int(low.sum()), int((~low).sum())
    if min(number) < LEAST_ANSWERS:
        told = (
            f"{number[0]} answers on the target about low probabilities and {number[1]} about high ones, "
            f"at least {LEAST_ANSWERS} of both are needed"
        )
        return replace(found, further=_until_enough(*number), why=told)
    wide = 1 - (1 - level) / 2  # Bonferroni's correction for two gaps
    parts, fails = [], []
    for mask in (low, ~low):
        here = mine.take(mask)
        gap = _measure_gap(here, f[mask], level)
        parts.append(TransportPart(start=float(f[mask].min()), end=float(f[mask].max()), gap=gap))
        fails.append(_ends(_measure_gap(here, f[mask], wide)))
    verdict = _decide(parts, fails, margin)
    if verdict == UNDECIDED:
        why = "at least one gap's interval crosses the margin, and no gap's interval lies wholly beyond it"
        return replace(found, parts=parts, further=_further(len(mine), parts, margin, level), why=why)
    return replace(found, verdict=verdict, parts=parts, further=0)


def _logit(p: FloatArray) -> FloatArray:
    found: FloatArray = logit(np.clip(p, _LEAST, 1 - _LEAST))
    return found


def _low_half(f: FloatArray) -> BoolArray:
    """Return a mask of the lower half of the probabilities; equal probabilities stay together."""
    values, number = np.unique(f, return_counts=True)
    below = np.cumsum(number)[:-1]
    cut = values[int(np.argmin(np.abs(below - len(f) / 2)))] if below.size else 1.0
    return np.asarray(f <= cut, dtype=np.bool_)


def _until_enough(low: int, high: int) -> int | None:
    """Return how many further questions are needed until each part has `LEAST_ANSWERS` answers.

    The two parts are assumed to keep their present shares of the answers. None if more than `MOST_QUESTIONS`
    are needed.
    """
    needed = LEAST_ANSWERS * (low + high) / max(min(low, high), 1e-9) - (low + high)
    return int(np.ceil(needed)) if needed <= MOST_QUESTIONS else None


def _measure_gap(part: JudgedQuestions, f: FloatArray, level: float) -> Measure:
    residual = part.answer - f
    gap, stated = (float(np.average(x, weights=part.weight)) for x in (residual, f))
    _, cluster = np.unique(part.cluster, return_inverse=True)
    freedom = max(1.0, effective_clusters(cluster, part.weight) - 1)
    half = float(stdtrit(freedom, 0.5 + level / 2)) * deviation_of_mean(residual, part.weight, cluster)
    low, high = _ends(weighted_share(part.answer, part.weight, cluster, level))
    low, high = min(gap - half, low - stated), max(gap + half, high - stated)
    return Measure(value=gap, low=max(-1.0, low), high=min(1.0, high), n=len(part))


def _ends(measure: Measure) -> tuple[float, float]:
    if measure.low is None or measure.high is None:
        return -1.0, 1.0
    return measure.low, measure.high


def _decide(parts: Sequence[TransportPart], wide: Sequence[tuple[float, float]], margin: float) -> str:
    """Return the verdict; `wide` holds the gaps' intervals with Bonferroni's correction."""
    if all(-margin < low <= high < margin for low, high in (_ends(part.gap) for part in parts)):
        return PASS
    if any(low > margin or high < -margin for low, high in wide):
        return FAIL
    return UNDECIDED


def _corrected(level: float, parts: int) -> float:
    return float(ndtri(1 - (1 - level) / (2 * parts)))


def _further(n: int, parts: Sequence[TransportPart], margin: float, level: float) -> int | None:
    """Return how many further questions lead to pass or fail with probability 80 %.

    None if there are more than `MOST_QUESTIONS`.
    """
    power = float(ndtri(_POWER))
    once, corrected = _corrected(level, 1), _corrected(level, len(parts))
    gaps = [abs(part.gap.value or 0.0) for part in parts]
    spreads = [(high - low) / (2 * once) for low, high in (_ends(part.gap) for part in parts)]

    def total(gap: float, spread: float, z: float) -> float:
        return n * ((z + power) * spread / max(abs(margin - gap), 1e-9)) ** 2

    to_pass = (
        max(total(gap, spread, once) for gap, spread in zip(gaps, spreads, strict=True))
        if max(gaps) < margin
        else np.inf
    )
    to_fail = min(
        (total(g, s, corrected) for g, s in zip(gaps, spreads, strict=True) if g > margin), default=np.inf
    )
    needed = min(to_pass, to_fail) - n
    return max(1, int(np.ceil(needed))) if needed <= MOST_QUESTIONS else None
