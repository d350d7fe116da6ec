"""The rate that an endpoint accepts, estimated from its refusals.

An endpoint that refuses calls works at its limit, so its successes per second are its rate. Calls are then
spaced out at slightly more than this rate: the rate is fully used, and few calls are refused. Without
refusals, the rate is raised slowly.
"""

from __future__ import annotations

_CLUSTER = 0.25  # share of refusals among the latest calls above which they indicate a limit
_TOLERATED = 0.1  # target share of refusals
_RARE = 0.015  # share of refusals below which the pace is raised
_GREED = 1.03  # factor on the measured rate
_GROWTH, _FASTEST = 0.1, 0.5  # growth of the pace if no call was refused; doubled after each such measurement
_IN_VAIN, _A_WHILE = 8, 0.1  # refusals in a row, and seconds, after which the endpoint counts as closed
_FIRST, _LOOK, _LONGEST_LOOK = 0.25, 0.75, 10.0  # seconds of a measurement
_FEW, _ENOUGH = 4, 8  # successes in the first window; calls in later ones
_UNUSED = 4.0  # a pace above this multiple of the used rate is dropped, because it has no effect


class LearnedPace:
    """Tracks the successes and refusals of one endpoint.

    Attributes
    ----------
    rate
        Calls per second; None while no limit is known.
    """

    def __init__(self) -> None:
        self.rate: float | None = None
        self._share = 0.0
        self._limited = False
        self._since = self._last = 0.0
        self._good = self._bad = 0
        self._in_vain, self._taken = 0, 0.0
        self._growth = _GROWTH

    @property
    def is_limited(self) -> bool:
        """Whether refusals come in clusters, or did so recently."""
        return self._limited

    @property
    def is_known(self) -> bool:
        """Whether the rate is known and the endpoint accepts calls."""
        if self.rate is None:
            return False
        return self._in_vain < _IN_VAIN or self._last - self._taken < max(_A_WHILE, 3 / self.rate)

    @property
    def is_clustered(self) -> bool:
        """Whether the share of refusals among the latest calls is too high for chance."""
        return self._share > _CLUSTER

    def succeeded(self, now: float, under_way: float) -> None:
        """Record a success, given the number of unfinished calls."""
        self._share -= self._share / max(16.0, under_way)
        self._in_vain, self._taken = 0, now
        if self._limited:
            self._count(now)
            self._good += 1
            self._look(now)

    def refused(self, now: float, under_way: float) -> bool:
        """Record a refusal. Returns whether it belongs to a cluster."""
        was_clustered = self.is_clustered
        self._share += (1 - self._share) / max(16.0, under_way)
        self._in_vain += 1
        if self.is_clustered and not (was_clustered and self._limited):
            # Earlier successes used up the endpoint's saved allowance, so they say nothing about its rate.
            self._limited = True
            self._begin(now)
        if self._limited:
            self._count(now)
            self._bad += 1
            self._look(now)
        return self.is_clustered

    def _begin(self, now: float) -> None:
        self._since = self._last = now
        self._good = self._bad = 0

    def _count(self, now: float) -> None:
        """Restart after a pause in which no call was made."""
        if now - self._last > max(_FIRST, 3 / self.rate if self.rate else 0.0):
            if self._last - self._since >= _FIRST and self._good + self._bad >= _ENOUGH:
                self._conclude(self._last)
            self._begin(now)
        self._last = now

    def _look(self, now: float) -> None:
        """Update the rate once enough calls were counted."""
        seconds, calls = now - self._since, self._good + self._bad
        is_first = self.rate is None and self._good >= _FEW and seconds >= _FIRST
        enough = _FIRST if self.is_clustered else _LOOK
        if is_first or (seconds >= enough and (calls >= _ENOUGH or seconds >= _LONGEST_LOOK)):
            self._conclude(now)
            self._begin(now)

    def _conclude(self, now: float) -> None:
        taken = self._good / (now - self._since)
        if not self._good:
            self.rate = self.rate and max(1.0, self.rate / 2)
        elif self.rate is None or self._bad > _TOLERATED * (self._good + self._bad):
            # With fewer counted calls, the estimate is less certain, so the margin is wider.
            self._growth = max(_GROWTH, self._good**-0.5)
            # At most halve the rate, because this machine may have been suspended during the measurement.
            self.rate = max(_GREED * taken, (self.rate or 0.0) / 2)
        elif self._bad <= _RARE * self._good:
            self.rate *= 1 + self._growth
            self._growth = min(_FASTEST, 2 * self._growth)
            if self.rate > _UNUSED * taken:
                self.rate, self._limited = None, False
