"""A search over a simulated task, as the tests need it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from oversight.agents.search import Archive, Kind, SearchContext
from oversight.harness.config import SearchSection
from oversight.harness.types import Item, Prediction, Program
from tests.agents.population import Task


@dataclass
class World:
    """Seven library programs around .6 on a task with selection and confirmation items."""

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
