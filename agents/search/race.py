"""The race of a proposal: few items for all, many for those that may win.

After asynchronous successive halving (Li et al. 2020, MLSys): after every rung a proposal goes on if it is
among the best share of the proposals that its slot sees, on the same items of one fixed order, so that all
comparisons are paired; nobody waits for another's rung. Most proposals are no better than what is there; they
are not worth all their items. Beside its rank, a proposal must have a chance to enter the archive's top five.
Confidence sequences are no rule here: at a hundred complementary labels they drop nobody.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from oversight.agents.search.context import SearchContext
from oversight.agents.search.fitness import Board

TOP = 5
HOPELESS = 0.05


async def race(context: SearchContext, slot: int, candidate: str, seen: Sequence[str]) -> None:
    """Answer a candidate rung by rung against those that its slot sees; decisions are noted."""
    items, archive = context.items("select"), context.archive
    rungs = [n for n in context.section.rungs if n < len(items)]
    keep = context.section.keep
    for n, kept, before in zip(rungs, keep, [1.0, *keep], strict=False):
        await context.answer(candidate, items[:n])
        key = f"race/{slot}/{n}"
        if key not in archive.events:
            board = context.board([*seen, candidate])
            dropped = why_dropped(board, candidate, rivals(context, seen, n), n, kept / before)
            archive.note(key, {"candidate": candidate, "dropped": dropped})
        if archive.events[key]["dropped"]:
            return
    await context.answer(candidate, items)


def rivals(context: SearchContext, seen: Sequence[str], n: int) -> list[str]:
    """The proposals among those that a slot sees which came as far as n items."""
    archive, items = context.archive, context.items("select")[:n]
    made = [c for c in seen if archive.candidates[c].slot >= 0]
    return [c for c, number in zip(made, archive.count_answers(made, items), strict=True) if number == n]


def why_dropped(board: Board, candidate: str, rivals: Sequence[str], n: int, share: float) -> str:
    """Why a candidate does not go on after n items, as that share of those there does; empty if it does."""
    if candidate not in board.fitness:
        return "no scored answer"
    others = [c for c in board.ranked() if c != candidate]
    # While there are fewer others than the top has places, there is no bar.
    chance = chance_above(board, candidate, others[TOP - 1]) if len(others) >= TOP else 1.0
    if chance < HOPELESS:
        return f"P(in the top {TOP}) = {chance:.3f}"
    values = {c: _value(board, c, n) for c in (candidate, *rivals) if c in board.fitness}
    room = max(1, math.floor(share * len(values)))
    better = sum(value > values[candidate] for value in values.values())
    return "" if better < room else f"not among the best {room} of {len(values)} on {n} items"


def _value(board: Board, candidate: str, n: int) -> float:
    """Mean score on the first n items; −∞ if none of them is scored."""
    scores = board.scores[board.place(candidate), :n]
    scored = scores[~np.isnan(scores)]
    return float(scored.mean()) if scored.size else -math.inf


def chance_above(board: Board, candidate: str, other: str) -> float:
    """P(A > A_other) by their posteriors."""
    first, second = board.place(candidate), board.place(other)
    mean, sd = board.shrunk.mean, float(np.hypot(board.shrunk.sd[first], board.shrunk.sd[second]))
    if sd == 0:
        return float(mean[first] >= mean[second])
    return float(ndtr((mean[first] - mean[second]) / sd))
