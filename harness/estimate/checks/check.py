"""The report of a check of the data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Outcome of one check.

    Attributes
    ----------
    name
        What was checked.
    passed
        False if the data speak against an assumption of the estimates; a skipped check passes.
    statistic, p_value
        Those of the test; None where there is none.
    message
        What was seen and what it means, in a line.
    """

    name: str
    passed: bool
    statistic: float | None
    p_value: float | None
    message: str

    @classmethod
    def skipped(cls, name: str, why: str) -> Check:
        """Report a check that has nothing to look at."""
        return cls(name=name, passed=True, statistic=None, p_value=None, message=f"not checked: {why}")
