"""A row of a plan and its sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from oversight.harness.estimate.planning.needed_questions import Aim, FoundRatio
from oversight.harness.estimate.planning.pilot_gathering import PilotStudy
from oversight.harness.estimate.planning.side_variances import JUDGE, NONE, PARTS, POOL, POOL_JUDGE, VOTES


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
