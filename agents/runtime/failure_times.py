"""Times of failed answers, which separate faults of the endpoint from failures that a program provokes.

A program can make its own call fail, for example with a request so long that the endpoint answers HTTP 500.
An endpoint that is down fails the calls of other programs as well. So a failed answer is a fault of the
endpoint only if an answer of an unrelated program failed within the same minute.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

MINUTE = 60.0
"""Largest number of seconds between two failures that count as simultaneous."""
_STAMP = re.compile(r" \(at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00)\)$")
Key = tuple[str, int]
"""A program's id, and the number of one of its replicates."""


def stamp_failure(reason: str) -> str:
    """Add the present time to the reason of a failed answer, unless it has one.

    Examples
    --------
    >>> read_failure_time(stamp_failure("HTTP 500")) == ""
    False
    """
    if _STAMP.search(reason):
        return reason
    return f"{reason} (at {datetime.now(UTC).isoformat(timespec='seconds')})"


def read_failure_time(reason: str) -> str:
    """Return the time in the reason of a failed answer, in ISO format; empty if the reason has no time.

    Examples
    --------
    >>> read_failure_time("HTTP 500 (at 2026-01-31T12:00:00+00:00)")
    '2026-01-31T12:00:00+00:00'
    """
    found = _STAMP.search(reason)
    return found[1] if found else ""


@dataclass(slots=True)
class FailureTimes:
    """Times at which answers of programs failed.

    Attributes
    ----------
    families
        Program → the programs of its line, itself included. Programs whose lines share a member may fail for
        the same reason, so they do not excuse each other. A program without an entry is alone in its line.
    """

    families: dict[str, frozenset[str]] = field(default_factory=dict)
    _latest: dict[tuple[Key, str], float] = field(default_factory=dict)
    _moments: list[tuple[float, str]] = field(default_factory=list)

    def add_times(self, key: Key, times: Mapping[str, str]) -> None:
        """Record when answers of a program's replicate failed: item id → time in ISO format."""
        for item, time in times.items():
            moment = datetime.fromisoformat(time).timestamp()
            self._latest[key, item] = moment
            entry = moment, key[0]
            place = bisect_left(self._moments, entry)
            if self._moments[place : place + 1] != [entry]:
                self._moments.insert(place, entry)

    def is_shared(self, key: Key, item: str) -> bool:
        """Whether an unrelated program failed within a minute of this answer's latest failure."""
        moment = self._latest.get((key, item))
        if moment is None:
            return False
        own = self._line(key[0])
        first = bisect_left(self._moments, (moment - MINUTE, ""))
        last = bisect_right(self._moments, (moment + MINUTE, "\U0010ffff"))
        return any(own.isdisjoint(self._line(other)) for _, other in self._moments[first:last])

    def _line(self, program: str) -> frozenset[str]:
        return self.families.get(program, frozenset((program,)))
