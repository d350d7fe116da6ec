"""Whether the winner's interval holds: worlds of `search_field` through the project's loop, in memory.

Edits are those of the task. In the other worlds a proposal's accuracy has nothing to do with its parent's:
one is right nine times in ten where all others are right five and a half times, or all are bad.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks._field_ours import Found
from benchmarks._field_task import FieldTask, edit_method, read_method, write_method
from oversight.agents.search import Archive, Kind, SearchContext, confirm_finalists, search, simulated_labels
from oversight.agents.search.policies.proposal import PolicyView, Proposal, draw_leader
from oversight.harness.config import SearchSection
from oversight.harness.types import Item, Prediction, Program

SELECT, CONFIRM = 120, 86
"""Those of the default split of as many items as `_field_ours` has."""
WORLDS = ("edits", "one breakthrough", "all bad")
KINDS: tuple[Kind, ...] = ("natural", "complementary")
_LEVEL = {"edits": 0.44, "one breakthrough": 0.55, "all bad": 0.05}
_OPTIONS = {"edits": 4, "one breakthrough": 10, "all bad": 10}
_LEAP = 0.9
_BY_ITEM = ("n_options", "truth", "refused", "propensities", "routed")


@dataclass
class _Proposer:
    """Changes a parent that is drawn as the project draws it, to the accuracy that the world says."""

    world: str
    leap: int
    name: str = "made"

    async def propose(self, view: PolicyView) -> Proposal:
        parent = draw_leader(view)
        if self.world == "edits":
            text = edit_method(parent.program.source, view.rng)
        else:
            text = write_method(_LEAP if view.slot == self.leap else _LEVEL[self.world], view.slot + 1)
        return Proposal(Program(f"p{view.slot}", text), self.name, (parent.id,))

    async def repair(self, view: PolicyView, proposal: Proposal, reason: str, attempt: int) -> None:
        """Nothing is ever refused."""


def draw_world(world: str, kind: Kind, seed: int) -> Found:
    """One search with default settings."""
    return asyncio.run(_search(world, kind, seed))


async def _search(world: str, kind: Kind, seed: int) -> Found:
    task = FieldTask(_OPTIONS[world], SELECT + CONFIRM, seed)
    options = tuple(str(k) for k in range(task.K))
    items = [Item(f"{i:04}", "", options, tuple(range(task.K))) for i in range(task.n)]
    rng = np.random.default_rng([seed, 4])
    said = simulated_labels(task.truth, np.zeros((0, task.n), np.int64), task.K, kind, rng)
    select = np.arange(SELECT)
    rows = {
        "select": select[np.argsort(-said.ruled_out[select], kind="stable")],  # as a study's search has them
        "confirm": np.arange(SELECT, task.n),
    }
    parts = {name: tuple(items[i] for i in row) for name, row in rows.items()}
    labels = {
        part: replace(
            said,
            items=tuple(item.id for item in parts[part]),
            cluster=row,
            **{name: getattr(said, name)[row] for name in _BY_ITEM},
        )
        for part, row in rows.items()
    }
    calls = 0

    async def evaluate(program: Program, asked: Sequence[Item], run: int) -> list[Prediction]:
        nonlocal calls
        calls += len(asked)
        said = task.answers(program.source, run)
        return [Prediction(x.id, int(said[int(x.id)]), sample=run, output_tokens=1) for x in asked]

    section = SearchSection()
    context = SearchContext(
        section=section,
        seed=seed,
        programs=[Program("start", write_method(_LEVEL[world], 0))],
        archive=Archive(parts),
        labels=labels,
        evaluate=evaluate,
    )
    leap = int(rng.integers(section.candidates)) if world == "one breakthrough" else -1
    await search(context, _Proposer(world, leap))
    winner = await confirm_finalists(context)
    return Found(
        true=read_method(context.archive.candidates[winner.id].program.source)[0],
        reported=winner.reported,
        low=winner.low,
        high=winner.high,
        calls=calls,
        edits=section.candidates,
    )
