"""An interval and how it was made: a frozen value, no I/O."""

from __future__ import annotations

from dataclasses import dataclass

from oversight.harness.types.notes import Note

WORST_CASE = "worst-case"
"""Step of an interval that holds whatever the missing answers would have been."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Ends of an interval, its confidence level, how it was made, and what a reader must know.

    Attributes
    ----------
    low, high
        Its ends, on the scale of the value it belongs to.
    level
        Confidence level, in (0, 1).
    method
        Name of the method that made it.
    steps
        What was done to the method's interval afterwards, in order, such as `WORST_CASE`.
    notes
        Reasons for caution.
    why
        Why it may hold the truth less often than `level` says; empty where it does not.
    """

    low: float
    high: float
    level: float
    method: str
    steps: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    why: str = ""

    @property
    def name(self) -> str:
        """``exact+share``: the method and the steps, as JSON has them."""
        return "+".join((self.method, *self.steps))
