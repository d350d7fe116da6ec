"""Summarise a person's answer times: pace, hours to pay, and answers too fast to have been read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_LONGEST = 10
"""Largest time of one answer, in medians, because a page that was left open is not work."""
_LONGEST_SECONDS = 3600.0
"""Largest time of one answer in seconds, for the case that nearly all answers are long."""
_SHORTEST = 0.5
_CHARACTERS = 200
"""Reading speed in characters per second (about forty words) above which an answer was not read."""
_HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTimes:
    """Times of one person's answers.

    Attributes
    ----------
    timed
        Number of answers with a known time.
    median_seconds
        Median time; None if no time is known.
    hours
        Sum of the times, each limited to ten medians and to one hour; None if no time is known.
    fast
        Number of answers given in less than half a second, or faster than 200 characters per second can be
        read. They count as answers; people must judge whether they are honest.
    """

    timed: int = 0
    median_seconds: float | None = None
    hours: float | None = None
    fast: int = 0


def sum_up_times(looks: Sequence[tuple[float, int]]) -> AnswerTimes:
    """Summarise the answers' seconds and text lengths (in characters).

    Examples
    --------
    >>> sum_up_times([(9.0, 400), (11.0, 400), (10.0, 400), (0.3, 400), (28_800.0, 400)])
    AnswerTimes(timed=5, median_seconds=10.0, hours=0.0361..., fast=1)
    >>> sum_up_times([(86_400.0, 400)]).hours
    1.0
    """
    if not looks:
        return AnswerTimes()
    typical = median(seconds for seconds, _ in looks)
    return AnswerTimes(
        timed=len(looks),
        median_seconds=typical,
        hours=sum(min(seconds, _LONGEST * typical, _LONGEST_SECONDS) for seconds, _ in looks) / _HOUR,
        fast=sum(seconds < max(_SHORTEST, length / _CHARACTERS) for seconds, length in looks),
    )
