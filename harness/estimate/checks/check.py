"""The report of a check of the data."""

from __future__ import annotations

from dataclasses import dataclass

NEGLIGIBLE = 0.1
"""Part of an interval's half-width by which missing data may move its estimate, so that it still covers."""


def is_negligible(least: float, value: float, most: float, width: float) -> bool:
    """Whether missing data that move a value to between `least` and `most` leave its interval's coverage.

    Parameters
    ----------
    width
        Of the interval. A shift by a tenth of its half lowers a coverage of 95 % to 94.6 %.

    Examples
    --------
    >>> is_negligible(0.718, 0.72, 0.722, 0.1), is_negligible(0.70, 0.72, 0.74, 0.1)
    (True, False)
    """
    return max(value - least, most - value) <= NEGLIGIBLE * width / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Outcome of one check.

    Attributes
    ----------
    name
        What was checked.
    passed
        False if the data speak against an assumption of the estimates; None if there was nothing to
        look at, so that the check was not made.
    statistic, p_value
        Those of the test; None where there is none.
    message
        What was seen and what it means, or why nothing was looked at, in a line.
    """

    name: str
    passed: bool | None
    statistic: float | None
    p_value: float | None
    message: str

    @property
    def state(self) -> str:
        """``"passed"``, ``"failed"`` or ``"not made"``."""
        return "not made" if self.passed is None else "passed" if self.passed else "failed"

    @classmethod
    def not_made(cls, name: str, why: str) -> Check:
        """Report a check that has nothing to look at."""
        return cls(name=name, passed=None, statistic=None, p_value=None, message=why)
