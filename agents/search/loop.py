"""The loop of a search: answer items with the library, then make proposals and race them.

Up to `in_flight` proposals are made and raced concurrently. Slot s uses the archive of the slots up to s −
`in_flight`, all of which have ended by then, so no proposal waits for the race of another. Each step of the
search has its own stream of random numbers, programs are added in the order of their slots, and every
decision is recorded. So a killed and resumed search produces the same archive, without requesting answers
again.

The race of a proposal follows asynchronous successive halving (Li et al. 2020, MLSys): all proposals answer a
few items, and only those that may win answer many, because most proposals are no better than the existing
candidates. After every rung (a number of items), a proposal continues if it is in the best-scoring share of
the proposals that its slot may use. To continue, it must also have a chance to enter the archive's top five.
All proposals answer the same items in one fixed order, so all comparisons are paired. Confidence sequences
are not used, because with a hundred complementary labels they would drop no proposal.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import ndtr

from oversight.agents.search.context import SearchContext, gather_all
from oversight.agents.search.fitness.board import Board
from oversight.agents.search.policies.proposal import Policy, PolicyView, Proposal
from oversight.harness import (
    UNREADABLE,
    BudgetSpent,
    FatalModelError,
    Fault,
    ModelError,
    OversightError,
    ProgramRefused,
    TransientModelError,
)
from oversight.harness.output import shorten
from oversight.harness.types import Candidate, Item, Program

_LOGGER = logging.getLogger(__name__)
TOP = 5
HOPELESS = 0.05


async def race(context: SearchContext, slot: int, candidate: str, seen: Sequence[str]) -> None:
    """Run a candidate on more and more items, and stop it after any rung at which it is not good enough.

    The candidate competes against `seen`, the candidates that its slot may use. A rung is a number of
    answered items. Every decision is recorded.
    """
    items, archive = context.items("select"), context.archive
    rungs = [n for n in context.section.rungs if n < len(items)]
    keep = context.section.keep
    for n, kept, before in zip(rungs, keep, [1.0, *keep], strict=False):
        await context.answer(candidate, items[:n])
        key = f"race/{slot}/{n}"
        if key not in archive.events:
            board = context.board([*seen, candidate])
            dropped = why_dropped(board, candidate, rivals(context, seen, n), n, kept / before)
            archive.record_decision(key, {"candidate": candidate, "dropped": dropped})
        if archive.events[key]["dropped"]:
            return
    await context.answer(candidate, items)


def rivals(context: SearchContext, seen: Sequence[str], n: int) -> list[str]:
    """Return the proposals in `seen` that answered all of the first n selection items."""
    made = [c for c in seen if context.archive.candidates[c].slot >= 0]
    done = context.archive.table.is_there(made, context.items("select")[:n]).all(axis=1)
    return [made[j] for j in np.flatnonzero(done)]


def why_dropped(board: Board, candidate: str, rivals: Sequence[str], n: int, share: float) -> str:
    """Return the reason to stop a candidate after n items; empty if it continues.

    `share` is the share of the competing proposals that continue after this rung.
    """
    if candidate not in board.places:
        return "no scored answer"
    others = [c for c in board.ranked() if c != candidate]
    # With fewer than TOP other candidates, every candidate is among the best TOP.
    chance = chance_above(board, candidate, others[TOP - 1]) if len(others) >= TOP else 1.0
    if chance < HOPELESS:
        return f"P(in the top {TOP}) = {chance:.3f}"
    values = {c: _value(board, c, n) for c in (candidate, *rivals) if c in board.places}
    room = max(1, math.floor(share * len(values)))
    better = sum(value > values[candidate] for value in values.values())
    return "" if better < room else f"not among the best {room} of {len(values)} on {n} items"


def _value(board: Board, candidate: str, n: int) -> float:
    """Return the candidate's mean score on the first n items; −∞ if none is scored."""
    scores = board.scores[board.places[candidate], :n]
    scored = scores[~np.isnan(scores)]
    return float(scored.mean()) if scored.size else -math.inf


def chance_above(board: Board, candidate: str, other: str) -> float:
    """Return the posterior probability that a candidate has a higher accuracy than another."""
    first, second = board.places[candidate], board.places[other]
    mean, sd = board.shrunk.mean, float(np.hypot(board.shrunk.sd[first], board.shrunk.sd[second]))
    if sd == 0:
        return float(mean[first] >= mean[second])
    return float(ndtr((mean[first] - mean[second]) / sd))


RAISE = "no winner was confirmed: raise the cap, then resume"
ASK_AGAIN = "no winner was confirmed: resume to ask again"
TWICE = 1_000
"""Replicate number of the second, independent run of the start workflow."""
LEADERS = 3
_PASSING = {Fault.RATE_LIMIT, Fault.OVERLOADED, Fault.CONNECTION, Fault.LOST}
"""Temporary faults of the endpoint, which no prompt can cause."""
_SERVERS = {Fault.SERVER, Fault.TIMEOUT}
"""Faults that a prompt may cause, but hardly before the optimiser has written any program."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a search ended.

    Attributes
    ----------
    reason
        ``"done"``, ``"converged"``, or a text that explains the early end.
    proposals
        Number of proposals made.
    is_whole
        Whether the search ended regularly, so that a winner may be named.
    """

    reason: str
    proposals: int
    is_whole: bool = True


async def search(context: SearchContext, policy: Policy) -> Ended:
    """Run or resume a search up to its last proposal.

    Raises
    ------
    FatalModelError, SandboxError
        If the endpoint or the sandbox fails; stored answers are kept.
    """
    slots = _Slots(context, policy)
    try:
        if unreadable := await seed(context):
            return Ended(unreadable, 0, is_whole=False)
        reason = await slots.fill_all()
        # Record the finalists, so that answers stored later do not change them.
        context.archive.record_decision("finalists", {"finalists": context.find_finalists()})
    except BudgetSpent as error:
        return Ended(f"{error}; {RAISE}", slots.ended, is_whole=False)
    except TransientModelError as error:
        return Ended(f"the optimiser's model: {error}; {ASK_AGAIN}", slots.ended, is_whole=False)
    return Ended(reason, slots.ended)


async def seed(context: SearchContext) -> str:
    """Answer all selection items with the library's workflows, and twice with the start workflow (A/A test).

    The items of the first rung are answered first, so that a hopeless search stops before the other items are
    paid for.

    Returns
    -------
    str
        Reason to stop the search, or an empty text. The search stops if the start workflow has no readable
        answer to the items of the first rung, or if the library's other workflows together have none.
    """
    library, items = context.programs, context.items("select")
    for j, program in enumerate(library):
        context.archive.add_candidate(Candidate(program, j - len(library), "library", (), program.thought))
    first = items[: context.section.rungs[0]]
    others = [program.id for program in library[1:]]
    context.progress(f"{len(library)} workflows of the library on {len(items)} items")
    for ids in ([context.start], others):
        await gather_all(*(context.answer(name, first) for name in ids))
        if unreadable := _find_unreadable(context, ids, first):
            return unreadable
    context.progress("the starting workflow a second time, to see how it compares with itself")
    answered = [context.answer(program.id, items[len(first) :]) for program in library]
    await gather_all(*answered, context.answer(context.start, items, TWICE))
    return ""


def _find_unreadable(context: SearchContext, ids: Sequence[str], items: Sequence[Item]) -> str:
    """Return a message if the workflows `ids` have no readable answer to `items`; otherwise an empty text."""
    table = context.archive.table
    has_failed = table.has_failed(ids, items)
    if has_failed.size and has_failed.all():
        return f"every call of {len(ids)} workflows on {len(items)} items failed; {ASK_AGAIN}"
    unreadable = (table.options(ids, items) == UNREADABLE) & ~has_failed
    if not unreadable.size or not unreadable.all():
        return ""
    who = f"the library's {len(ids)} workflows other than the start"
    fix = "set library in study.toml to workflows with readable answers"
    if ids == [context.start]:
        who, fix = f"the start, {context.programs[0].name!r},", "take another model"
    return (
        f"no answer of {who} to {len(items)} items names an option, so no proposal was paid for: read the "
        f"model's replies with `oversight search show --page`, and change style or answer in workflow.toml, "
        f"or {fix}"
    )


@dataclass(slots=True)
class _Slots:
    """The slots of a search, several of which run concurrently.

    Attributes
    ----------
    ended
        Number of ended slots before the first slot that still runs.
    """

    context: SearchContext
    policy: Policy
    ended: int = 0
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _admitted: list[asyncio.Future[None]] = field(default_factory=list)

    async def fill_all(self) -> str:
        """Run all slots, one proposal each. Returns ``"done"``, or ``"converged"`` after an early end."""
        section, reason = self.context.section, "done"
        try:
            for slot in range(section.candidates):
                if slot >= self.context.in_flight:
                    await self._tasks[slot - self.context.in_flight]
                    self.ended += 1
                if converged(self.context, slot):
                    reason = "converged"
                    break
                self._admitted.append(asyncio.get_running_loop().create_future())
                self._tasks.append(asyncio.create_task(self._fill(slot)))
            for task in self._tasks[self.ended :]:
                await task
                self.ended += 1
        except asyncio.CancelledError:
            for task in self._tasks:
                task.cancel()
            raise
        finally:
            # Wait even for cancelled tasks, because calls that they have sent are paid for.
            await asyncio.gather(*self._tasks, return_exceptions=True)
        return reason

    async def _fill(self, slot: int) -> None:
        """Make a proposal, add it to the archive after the proposals of all earlier slots, and race it."""
        context, admitted = self.context, self._admitted[slot]
        seen = context.ended_before(slot)
        try:
            proposal = None
            if f"slot/{slot}" not in context.archive.events:
                view = context.view(context.board(seen), slot)
                _note_leaders(context, view)
                context.progress(f"proposal {slot + 1} of {context.section.candidates}")
                proposal = await propose(context, self.policy, view)
            if slot:
                await self._admitted[slot - 1]
            candidate = admit(context, slot, proposal)
            admitted.set_result(None)
        except BaseException as error:
            admitted.set_exception(error if isinstance(error, Exception) else asyncio.CancelledError())
            # Retrieve the error, because asyncio warns about errors that nobody retrieved.
            admitted.exception()
            raise
        if candidate is not None:
            await race(context, slot, candidate, seen)


def _note_leaders(context: SearchContext, view: PolicyView) -> None:
    """Record the best candidates in a view that answered all selection items; `converged` reads them."""
    ranked = view.board.ranked()
    done = context.find_complete(ranked)
    leaders = [c for c in ranked if c in done][:LEADERS]
    context.archive.record_decision(f"lead/{view.slot}", {"leaders": leaders})


async def propose(context: SearchContext, policy: Policy, view: PolicyView) -> Proposal:
    """Return a proposal whose program runs, after repairs if needed.

    If no program runs, the returned proposal contains the reason instead of a program.

    Raises
    ------
    TransientModelError
        If the optimiser's endpoint has a temporary fault; then the slot can be filled later.
    """
    try:
        proposal = await policy.propose(view)
        for attempt in range(context.debug_tries + 1):
            if proposal.program is None or not (reason := await refusal(context, proposal.program)):
                break
            more = attempt < context.debug_tries
            mended = await policy.repair(view, proposal, reason, attempt) if more else None
            if mended is None:
                log = (*proposal.log, "given up")
                return replace(proposal, program=None, refused=reason, log=log, is_told=True)
            proposal = mended
    except FatalModelError:
        raise
    except ModelError as error:
        passing = _PASSING if _has_proposed(context) else _PASSING | _SERVERS
        if isinstance(error, TransientModelError) and error.fault in passing:
            raise
        return Proposal(None, policy.name, refused=f"the optimiser's model failed: {error}")
    except OversightError:
        raise
    except Exception as error:  # noqa: BLE001  the search continues after any error of a proposal
        return Proposal(None, policy.name, refused=f"the proposal broke ({_describe(error)})")
    return proposal


def _has_proposed(context: SearchContext) -> bool:
    """Whether the archive has a proposal, and not only the workflows with which the search began."""
    return any(candidate.slot >= 0 for candidate in context.archive.candidates.values())


async def refusal(context: SearchContext, program: Program) -> str:
    """Return the reason why a program cannot run; empty if it can run or is already in the archive."""
    if program.id in context.archive.candidates:
        return ""
    try:
        return await context.check(program)
    except ProgramRefused as error:
        return str(error)
    except OversightError:
        raise
    except Exception as error:  # noqa: BLE001  the search continues after any error of a check
        return f"its check broke ({_describe(error)})"


def _describe(error: Exception) -> str:
    return shorten(f"{type(error).__name__}: {error}", 300)


def admit(context: SearchContext, slot: int, proposal: Proposal | None) -> str | None:
    """Add a proposal to the archive, record the outcome of its slot, and return the candidate's id.

    `proposal` is None if the slot was filled earlier; then the recorded id is returned.
    """
    key, archive = f"slot/{slot}", context.archive
    if proposal is None:
        found = str(archive.events[key].get("candidate", ""))
        return found if found in archive.candidates else None
    program = proposal.program
    if program is None:
        became: dict[str, object] = {"refused": proposal.refused, "is_told": proposal.is_told}
    elif program.id in archive.candidates and archive.candidates[program.id].slot != slot:
        became = {"duplicate": program.id}
    else:
        became = {"candidate": program.id}
        archive.add_candidate(Candidate(program, slot, proposal.op, proposal.parents, proposal.note))
    told = {"op": proposal.op, "parents": list(proposal.parents), "note": proposal.note}
    _LOGGER.info("slot %d, %s: %s", slot, proposal.op, next(iter(became.items())))
    archive.record_decision(key, {**became, **told, "log": list(proposal.log), "tokens": proposal.tokens})
    return program.id if program is not None and "candidate" in became else None


def converged(context: SearchContext, slot: int) -> bool:
    """Return whether the three best candidates stayed the same over the last `patience` ended slots."""
    patience, last = context.section.patience, slot - context.in_flight
    if not patience or last < patience:
        return False
    seen = [context.archive.events[f"lead/{s}"]["leaders"] for s in range(last - patience + 1, last + 1)]
    return all(leaders == seen[0] for leaders in seen)
