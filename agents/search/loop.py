"""The search: seed the archive, propose in waves, race, confirm; policies differ in how they propose.

Everything random is drawn from a stream named by its step, proposals of a wave see the archive as it
was when the wave began, and every decision is noted before the next step builds on it. So a search
that was killed and run again makes the same archive, and the answers it has are not asked for again.

New candidates race in rungs, few items for all and many for those that may win: successive halving (Jamieson
& Talwalkar 2016, AISTATS) on one fixed order of items, so that all comparisons are paired. Most proposals are
no better than what is there; they are not worth all their items. Beside its rank in the wave, a proposal must
have a chance to enter the archive's top five. Confidence sequences are no rule here: at a hundred
complementary labels they drop nobody.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from agents.search.context import SearchContext, gather_all
from agents.search.fitness import Board
from agents.search.policies import Policy, PolicyView, Proposal
from harness import BudgetSpent, FatalModelError, ModelError, OversightError, ProgramRefused
from harness.output import shorten
from harness.types import Candidate, Program, Standing

TWICE = 1_000
"""Replicate number of the start's second, independent run."""
LEADERS = 3
TOP = 5
HOPELESS = 0.05


@dataclass(frozen=True, slots=True)
class Ended:
    """Why no more proposals were made: ``"done"``, ``"converged"``, or the budget's message."""

    reason: str
    proposals: int


async def search(context: SearchContext, policy: Policy) -> Ended:
    """Run or go on with a search up to its last proposal.

    Raises
    ------
    FatalModelError, SandboxError
        What was answered is kept.
    """
    made = 0
    try:
        await seed(context)
        while made < context.section.candidates:
            made = await wave(context, policy, made)
            if converged(context, made):
                return Ended("converged", made)
    except BudgetSpent as error:
        return Ended(str(error), made)
    return Ended("done", made)


async def seed(context: SearchContext) -> None:
    """Answer the library's workflows on all selection items, and the start once more for A/A."""
    library, items = context.programs, context.items("select")
    for j, program in enumerate(library):
        context.archive.add(Candidate(program, j - len(library), "library", (), program.thought))
    context.progress(f"{len(library)} workflows of the library on {len(items)} items")
    await gather_all(*(context.answer(program.id, items) for program in library))
    context.progress("the starting workflow a second time, to see how it compares with itself")
    await context.answer(context.start, items, TWICE)


async def wave(context: SearchContext, policy: Policy, first: int) -> int:
    """Make, race and note the next proposals; return the number made so far."""
    archive, section = context.archive, context.section
    last = min(first + section.in_flight, section.candidates)
    key = f"wave/{first}"
    if key in archive.events:
        return last
    board = context.board([c.id for c in archive.candidates.values() if c.slot < first])
    context.progress(f"proposals {first + 1}–{last} of {section.candidates}")
    views = [context.view(board, slot) for slot in range(first, last)]
    proposals = await gather_all(*(fill(context, policy, view) for view in views))
    group = [c for view, p in zip(views, proposals, strict=True) if (c := admit(context, view.slot, p))]
    await race_group(context, str(first), group)
    leaders = [c for c in context.board().ranked() if context.complete(c)][:LEADERS]
    archive.note(key, {"candidates": group, "leaders": leaders})
    return last


async def fill(context: SearchContext, policy: Policy, view: PolicyView) -> Proposal | None:
    """Get one proposal that runs; None if its slot was filled before."""
    if f"slot/{view.slot}" in context.archive.events:
        return None
    try:
        proposal = await policy.propose(view)
        for attempt in range(context.debug_tries + 1):
            if proposal.program is None or not (reason := await refusal(context, proposal.program)):
                break
            more = attempt < context.debug_tries
            mended = await policy.repair(view, proposal, reason, attempt) if more else None
            if mended is None:
                return replace(proposal, program=None, refused=reason, log=(*proposal.log, "given up"))
            proposal = mended
    except FatalModelError:
        raise
    except ModelError as error:
        return Proposal(None, policy.name, refused=f"the optimiser's model failed: {error}")
    except OversightError:
        raise
    except Exception as error:  # noqa: BLE001  whatever a proposal does, the search goes on
        return Proposal(None, policy.name, refused=f"the proposal broke ({_describe(error)})")
    return proposal


async def refusal(context: SearchContext, program: Program) -> str:
    """Why a program cannot run; a known one can."""
    if program.id in context.archive.candidates:
        return ""
    try:
        return await context.check(program)
    except ProgramRefused as error:
        return str(error)
    except OversightError:
        raise
    except Exception as error:  # noqa: BLE001  whatever a program does to its check, the search goes on
        return f"its check broke ({_describe(error)})"


def _describe(error: Exception) -> str:
    return shorten(f"{type(error).__name__}: {error}", 300)


def admit(context: SearchContext, slot: int, proposal: Proposal | None) -> str | None:
    """Take a proposal into the archive, note what became of its slot, and return the candidate's id.

    Without a proposal the slot was filled before, and the id is the one that was noted then.
    """
    key, archive = f"slot/{slot}", context.archive
    if proposal is None:
        found = str(archive.events[key].get("candidate", ""))
        return found if found in archive.candidates else None
    program = proposal.program
    if program is None:
        became = {"refused": proposal.refused}
    elif program.id in archive.candidates and archive.candidates[program.id].slot != slot:
        became = {"duplicate": program.id}
    else:
        became = {"candidate": program.id}
        archive.add(Candidate(program, slot, proposal.op, proposal.parents, proposal.note))
    told = {"op": proposal.op, "parents": list(proposal.parents), "note": proposal.note}
    archive.note(key, {**became, **told, "log": list(proposal.log), "tokens": proposal.tokens})
    return became.get("candidate")


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


def converged(context: SearchContext, made: int) -> bool:
    """Whether the best three stayed the same over the last `patience` proposals."""
    patience = context.section.patience
    if not patience:
        return False
    tops = [tuple(e["leaders"]) for key, e in context.archive.events.items() if key.startswith("wave/")]
    waves = -(-patience // context.section.in_flight)
    return made >= patience and len(tops) > waves and len(set(tops[-waves - 1 :])) == 1
