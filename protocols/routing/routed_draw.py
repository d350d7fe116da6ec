"""What a draw of a study's questions or assignments gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from oversight.harness.store import ItemDraw
from oversight.protocols.routing.control_draw import Woven
from oversight.protocols.routing.second_draw import SecondDraw


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """What a draw gave.

    Attributes
    ----------
    asked
        Person → how many questions or assignments.
    new
        How many of them all were not stored before.
    items
        Number of items of the study.
    each, annotators
        How many of how many annotators of a panel rate an item.
    controls
        Control questions, which `asked` and `new` count, too; None where study.toml has none.
    draws
        Draws of items from a pool, in their order; none where every item is asked about.
    second
        Second questions drawn by now, which `asked` and `new` count, too; None where none were.
    """

    asked: Counter[str]
    new: int
    items: int
    each: int = 0
    annotators: int = 0
    controls: Woven | None = None
    draws: Sequence[ItemDraw] = ()
    second: SecondDraw | None = None
