"""How many questions a half-width takes, and the row of a plan that says so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from oversight.harness.arrays import FloatArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.core import find_root, z_value
from oversight.harness.estimate.judged import split_items_evenly
from oversight.harness.estimate.planning.pilot_answers import PilotAnswers, PilotStudy
from oversight.harness.estimate.planning.side_variances import (
    JUDGE,
    NONE,
    PARTS,
    POOL,
    POOL_JUDGE,
    VOTES,
    ItemVariance,
    SideVariances,
    side_variances,
)
from oversight.harness.estimate.routed import t_quantile

_GROUPS, _LEAST_GROUPS = 10, 8
"""Groups, and how many of them must tell."""
_STEPS = 8
_LARGEST = 5_000
"""Items of a pilot from which groups are left out in turn; of more, what is learned hardly varies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What is sought: the questions for a half-width, or the half-width that so many questions give.

    Attributes
    ----------
    half_width, questions
        One of them.
    level
        Confidence level.
    answered
        Share of the questions that experts answer.
    """

    half_width: float | None
    questions: int | None
    level: float
    answered: float = 1.0

    def find(self, variance: ItemVariance, cost: float, mean: float) -> float:
        """Questions, or the half-width, for this variance per item, at so many questions an item."""
        wanted, level = self.half_width, self.level
        if wanted is None:
            return half_of(variance, (self.questions or 1) * self.answered / cost, mean, level)
        most = 4.0
        while half_of(variance, most, mean, level) > wanted:
            most *= 4
        items = find_root(lambda n: half_of(variance, n, mean, level) - wanted, most / 4, most)
        return items * cost / self.answered

    def find_all(self, found: SideVariances, mean: float) -> dict[str, float]:
        """The same of everything that is made use of."""
        return {side: self.find(variance, found.cost, mean) for side, variance in found.of.items()}


def half_of(variance: ItemVariance, items: float, mean: float, level: float) -> float:
    """Half of the interval whose ends are the means m with (m − A)² = t² v(m)/n, within [0, 1].

    Of a share without side information, and in comparisons, z √(v/n).
    """
    if variance.means is None:
        return z_value(level) * math.sqrt(variance.at(items) / items)
    width, z = 0.0, t_quantile(level, max(1.0, items))
    for side, most in ((-1, mean), (1, 1 - mean)):
        off = 0.0
        for _ in range(_STEPS):
            off = min(most, z * math.sqrt(variance.at(items, mean + side * off) / items))
        width += off
    return width / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRatio:
    """What is sought with side information, over the same without, and the ends of an interval.

    Without any it is 1, and the interval that of what the pilot's answers tell beside the accuracy.
    """

    value: float
    low: float
    high: float


def find_ratios(
    pilot: PilotAnswers, found: Mapping[str, float], aim: Aim, mean: float, pool: int | None
) -> dict[str, FoundRatio]:
    """Ratios to what is found without, with the jackknife over ten groups of items, all learned anew.

    Of more than 5,000 items the groups are of a sample of so many. What too few groups tell is left out.
    """
    n = len(pilot.option)
    kept = np.arange(n) if n <= _LARGEST else np.random.default_rng(0).permutation(n)[:_LARGEST]
    part = pilot if n <= _LARGEST else pilot.take(kept)
    group = split_items_evenly(part.data, None, _GROUPS, 1)
    left = dict[str, list[float]]()
    for one in range(_GROUPS):
        try:
            without = aim.find_all(
                side_variances(part.take(np.flatnonzero(group != one)), mean, pool=pool), mean
            )
        except EstimateError:
            continue
        for side, value in without.items():
            left.setdefault(side, []).append(math.log(value / (1 if side == NONE else without[NONE])))
    return {
        side: _with_ends(value / found[NONE], np.array(left[side]), aim.level, len(kept) / n)
        for side, value in found.items()
        if len(left.get(side, ())) >= _LEAST_GROUPS
    }


def _with_ends(value: float, logs: FloatArray, level: float, share: float) -> FoundRatio:
    """An interval by the jackknife of the logarithm."""
    half = t_quantile(level, logs.size - 1) * math.sqrt((logs.size - 1) * float(logs.var()) * share)
    return FoundRatio(value=value, low=value * math.exp(-half), high=value * math.exp(half))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    """What one use of side information costs one model.

    Attributes
    ----------
    model, uses
        Name; ``none``, or what is made use of: ``votes``, ``judge``, ``pool``, joined by ``+``.
    questions, half_width
        What is put to experts, and the half-width that at least 80 % of such studies reach; None where it is
        not known.
    half_width_expected
        The mean half-width of such studies.
    low, high
        Ends of an approximate interval of the one of the two that was sought.
    without
        The same without side information.
    saving, saving_low, saving_high
        How many times as many questions are needed without; None without side information.
    answers
        Answered items of the pilot that it rests on.
    sentence
        The row in words; the reason where a number is not known.
    """

    model: str
    uses: str
    questions: int | None = None
    half_width: float | None = None
    half_width_expected: float | None = None
    low: float | None = None
    high: float | None = None
    without: float | None = None
    saving: float | None = None
    saving_low: float | None = None
    saving_high: float | None = None
    answers: int = 0
    sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWords:
    """What the rows of a model share.

    Attributes
    ----------
    size
        Items that the model answered, which more can be drawn from.
    cost
        Questions an item.
    """

    study: PilotStudy
    aim: Aim
    size: int
    cost: float

    def count_items(self, sought: float) -> float:
        """Items of a row, whose questions or half-width were sought."""
        questions = sought if self.aim.half_width is not None else float(self.aim.questions or 1)
        return questions * self.aim.answered / self.cost

    def refuse_items(self, sought: float) -> str:
        """Why there is no pool of items larger than these questions; empty if there is."""
        items = math.ceil(self.count_items(sought))
        return (
            ""
            if items < self.size
            else f"{self.size:,} items are no more than the {items:,} to be asked about"
        )

    def explain(self, row: PlannedRow, why: str) -> PlannedRow:
        """A row without a number."""
        return replace(row, sentence=f"{self._use(row.uses)}: {why}")

    def fill(
        self,
        row: PlannedRow,
        found: tuple[float, float],
        ends: tuple[float, float],
        without: float | None = None,
        ratio: FoundRatio | None = None,
    ) -> PlannedRow:
        """A row with what was sought, the ends of its interval, and the same without side information.

        `found` is what 80 % of studies reach and the mean.
        """
        wanted, given = self.aim.half_width, self.aim.questions
        sought, expected = found
        whole = wanted is not None
        low, high, value, other = (
            x if x is None or not math.isfinite(x) or not whole else float(math.ceil(x - 1e-9))
            for x in (*ends, sought, without)
        )
        power = 1 if whole else 2
        filled = replace(
            row,
            questions=int(value or 0) if whole else given,
            half_width=wanted if whole else value,
            half_width_expected=expected if wanted is None else wanted * math.sqrt(expected / sought),
            low=low,
            high=high,
            without=other,
            saving=None if ratio is None else ratio.value**-power,
            saving_low=None if ratio is None else ratio.high**-power,
            saving_high=None if ratio is None else max(ratio.low, 1e-9) ** -power,
        )
        return replace(filled, sentence=self._say(filled, sought))

    def _say(self, row: PlannedRow, sought: float) -> str:
        use = "" if row.uses == NONE else f" {self._use(row.uses)}"
        asked, width = f"{row.questions:,}", f"± {_points(row.half_width)} points"
        mean = f" in 80 % of studies, ± {_points(row.half_width_expected)} expected"
        if self.aim.half_width is not None:
            text = f"{asked} questions ({row.low:,.0f} to {row.high:,.0f}){use} buy {width}{mean}"
            text += "" if row.without is None else f"; {row.without:,.0f} without"
        else:
            text = f"{asked} questions{use} buy {width} ({_points(row.low)} to {_points(row.high)}){mean}"
            text += "" if row.without is None else f"; ± {_points(row.without)} without"
        over = self.count_items(sought) > self.size
        return text + (f"; there are {self.size:,} items" if over else "")

    def _use(self, uses: str) -> str:
        judges = ", ".join(self.study.judges)
        words = {
            VOTES: f"with these {len(self.study.voters)} models' votes",
            JUDGE: f"with the judge{'s' * (len(self.study.judges) > 1)} {judges}",
            POOL: f"about items drawn from {self.size:,} by agreement",
        }
        if uses == POOL_JUDGE:
            return f"about items drawn from {self.size:,}, {words[JUDGE]}"
        return ", ".join(words[part] for part in PARTS[uses])


def _points(share: float | None) -> str:
    return f"{100 * (share or 0):.1f}"
