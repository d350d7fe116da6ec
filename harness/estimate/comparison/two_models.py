"""The difference of two models as every method returns it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from oversight.harness.types import HtmlTable, Interval, Note, Noted, Shown, plain_fields

TIED = "tie"
FoundDifference = tuple[float, Interval, float]
"""A difference, its interval, and the two-sided p-value of "no difference"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Noted, Shown):
    """The difference in accuracy of two models on the same items.

    Attributes
    ----------
    first, second
        Names of the models.
    difference
        Accuracy of the first minus that of the second, not clipped.
    low, high
        Interval of confidence `level` within [−1, 1].
    p_value
        p-value of "no difference", two-sided, after `adjusted`.
    level
        Confidence level; a tie is declared unless p_value ≤ 1 − level.
    method
        ``"paired"``, ``"sign"``, ``"mcnemar"``, ``"t"``, ``"max-z"``; corrected for experts' errors
        ``"paired+gold"``, ``"paired+ranges"``, ``"delta"``.
    items, questions
        Items compared and questions used for it (answers).
    adjusted
        For how many comparisons at once p and interval were widened, and how: ``"none"``, ``"holm"``…
    why
        Why the interval may hold the difference less often than `level` says; empty where it does not.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    p_value: float
    level: float
    method: str
    items: int
    questions: int
    adjusted: str = "none"
    assumptions: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    why: str = ""

    @classmethod
    def of_interval(
        cls,
        names: tuple[str, str],
        found: FoundDifference,
        *,
        items: int,
        questions: int,
        assumptions: tuple[str, ...],
    ) -> Self:
        """A comparison from its interval."""
        value, interval, p_value = found
        return cls(
            first=names[0],
            second=names[1],
            difference=value,
            low=interval.low,
            high=interval.high,
            p_value=p_value,
            level=interval.level,
            method=interval.method,
            items=items,
            questions=questions,
            assumptions=assumptions,
            notes=interval.notes,
            why=interval.why,
        )

    @property
    def holds(self) -> bool:
        """Whether the interval covers the difference as often as its level says, if what it assumes is so."""
        return not self.why

    @property
    def verdict(self) -> str:
        """Name of the better model, or ``"tie"`` where the data do not tell them apart."""
        if self.p_value > 1 - self.level or self.difference == 0:
            return TIED
        return self.first if self.difference > 0 else self.second

    def records(self) -> list[dict[str, Any]]:
        """Its one row."""
        words = {"assumptions": "; ".join(self.assumptions), "flags": ", ".join(self.flags)}
        return [plain_fields(self) | words | {"verdict": self.verdict, "holds": self.holds}]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """What a notebook shows."""
        return (pairs_table([self]),)

    def __str__(self) -> str:
        """``a − b: +0.052 [+0.011, +0.093], p = 0.013 → a · mcnemar · 812 items, 240 questions``."""
        verdict = "tie" if self.verdict == TIED else f"{self.verdict} is better"
        return (
            f"{self.first} − {self.second}: {self.difference:+.3f} [{self.low:+.3f}, {self.high:+.3f}], "
            f"p = {self.p_value:.2g} → {verdict} · {self.method} · {self.items} items, "
            f"{self.questions} questions" + (f" · the interval may not hold: {self.why}" if self.why else "")
        )


def pairs_table(pairs: Sequence[Comparison]) -> HtmlTable:
    """One row a pair, and below what a reader must know of them."""
    cautions = [f"(!) {c.first} − {c.second} may not hold: {c.why}" for c in pairs if not c.holds]
    return HtmlTable(
        title="Difference in accuracy",
        columns=("models", "difference", "interval", "p", "better"),
        rows=[
            (
                f"{c.first} − {c.second}",
                f"{100 * c.difference:+.1f}",
                f"{100 * c.low:+.1f} … {100 * c.high:+.1f} points" + ("" if c.holds else " (!)"),
                f"{c.p_value:.2g}",
                c.verdict,
            )
            for c in pairs
        ],
        notes=(*cautions, *dict.fromkeys(str(note) for c in pairs for note in c.notes)),
    )
