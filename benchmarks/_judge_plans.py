"""Simulate studies with the cheapest plan of `oversight plan`, and measure whether they keep its promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import oversight as ov
from benchmarks._judge_pool import LETTERS, IntArray, K, Pool, simulate
from benchmarks._real_predictions import ROSTER, collect
from oversight.harness.columns import ItemIndex, LabelColumns, PredictionColumns
from oversight.harness.config import CostsSection
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import draw_in_proportion, guess_right, split_by_agreement
from oversight.harness.judges import PricedPlan, price_plans
from oversight.harness.types import Item, Labels
from oversight.protocols.routing import Sequential, Targeted

PILOT = 150
"""Number of items in a pilot."""
COSTS = CostsSection(question_usd=2.0, question_minutes=1.5, judge_usd=0.01)
_RULES: dict[str, Any] = {"targeted": Targeted, "sequential": Sequential}


@dataclass(frozen=True)
class PlanCell:
    """A study design: number of models, kind of judge, protocol, and the half-width that is planned."""

    models: int
    judge: str
    protocol: str
    half_width: float

    def __str__(self) -> str:
        """Return the name of this cell in the table."""
        return f"{self.models} models, judge {self.judge}, {self.protocol}, ±{self.half_width:g}"


CELLS = (
    PlanCell(1, "calibrated", "targeted", 0.05),
    PlanCell(1, "copying", "targeted", 0.05),
    PlanCell(3, "calibrated", "sequential", 0.05),
    PlanCell(3, "overconfident", "targeted", 0.06),
)
"""The last cell takes five times as long as the others, so ``--quick`` omits it."""


class PlannedStudies:
    """Simulates studies about items of a pool, with the functions that the commands call."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.items = [Item(str(j), "?", tuple(LETTERS), tuple(range(K))) for j in range(pool.size)]
        self.key = {str(j): int(k) for j, k in enumerate(pool.truth)}
        self.index = ItemIndex.of([item.id for item in self.items])

    def plan_and_run(self, cell: PlanCell, seed: int) -> tuple[PricedPlan, float] | None:
        """Plan from a simulated pilot, then simulate the planned study.

        Returns the cheapest plan for the first model, and the half-width that the study reaches; None if no
        plan results from the pilot.
        """
        rng = np.random.default_rng([25, seed])
        names = rng.choice(list(self.pool.models), cell.models, replace=False).tolist()
        options = {name: self.pool.models[name] for name in names}
        models = {name: PredictionColumns(index=self.index, option=each) for name, each in options.items()}
        p = simulate(self.pool, cell.judge, options[names[0]], rng)
        judge = PredictionColumns(index=self.index, option=p.argmax(axis=1), confidence=p.max(axis=1))
        drawn = rng.choice(self.pool.size, PILOT, replace=False)
        labels = self._ask(cell.protocol, options, drawn, np.zeros(self.pool.size, np.int64), seed)
        try:
            plan = ov.plan_from_pilot(
                {names[0]: models[names[0]]},
                LabelColumns.of(labels, self.index),
                judges={"judge": judge},
                voters=models,
                asked_for=names,
                half_width=cell.half_width,
            )
        except EstimateError:
            return None
        mixes = price_plans([plan], COSTS, pool=self.pool.size, judges=1)
        if not mixes:
            return None
        number = min(self.pool.size, round(mixes[0].questions * PILOT / len(labels)))
        return mixes[0], self._run(mixes[0], number, models, judge, seed, rng)

    def _run(
        self,
        plan: PricedPlan,
        number: int,
        models: Mapping[str, PredictionColumns],
        judge: PredictionColumns,
        seed: int,
        rng: np.random.Generator,
    ) -> float:
        """Simulate a study of `number` items, drawn as by ``label route``. Returns its half-width."""
        options = {name: one.option.astype(np.int64) for name, one in models.items()}
        right = guess_right(np.stack(list(options.values()), axis=1), self.pool.n_options)
        stratum = split_by_agreement(right, number)
        drawn = draw_in_proportion(stratum, number, rng, within=split_by_agreement(right, number, each=1))
        is_pool = "pool" in plan.uses
        labels = self._ask(plan.protocol, options, drawn, stratum if is_pool else None, seed + 1)
        keep = np.isin(np.arange(self.pool.size), drawn) | is_pool
        known = {name: one.on(keep) for name, one in models.items()}
        said = LabelColumns.of(labels, self.index)
        made = ov.model_accuracies(known, said, judges={"judge": judge})[plan.model]
        key = "judged" if "judge" in plan.uses else "assisted" if "votes" in plan.uses else next(iter(made))
        return (made[key].high - made[key].low) / 2

    def _ask(
        self,
        protocol: str,
        options: Mapping[str, IntArray],
        drawn: IntArray,
        stratum: IntArray | None,
        seed: int,
    ) -> Labels:
        """Return labels of the drawn items.

        If `stratum` is given, the labels are marked as those of a stratified sample of the pool. If it is
        None, the drawn items are the whole population.
        """
        places = drawn.tolist()
        known = {
            name: {str(j): int(each[j]) if each[j] >= 0 else None for j in places}
            for name, each in options.items()
        }
        labels = collect(_RULES[protocol](ROSTER, known, seed), [self.items[j] for j in places], self.key)
        if stratum is None:
            return labels
        return labels.drawn_from({str(j): str(stratum[j]) for j in places}, pool_size=self.pool.size)
