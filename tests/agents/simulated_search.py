"""Simulate a search: programs with known accuracies and correlated errors, and labels.

A program is right about item i if √ρ·u_i + √(1 − ρ)·e is below the normal quantile of its accuracy; u_i is
the item's difficulty for all programs, e is the program's own noise, and ρ = ½. If it is wrong, it chooses
the item's popular distractor with probability ½, otherwise a uniform wrong option. A twentieth of the
variance of e is redrawn in every run, like sampling at a positive temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import ndtri

from oversight.agents.search import Archive, ExpertLabels, Kind, SearchContext, simulated_labels
from oversight.agents.search.policies.proposal import PolicyView, Proposal, draw_leader
from oversight.harness import IntArray, derive_seed
from oversight.harness.config import SearchSection
from oversight.harness.types import Item, Prediction, Program

RHO, LURE, FRESH = 0.5, 0.5, 0.05


@dataclass
class Task:
    """Items with true options, and the answers of all programs."""

    K: int
    n: int
    seed: int
    calls: int = 0
    items: tuple[Item, ...] = field(init=False)
    truth: IntArray = field(init=False)
    accuracy: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rng = np.random.default_rng([self.seed, 1])
        options = tuple(str(k) for k in range(self.K))
        self.items = tuple(Item(f"{i:05}", "", options, tuple(range(self.K))) for i in range(self.n))
        self.truth = rng.integers(self.K, size=self.n)
        self._difficulty = rng.standard_normal(self.n)
        self._lure = 1 + rng.integers(self.K - 1, size=self.n)

    def program(self, name: str, accuracy: float) -> Program:
        """Return a new program with this accuracy, clipped to [.02, .98]."""
        program = Program(name, f"# {name}: {accuracy!r} of {self.seed}\n")
        self.accuracy[program.id] = float(np.clip(accuracy, 0.02, 0.98))
        return program

    def answers(self, program: Program, run: int = 0) -> IntArray:
        """Return a program's answers to all items, shape (n,)."""
        rng = np.random.default_rng(derive_seed(self.seed, program.id))
        own, offset = rng.standard_normal(self.n), 1 + rng.integers(self.K - 1, size=self.n)
        lured = rng.random(self.n) < LURE
        fresh = np.random.default_rng(derive_seed(self.seed, program.id, str(run))).standard_normal(self.n)
        noise = np.sqrt(1 - FRESH) * own + np.sqrt(FRESH) * fresh
        latent = np.sqrt(RHO) * self._difficulty + np.sqrt(1 - RHO) * noise
        right = latent < ndtri(self.accuracy[program.id])
        wrong = (self.truth + np.where(lured, self._lure, offset)) % self.K
        answers: IntArray = np.where(right, self.truth, wrong)
        return answers

    async def evaluate(self, program: Program, items: Sequence[Item], run: int) -> list[Prediction]:
        """Return a program's predictions, see `oversight.agents.search.context.Evaluate`; count the calls."""
        self.calls += len(items)
        answers = self.answers(program, run)
        return [Prediction(x.id, int(answers[int(x.id)]), sample=run, output_tokens=1) for x in items]

    def labelled(self, rows: slice, kind: Kind, voters: Sequence[Program] = ()) -> ExpertLabels:
        """Return one expert answer about each of these items.

        For `kind` and `voters` see `oversight.agents.search.fitness.power.simulated_labels`.
        """
        rng = np.random.default_rng([self.seed, 2, rows.start or 0])
        votes = np.array([self.answers(p)[rows] for p in voters])
        labelled = simulated_labels(self.truth[rows], votes, self.K, kind, rng)
        return replace(labelled, items=tuple(x.id for x in self.items[rows]))


@dataclass
class FreshDraws:
    """A proposer whose programs do not depend on their parents."""

    task: Task
    mean: float = 0.6
    sd: float = 0.08
    name: str = "fresh"

    async def propose(self, view: PolicyView) -> Proposal:
        accuracy = self.mean + self.sd * view.rng.standard_normal()
        return Proposal(self.task.program(f"p{view.slot}", accuracy), self.name)

    async def repair(self, view: PolicyView, proposal: Proposal, reason: str, attempt: int) -> None:
        """Do nothing, because nothing is refused."""


@dataclass
class Steps:
    """A proposer that adds a small random step to the accuracy of a drawn parent."""

    task: Task
    sd: float = 0.04
    name: str = "steps"

    async def propose(self, view: PolicyView) -> Proposal:
        parent = draw_leader(view).id
        accuracy = self.task.accuracy[parent] + self.sd * view.rng.standard_normal()
        return Proposal(self.task.program(f"p{view.slot}", accuracy), self.name, (parent,))

    async def repair(self, view: PolicyView, proposal: Proposal, reason: str, attempt: int) -> None:
        """Do nothing, because nothing is refused."""


@dataclass
class World:
    """A simulated task with a search whose seven library programs have accuracies around .6."""

    seed: int = 0
    K: int = 5
    select: int = 120
    confirm: int = 0
    test: int = 0
    kind: Kind = "natural"
    search_seed: int = 0
    section: SearchSection = field(default_factory=lambda: SearchSection(candidates=8))

    def __post_init__(self) -> None:
        sizes = {"select": self.select, "confirm": self.confirm, "test": self.test}
        self.task = Task(self.K, sum(sizes.values()), self.seed)
        rng = np.random.default_rng([self.seed, 5])
        accuracies = np.clip(0.6 + 0.08 * rng.standard_normal(7), 0.1, 0.9)
        self.library = [self.task.program(f"lib{j}", float(a)) for j, a in enumerate(accuracies)]
        self.asked: list[tuple[str, str, int]] = []
        parts, labels, start = {}, {}, 0
        for name, size in sizes.items():
            rows = slice(start, start + size)
            start += size
            if size:
                parts[name] = self.task.items[rows]
                labels[name] = self.task.labelled(rows, self.kind, self.library)
        self.state = SearchContext(
            section=self.section,
            seed=self.search_seed,
            programs=self.library,
            archive=Archive(parts),
            labels=labels,
            evaluate=self.evaluate,
        )

    async def evaluate(self, program: Program, items: Sequence[Item], run: int) -> list[Prediction]:
        self.asked += [(program.id, item.id, run) for item in items]
        return await self.task.evaluate(program, items, run)
