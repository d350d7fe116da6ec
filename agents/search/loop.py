"""The search: seed the archive, propose in waves, race, confirm; policies differ in how they propose.

Everything random is drawn from a stream named by its step, proposals of a wave see the archive as it
was when the wave began, and every decision is noted before the next step builds on it. So a search
that was killed and run again makes the same archive, and the answers it has are not asked for again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from agents.search.context import SearchContext, gather_all
from agents.search.policies import Policy, PolicyView, Proposal
from agents.search.successive_halving import race_group
from harness import BudgetSpent, FatalModelError, ModelError, ProgramRefused
from harness.types import Candidate, Program

TWICE = 1_000
"""Replicate number of the start's second, independent run."""
LEADERS = 3


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
    return proposal


async def refusal(context: SearchContext, program: Program) -> str:
    """Why a program cannot run; a known one can."""
    if program.id in context.archive.candidates:
        return ""
    try:
        return await context.check(program)
    except ProgramRefused as error:
        return str(error)


def admit(context: SearchContext, slot: int, proposal: Proposal | None) -> str | None:
    """Take a proposal into the archive, note what became of its slot, and return the candidate's id.

    Without a proposal the slot was filled before, and the id is the one that was noted then.
    """
    key, archive = f"slot/{slot}", context.archive
    if proposal is None:
        found = str(archive.events[key].get("candidate", ""))
        return found if found in archive.candidates else None
    told = {
        "op": proposal.op,
        "parents": list(proposal.parents),
        "note": proposal.note,
        "log": list(proposal.log),
        "tokens": proposal.tokens,
    }
    if proposal.program is None:
        archive.note(key, {"refused": proposal.refused, **told})
        return None
    name = proposal.program.id
    if name in archive.candidates and archive.candidates[name].slot != slot:
        archive.note(key, {"duplicate": name, **told})
        return None
    archive.add(Candidate(proposal.program, slot, proposal.op, proposal.parents, proposal.note))
    archive.note(key, {"candidate": name, **told})
    return name


def converged(context: SearchContext, made: int) -> bool:
    """Whether the best three stayed the same over the last `patience` proposals."""
    patience = context.section.patience
    if not patience:
        return False
    tops = [tuple(e["leaders"]) for key, e in context.archive.events.items() if key.startswith("wave/")]
    waves = -(-patience // context.section.in_flight)
    return made >= patience and len(tops) > waves and len(set(tops[-waves - 1 :])) == 1
