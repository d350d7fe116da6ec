"""Limit requests per address or link with token buckets."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

_MOST_KEPT = 10_000
"""Number of buckets that are kept; the least recently used one is full again when it is dropped."""


@dataclass(slots=True)
class RequestLimit:
    """Token buckets by name.

    Attributes
    ----------
    burst
        Number of requests that are allowed at once.
    each
        Seconds until one more request is allowed.
    clock
        Returns the time in seconds.
    """

    burst: int
    each: float
    clock: Callable[[], float] = time.monotonic
    _buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def wait(self, name: str) -> float:
        """Return the seconds until a bucket has a token; 0 if it has one."""
        left = self._left(name)
        return 0.0 if left >= 1 else (1 - left) * self.each

    def spend(self, name: str) -> None:
        """Take a token from a bucket."""
        left = self._left(name)
        self._buckets[name] = max(0.0, left - 1), self.clock()
        self._buckets.move_to_end(name)
        while len(self._buckets) > _MOST_KEPT:
            self._buckets.popitem(last=False)

    def _left(self, name: str) -> float:
        left, since = self._buckets.get(name, (float(self.burst), self.clock()))
        return min(float(self.burst), left + (self.clock() - since) / self.each)


def network_of(address: str) -> str:
    """Return the address under which attempts are counted; for IPv6, its 64-bit network."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        mapped = found.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
