"""What models must reach, and whether they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oversight.harness.errors import BadInput
from oversight.harness.estimate import FAIL, PASS, UNDECIDED, GateVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """What models must reach.

    Attributes
    ----------
    at_least
        Accuracy, in (0, 1); None without this bar.
    baseline, margin
        Model than which none may be worse by more than the margin, in (0, 1); None without this bar.
    look
        Look J of L planned ones; None for a gate that may be asked any time.
    """

    at_least: float | None = None
    baseline: str | None = None
    margin: float | None = None
    look: tuple[int, int] | None = None

    def check(self) -> None:
        """Refuse bars that are none. Raises BadInput."""
        if self.at_least is None and self.baseline is None:
            raise BadInput("a gate needs a bar: give --at-least, or --not-worse-than and --margin")
        if (self.baseline is None) != (self.margin is None):
            raise BadInput("--not-worse-than and --margin go together: the margin is what may be lost")
        for name, value in (("--at-least", self.at_least), ("--margin", self.margin)):
            if value is not None and not 0 < value < 1:
                raise BadInput(f"{name}: must lie between 0 and 1, such as 0.8 for 80 %, is {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck:
    """One bar that one model must reach, and whether it does.

    Attributes
    ----------
    baseline
        Model compared with; empty where the bar is an accuracy.
    remarks
        What a reader must know, in words.
    """

    model: str
    baseline: str
    verdict: GateVerdict
    remarks: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """Every bar of every model.

    Attributes
    ----------
    level
        Each verdict is wrong with probability at most 1 − level.
    questions
        ``drawn`` and ``answered``.
    """

    study: str
    level: float
    checks: Sequence[GateCheck]
    questions: Mapping[str, int]

    @property
    def verdict(self) -> str:
        """Fail if one fails, else undecided if one is, else pass."""
        found = {check.verdict.verdict for check in self.checks}
        return next(word for word in (FAIL, UNDECIDED, PASS) if word in found)
