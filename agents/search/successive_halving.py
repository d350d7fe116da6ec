"""New candidates race in rungs: few items for all, many for those that may win.

Successive halving (Jamieson & Talwalkar 2016, AISTATS) on one fixed order of items, so that all
comparisons are paired. Most proposals are no better than what is there; they are not worth all their
items. Beside its rank in the wave, a proposal must have a chance to enter the archive's top five.
Confidence sequences are no rule here: at a hundred complementary labels they drop nobody.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from agents.search.context import SearchContext, gather_all
from agents.search.fitness import Board
from harness.types import Standing

TOP = 5
HOPELESS = 0.05


async def race_group(context: SearchContext, name: str, group: Sequence[str]) -> None:
    """Answer a wave of candidates rung by rung; decisions are noted under ``race/name/rung``."""
    items = context.items("select")
    rungs = [n for n in context.section.rungs if n < len(items)] + [len(items)]
    alive = list(group)
    incumbents = [c for c in context.archive.candidates if c not in group]
    for step, n in enumerate(rungs):
        if not alive:
            return
        context.progress(f"{name}: {len(alive)} candidates on {n} items")
        await gather_all(*(context.answer(c, items[:n]) for c in alive))
        if n == len(items):
            return
        room = max(1, math.floor(len(group) * context.section.keep[step]))
        kept, dropped = split(context.board(), alive, incumbents, room)
        context.archive.note(f"race/{name}/{n}", {"kept": kept, "dropped": dropped})
        alive = [c for c in alive if c in kept]


def split(
    board: Board, racing: Sequence[str], incumbents: Sequence[str], room: int
) -> tuple[list[str], dict[str, str]]:
    """Who goes on, best first, and why the others do not."""
    ranked = board.ranked()
    known = [board.fitness[c] for c in ranked if c in incumbents]
    kept: list[str] = []
    dropped: dict[str, str] = {c: "no scored answer" for c in racing if c not in board.fitness}
    for c in (c for c in ranked if c in racing):
        # While there are fewer incumbents than the top has places, there is no bar.
        chance = chance_above(board.fitness[c], known[TOP - 1]) if len(known) >= TOP else 1.0
        if len(kept) >= room:
            dropped[c] = f"not among the best {room}"
        elif chance < HOPELESS:
            dropped[c] = f"P(in the top {TOP}) = {chance:.3f}"
        else:
            kept.append(c)
    return kept, dropped


def chance_above(own: Standing, other: Standing) -> float:
    """P(A_own > A_other) by their posteriors."""
    sd = float(np.hypot(own.sd, other.sd))
    if sd == 0:
        return float(own.mean >= other.mean)
    return float(ndtr((own.mean - other.mean) / sd))
