"""The search: seed the archive, propose in waves, race, confirm; policies differ in how they propose.

Everything random is drawn from a stream named by its step, proposals of a wave see the archive as it
was when the wave began, and every decision is noted before the next step builds on it. So a search
that was killed and run again makes the same archive, and the answers it has are not asked for again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents.programs import Program
from agents.search.archive import Candidate
from agents.search.loop.context import Policy, PolicyView, Proposal, SearchContext, gather_all
from agents.search.loop.successive_halving import race_group
from harness import BudgetSpent, FatalModelError, ModelError, ProgramRefused

TWICE = 1_000
"""Replicate number of the start's second, independent run."""
LEADERS = 3


@dataclass(frozen=True, slots=True)
class Ended:
    """Why no more proposals were made: ``"done"``, ``"converged"``, or the budget's message."""

    reason: str
    proposals: int


async def search(state: SearchContext, policy: Policy, library: Sequence[Program]) -> Ended:
    """Run or go on with a search up to its last proposal.

    Parameters
    ----------
    library
        Workflows to start from; ``state.start`` must be the id of one of them.

    Raises
    ------
    FatalModelError, SandboxError
        What was answered is kept.
    """
    made = 0
    try:
        await seed(state, library)
        while made < state.settings.candidates:
            made = await wave(state, policy, made)
            if converged(state, made):
                return Ended("converged", made)
    except BudgetSpent as error:
        return Ended(str(error), made)
    return Ended("done", made)


async def seed(state: SearchContext, library: Sequence[Program]) -> None:
    """Answer the library's workflows on all selection items, and the start once more for A/A."""
    for j, program in enumerate(library):
        state.archive.add(Candidate(program, j - len(library), "library", (), program.thought))
    items = state.items("select")
    state.progress(f"{len(library)} workflows of the library on {len(items)} items")
    await gather_all(*(state.answer(state.archive.candidates[p.id], items) for p in library))
    start = state.archive.candidates[state.start]
    state.progress("the starting workflow a second time, to see how it compares with itself")
    await state.answer(start, items, TWICE)


async def wave(state: SearchContext, policy: Policy, first: int) -> int:
    """Make, race and note the next proposals; return the number made so far."""
    count = min(state.settings.in_flight, state.settings.candidates - first)
    key = f"wave/{first}"
    if key in state.archive.events:
        return first + count
    earlier = [c.id for c in state.archive.candidates.values() if c.slot < first]
    board = state.board(earlier)
    views = [PolicyView(state, board, slot, state.rng("slot", slot)) for slot in range(first, first + count)]
    state.progress(f"proposals {first + 1}–{first + count} of {state.settings.candidates}")
    proposals = await gather_all(*(fill(state, policy, view) for view in views))
    group = [c for view, p in zip(views, proposals, strict=True) if (c := admit(state, view.slot, p))]
    await race_group(state, str(first), group)
    leaders = [c for c in state.board().ranked() if complete(state, c)][:LEADERS]
    state.archive.note(key, {"candidates": [c.id for c in group], "leaders": leaders})
    return first + count


async def fill(state: SearchContext, policy: Policy, view: PolicyView) -> Proposal | None:
    """Get one proposal that runs; None if its slot was filled before."""
    if f"slot/{view.slot}" in state.archive.events:
        return None
    try:
        proposal = await policy.propose(view)
        for attempt in range(state.settings.debug_tries + 1):
            if proposal.program is None:
                break
            reason = await refusal(state, proposal.program)
            if not reason:
                return proposal
            mended = None
            if attempt < state.settings.debug_tries:
                mended = await policy.repair(view, proposal, reason, attempt)
            if mended is None:
                return _without(proposal, reason)
            proposal = mended
    except FatalModelError:
        raise
    except ModelError as error:
        return Proposal(None, policy.name, refused=f"the optimiser's model failed: {error}")
    return proposal


async def refusal(state: SearchContext, program: Program) -> str:
    """Why a program cannot run; a known one can."""
    if program.id in state.archive.candidates:
        return ""
    try:
        return await state.check(program)
    except ProgramRefused as error:
        return str(error)


def admit(state: SearchContext, slot: int, proposal: Proposal | None) -> Candidate | None:
    """Take a proposal into the archive, and note what became of its slot."""
    key = f"slot/{slot}"
    known = state.archive.events.get(key)
    if known is not None:
        return state.archive.candidates.get(str(known.get("candidate", "")))
    if proposal is None or proposal.program is None:
        reason = proposal.refused if proposal else ""
        state.archive.note(key, _outcome(proposal, {"refused": reason}))
        return None
    program = proposal.program
    if program.id in state.archive.candidates and state.archive.candidates[program.id].slot != slot:
        state.archive.note(key, _outcome(proposal, {"duplicate": program.id}))
        return None
    candidate = Candidate(program, slot, proposal.op, proposal.parents, proposal.note)
    state.archive.add(candidate)
    state.archive.note(key, _outcome(proposal, {"candidate": program.id}))
    return candidate


def complete(state: SearchContext, candidate: str) -> bool:
    """Whether a candidate was answered on all selection items."""
    runs = range(state.settings.replicates)
    return all(not state.archive.missing(candidate, run, state.items("select")) for run in runs)


def converged(state: SearchContext, made: int) -> bool:
    """Whether the best three stayed the same over the last `patience` proposals."""
    patience = state.settings.patience
    if not patience:
        return False
    tops = [tuple(e["leaders"]) for key, e in state.archive.events.items() if key.startswith("wave/")]
    waves = -(-patience // state.settings.in_flight)
    return made >= patience and len(tops) > waves and len(set(tops[-waves - 1 :])) == 1


def _without(proposal: Proposal, reason: str) -> Proposal:
    log = (*proposal.log, "given up")
    return Proposal(None, proposal.op, proposal.parents, proposal.note, reason, log, proposal.tokens)


def _outcome(proposal: Proposal | None, what: dict[str, Any]) -> dict[str, Any]:
    if proposal is None:
        return what
    more = {"op": proposal.op, "parents": list(proposal.parents), "note": proposal.note}
    return {**what, **more, "log": list(proposal.log), "tokens": proposal.tokens}
