"""Results of a pull and of closing a campaign, as frozen data classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Changes that a pull made to stored answers, and changes that it found and undid on the server.

    Attributes
    ----------
    new, changed, withdrawn
        Numbers of new, changed and withdrawn answers.
    answers
        Number of all answers from Label Studio.
    quarantined
        Number of annotations that do not count.
    requeued
        Number of questions sent again because their answers do not count.
    settings
        Expert → project settings that somebody changed and the pull restored.
    predictions
        Expert → number of predictions that somebody added to tasks and the pull removed.
    foreign
        Expert → number of tasks that no push sent; the next push removes them.
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
    """Result of closing a campaign: the last pull, and the number of open questions by expert."""

    last: Difference
    open: Mapping[str, int]
