"""What a pull changed, and what a campaign ended with: frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Changes of a pull to the stored answers, and what it found and mended on the server.

    Attributes
    ----------
    new, changed, withdrawn
        Answers.
    answers
        All that came through Label Studio.
    quarantined
        Annotations that count for nothing.
    requeued
        Questions that are served again, as what was said to them counts for nothing.
    settings
        Expert → settings of the project that somebody had changed, and that were put back.
    predictions
        Expert → predictions that somebody had put on tasks, and that were removed.
    foreign
        Expert → tasks that nobody sent; the next push removes them.
    """

    new: int
    changed: int
    withdrawn: int
    answers: int
    quarantined: int
    requeued: int = 0
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    predictions: Mapping[str, int] = field(default_factory=dict)
    foreign: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """The end of a campaign: what the last pull brought, and expert → questions that stayed open."""

    last: Difference
    open: Mapping[str, int]
