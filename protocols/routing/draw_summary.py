"""Summary of a draw of questions or assignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from oversight.harness.store import ItemDraw
from oversight.protocols.routing.control_draw import InsertedControls
from oversight.protocols.routing.second_draw import SecondDraw


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawSummary:
    """Summary of a draw of questions or assignments.

    Attributes
    ----------
    asked
        Person → number of questions or assignments.
    new
        Number of these questions or assignments that were not stored before.
    items
        Number of items of the study.
    each, annotators
        In a panel, the number of annotators per item, and the number of all annotators; 0 in other studies.
    controls
        Numbers of control questions; None if study.toml requests none. `asked` and `new` include these
        questions.
    draws
        Draws of items from a pool, in order; empty if every item is asked about.
    second
        The second questions drawn so far; None if none were drawn. `asked` and `new` include these questions.
    """

    asked: Counter[str]
    new: int
    items: int
    each: int = 0
    annotators: int = 0
    controls: InsertedControls | None = None
    draws: Sequence[ItemDraw] = ()
    second: SecondDraw | None = None
