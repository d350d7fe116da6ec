"""A slot of a search: a proposal, its repairs, what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from oversight.agents.search import search
from oversight.agents.search.policies.proposal import PolicyView, Proposal
from oversight.harness import ProgramRefused, TransientModelError
from oversight.harness.config import SearchSection
from oversight.harness.types import Item, Prediction, Program
from tests.agents.simulated_search import FreshDraws, World


class Scripted:
    """Proposes given programs, then repairs with given others."""

    name = "scripted"

    def __init__(self, proposals: Sequence[Program | Exception], repairs: Sequence[Program] = ()) -> None:
        self.proposals, self.repairs = list(proposals), list(repairs)
        self.reasons: list[str] = []

    async def propose(self, view: PolicyView) -> Proposal:
        found = self.proposals[view.slot]
        if isinstance(found, Exception):
            raise found
        return Proposal(found, self.name)

    async def repair(self, _: PolicyView, __: Proposal, reason: str, ___: int) -> Proposal | None:
        self.reasons.append(reason)
        return Proposal(self.repairs.pop(0), self.name) if self.repairs else None


def test_every_slot_records_its_outcome() -> None:
    world = World(section=SearchSection(candidates=4, in_flight=4))
    good, bad, mended = (world.task.program(n, 0.6) for n in ("good", "bad", "mended"))
    tried: list[str] = []

    async def check(program: Program) -> str:
        tried.append(program.name)
        if program.name == "refused":
            raise ProgramRefused("may not use open")
        return "it crashes" if program.name == "bad" else ""

    world.state = replace(world.state, check=check)
    policy = Scripted([good, bad, good, TransientModelError("cut off")], [Program("refused", "?"), mended])
    asyncio.run(search(world.state, policy))
    events = world.state.archive.events
    assert events["slot/0"]["candidate"] == good.id
    assert events["slot/1"]["candidate"] == mended.id
    assert events["slot/2"]["duplicate"] == good.id
    assert "cut off" in events["slot/3"]["refused"]
    assert policy.reasons == ["it crashes", "may not use open"]
    assert tried.count("bad") == 1
    # The search scores the code that ran: the repaired program, not the proposed one.
    assert bad.id not in world.state.archive.candidates
    assert mended.id in world.state.board().places


def test_number_of_repairs_is_limited() -> None:
    world = World(section=SearchSection(candidates=1))
    world.state = replace(world.state, debug_tries=2)

    async def check(program: Program) -> str:
        return "it crashes"

    world.state = replace(world.state, check=check)
    programs = [world.task.program(f"p{j}", 0.6) for j in range(9)]
    policy = Scripted(programs[:1], programs[1:])
    asyncio.run(search(world.state, policy))
    assert policy.reasons == ["it crashes"] * 2
    assert world.state.archive.events["slot/0"]["refused"] == "it crashes"


def test_interrupt_does_not_wait_for_races() -> None:
    world = World(section=SearchSection(candidates=4, in_flight=4))
    asked = asyncio.Event()

    async def evaluate(program: Program, items: Sequence[Item], run_: int) -> list[Prediction]:
        if program.name.startswith("p"):
            asked.set()
            await asyncio.Event().wait()  # simulates an endpoint that never answers
        return await world.task.evaluate(program, items, run_)

    async def interrupted() -> None:
        world.state = replace(world.state, evaluate=evaluate)
        task = asyncio.create_task(search(world.state, FreshDraws(world.task)))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 10)

    asyncio.run(interrupted())
