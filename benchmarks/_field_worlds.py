"""Run the project's search in memory, in several simulated worlds and with real data, to check intervals.

In the world ``"edits"`` and with real data, proposals are edits of a parent. In the other worlds, a
proposal's accuracy does not depend on its parent: one proposal has accuracy .9 and all others .55 (``"one
breakthrough"``), or all have accuracy .05 (``"all bad"``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks._field_ours import Found, Labels, refused_options
from benchmarks._field_real import RealTask, first_method
from benchmarks._field_task import FieldTask, edit_method, write_method
from oversight.agents.search import (
    Archive,
    ExpertLabels,
    Kind,
    SearchContext,
    confirm_finalists,
    score_items,
    search,
    simulated_labels,
)
from oversight.agents.search.policies.proposal import PolicyView, Proposal, draw_leader
from oversight.harness.config import SearchSection
from oversight.harness.types import Item, Prediction, PredictionStatus, Program

SELECT, CONFIRM, TEST = 120, 86, 86
REAL_ITEMS = SELECT + CONFIRM + TEST
"""Number of items in a real task; `SELECT`, `CONFIRM` and `TEST` are as in a study of `_field_ours`."""
WORLDS = ("edits", "one breakthrough", "all bad")
KINDS: tuple[Kind, ...] = ("natural", "complementary")
_LEVEL = {"edits": 0.44, "one breakthrough": 0.55, "all bad": 0.05}
_OPTIONS = {"edits": 4, "one breakthrough": 10, "all bad": 10}
_LEAP = 0.9
_BY_ITEM = ("n_options", "truth", "refused", "propensities", "routed")


@dataclass
class _Proposer:
    """Proposes an edit of a parent drawn by the project's rule, or `of_slot(slot)` if `of_slot` is given."""

    edit: Callable[[str, np.random.Generator], str]
    of_slot: Callable[[int], str] | None = None
    name: str = "made"

    async def propose(self, view: PolicyView) -> Proposal:
        parent = draw_leader(view)
        text = self.edit(parent.program.source, view.rng) if self.of_slot is None else self.of_slot(view.slot)
        return Proposal(Program(f"p{view.slot}", text), self.name, (parent.id,))

    async def repair(self, view: PolicyView, proposal: Proposal, reason: str, attempt: int) -> None:
        """Do nothing, because no program is refused."""


def draw_world(world: str, kind: Kind, seed: int) -> Found:
    """Run one search with default settings in a simulated world."""
    task = FieldTask(_OPTIONS[world], SELECT + CONFIRM, seed)
    rng = np.random.default_rng([seed, 4])
    context, counted, _ = _set_up(task, kind, write_method(_LEVEL[world], 0), rng)
    proposer = _Proposer(edit_method)
    if world != "edits":
        leap = int(rng.integers(context.section.candidates)) if world == "one breakthrough" else -1
        proposer.of_slot = lambda slot: write_method(_LEAP if slot == leap else _LEVEL[world], slot + 1)
    return asyncio.run(_search(context, proposer, task, counted))[0]


def draw_real(kind: Kind, seed: int) -> tuple[Found, Labels, float]:
    """Run one search with real data. Returns its result, all labels, and the winner's score on test items."""
    task = RealTask(REAL_ITEMS, seed)
    rng = np.random.default_rng([seed, 4])
    context, counted, said = _set_up(task, kind, first_method(), rng)
    found, source = asyncio.run(_search(context, _Proposer(task.edit), task, counted))
    answers = task.answers(source)[[int(item.id) for item in context.items("test")]]
    test = float(score_items(answers[None], context.labels["test"])[0].mean())
    rows = np.arange(SELECT + CONFIRM)
    truth, refused = said.truth[rows], refused_options(said)[rows]
    return found, Labels(rows=rows, truth=truth, refused=refused, sizes=(0, SELECT, CONFIRM)), test


def _set_up(
    task: FieldTask | RealTask, kind: Kind, start: str, rng: np.random.Generator
) -> tuple[SearchContext, list[int], ExpertLabels]:
    """Return a search with default settings, an empty list, and all labels.

    The search appends to the list the number of calls of each evaluation.
    """
    said = simulated_labels(task.truth, np.zeros((0, task.n), np.int64), task.K, kind, rng)
    options = tuple(str(k) for k in range(task.K))
    items = [Item(f"{i:04}", "", options, tuple(range(task.K))) for i in range(task.n)]
    select = np.arange(SELECT)
    rows = {
        "select": select[np.argsort(-said.ruled_out[select], kind="stable")],  # sorted as by `order_by_worth`
        "confirm": np.arange(SELECT, SELECT + CONFIRM),
        "test": np.arange(SELECT + CONFIRM, task.n),
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
    counted: list[int] = []

    async def evaluate(program: Program, asked: Sequence[Item], run: int) -> list[Prediction]:
        counted.append(len(asked))
        found = task.answers(program.source, run)
        status = [PredictionStatus.UNREADABLE, PredictionStatus.OK]
        return [
            Prediction(item.id, None if k < 0 else k, status[k >= 0], sample=run, output_tokens=1)
            for item, k in zip(asked, found[[int(item.id) for item in asked]].tolist(), strict=True)
        ]

    context = SearchContext(
        section=SearchSection(),
        seed=task.seed,
        programs=[Program("start", start)],
        archive=Archive(parts),
        labels=labels,
        evaluate=evaluate,
    )
    return context, counted, said


async def _search(
    context: SearchContext, proposer: _Proposer, task: FieldTask | RealTask, counted: Sequence[int]
) -> tuple[Found, str]:
    """Run a search. Returns its result, and the winner's source."""
    await search(context, proposer)
    winner = await confirm_finalists(context)
    source = context.archive.candidates[winner.id].program.source
    found = Found(
        true=task.accuracy(source),
        reported=winner.reported,
        low=winner.low,
        high=winner.high,
        calls=sum(counted),
        edits=context.section.candidates,
    )
    return found, source
