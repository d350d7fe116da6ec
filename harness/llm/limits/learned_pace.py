"""The rate that an endpoint takes, learnt from its refusals.

While an endpoint refuses calls it takes as many as it can, so its successes a second are its rate: calls
are spaced out at a little more than that, so that the rate is used to the full and few are refused, and
faster by and by while none is.
"""

from __future__ import annotations

_CLUSTER = 0.25  # share of refusals among the latest calls from which they mean a limit, and no accident
_TOLERATED = 0.1  # share of refusals at which the pace is as it should be
_RARE = 0.015  # share of refusals up to which the endpoint may take more
_GREED = 1.03  # of the rate that was measured
_GROWTH, _FASTEST = 0.1, 0.5  # of the pace, when none was refused; twice as much each time in a row
_IN_VAIN, _A_WHILE = 8, 0.1  # refusals in a row, and seconds, after which nothing is taken just now
_FIRST, _LOOK, _LONGEST_LOOK = 0.25, 0.75, 10.0  # seconds of a measurement
_FEW, _ENOUGH = 4, 8  # successes of the first one; calls of the others
_UNUSED = 4.0  # a pace so many times what is used is no limit any more


class LearnedPace:
    """Follows one endpoint's successes and refusals.

    Attributes
    ----------
    rate
        Calls a second; None as long as there is no sign of a limit.
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
        """Whether refusals come in clusters, or did so lately."""
        return self._limited

    @property
    def is_known(self) -> bool:
        """Whether the rate is known, and calls are taken at all."""
        if self.rate is None:
            return False
        return self._in_vain < _IN_VAIN or self._last - self._taken < max(_A_WHILE, 3 / self.rate)

    @property
    def is_clustered(self) -> bool:
        """Whether so many of the latest calls were refused that it is no accident."""
        return self._share > _CLUSTER

    def succeeded(self, now: float, under_way: float) -> None:
        """Take in a success; `under_way` calls are so many as the latest ones."""
        self._share -= self._share / max(16.0, under_way)
        self._in_vain, self._taken = 0, now
        if self._limited:
            self._count(now)
            self._good += 1
            self._look(now)

    def refused(self, now: float, under_way: float) -> bool:
        """Take in a refusal; return whether it is one of a cluster."""
        was_clustered = self.is_clustered
        self._share += (1 - self._share) / max(16.0, under_way)
        self._in_vain += 1
        if self.is_clustered and not (was_clustered and self._limited):
            # What was taken before is what the endpoint had saved up: it says nothing about its rate.
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
        """Begin anew after a pause, in which the endpoint took nothing since nobody asked."""
        if now - self._last > max(_FIRST, 3 / self.rate if self.rate else 0.0):
            if self._last - self._since >= _FIRST and self._good + self._bad >= _ENOUGH:
                self._conclude(self._last)
            self._begin(now)
        self._last = now

    def _look(self, now: float) -> None:
        """Conclude from what was counted, once it is enough."""
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
            # the fewer were counted, the less is known
            self._growth = max(_GROWTH, self._good**-0.5)
            # nor does one look in which this machine stood still tell much
            self.rate = max(_GREED * taken, (self.rate or 0.0) / 2)
        elif self._bad <= _RARE * self._good:
            self.rate *= 1 + self._growth
            self._growth = min(_FASTEST, 2 * self._growth)
            if self.rate > _UNUSED * taken:
                self.rate, self._limited = None, False
