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
    bar = threshold(board, incumbents)
    kept: list[str] = []
    dropped: dict[str, str] = {c: "no scored answer" for c in racing if c not in board.fitness}
    for c in board.ranked():
        if c not in racing:
            continue
        chance = chance_above(board, c, bar)
        if len(kept) >= room:
            dropped[c] = f"not among the best {room}"
        elif chance < HOPELESS:
            dropped[c] = f"P(in the top {TOP}) = {chance:.3f}"
        else:
            kept.append(c)
    return kept, dropped


def threshold(board: Board, incumbents: Sequence[str]) -> tuple[float, float] | None:
    """Posterior mean and sd of the incumbents' fifth-best; None while there are fewer."""
    known = [c for c in board.ranked() if c in incumbents]
    if len(known) < TOP:
        return None
    fifth = board.fitness[known[TOP - 1]]
    return fifth.mean, fifth.sd


def chance_above(board: Board, candidate: str, bar: tuple[float, float] | None) -> float:
    """P(A_candidate > A_fifth) by their posteriors; 1 where there is no bar."""
    if bar is None:
        return 1.0
    own = board.fitness[candidate]
    sd = float(np.hypot(own.sd, bar[1]))
    if sd == 0:
        return float(own.mean >= bar[0])
    return float(ndtr((own.mean - bar[0]) / sd))
