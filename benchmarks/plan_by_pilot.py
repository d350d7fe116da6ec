"""Do planned questions buy the half-width that they were planned for?

Six simulated models of accuracy .7 that agree as language models do, a judge, and a pool of 3,000 items of
five options. By 200 answered items the questions are planned that a half-width of .05 takes with everything
that may be made use of; as many are then drawn and answered, and estimated through the public calls. A plan
promises that at least 80 % of studies reach the half-width. The last line is JSON: for every protocol the
mean half-width over the wished one, and the share of studies that reach it.

    python benchmarks/plan_by_pilot.py [--quick] [--draws N]
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from oversight import harness as h
from oversight.harness import FloatArray, IntArray
from oversight.harness.estimate import (
    PlannedRow,
    draw_in_proportion,
    guess_right,
    split_by_agreement,
    synthesise_population,
)
from oversight.harness.types import Item, Labels, Prediction
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Partitioned, Sequential, Targeted, one_expert_per_class

MAIN = ("ml", "routed", "resolved")


@dataclass(frozen=True)
class Design:
    """A study to plan: what is asked, for how many models, and how good they are."""

    protocol: str
    asked_for: int = 6
    accuracies: tuple[float, ...] = (0.7,) * 6
    options: int = 5
    pool: int = 3_000
    pilot: int = 200
    width: float = 0.05
    unreadable: float = 0.0

    @property
    def name(self) -> str:
        """In a table."""
        return f"{self.protocol}, {self.asked_for} model{'s' * (self.asked_for > 1)}"


DESIGNS = (
    Design("partitioned"),
    Design("targeted"),
    Design("targeted", asked_for=1),
    Design("sequential"),
)


@dataclass(frozen=True)
class Population:
    """Items with truth, shape (N,), models' answers, shape (N, M), and a judge's, with how sure it is."""

    design: Design
    items: list[Item]
    truth: IntArray
    options: IntArray
    judge: tuple[IntArray, FloatArray]

    @classmethod
    def draw(cls, design: Design, rng: np.random.Generator) -> Population:
        """Models and judge, who is right of four items in five, share what is difficult."""
        truth, options = synthesise_population(design.pool, design.options, [*design.accuracies, 0.8], rng)
        sign = np.where(options[:, -1] == truth, 1.5, -1.5) + rng.standard_normal(design.pool)
        options[:, :-1][rng.random((design.pool, len(design.accuracies))) < design.unreadable] = -1
        names = tuple(f"c{k}" for k in range(design.options))
        items = [Item(f"i{j}", "t", names, tuple(range(design.options))) for j in range(design.pool)]
        return cls(design, items, truth, options[:, :-1], (options[:, -1], 1 / (1 + np.exp(-sign))))

    @property
    def names(self) -> list[str]:
        """Of the models."""
        return [f"m{m}" for m in range(self.options.shape[1])]

    def predict(self, places: Iterable[int]) -> dict[str, list[Prediction]]:
        """What every model answers to some items."""
        rows = list(places)
        return {
            name: [read(self.items[j], self.options[j, m]) for j in rows] for m, name in enumerate(self.names)
        }

    def hear(self, places: Iterable[int]) -> dict[str, list[Prediction]]:
        """What the judge says of them."""
        option, sure = self.judge
        return {"wise": [read(self.items[j], option[j], float(sure[j])) for j in places]}

    def ask(self, places: Sequence[int], seed: int) -> tuple[Labels, int]:
        """Put the protocol's questions about some items; the labels, and the number of questions."""
        roster = one_expert_per_class(self.items[0].options)
        experts = SimulatedExperts({i.id: int(t) for i, t in zip(self.items, self.truth, strict=True)})
        chosen = [self.items[j] for j in places]
        known = {
            name: {
                i.id: int(k) if k >= 0 else None for i, k in zip(self.items, self.options[:, m], strict=True)
            }
            for m, name in enumerate(self.names[: self.design.asked_for])
        }
        if self.design.protocol != "sequential":
            rule = Partitioned if self.design.protocol == "partitioned" else Targeted
            plan = Partitioned(roster, seed) if rule is Partitioned else Targeted(roster, known, seed)
            answers = list(experts.answer(plan.route(chosen)))
            return h.decode(answers), len(answers)
        asks_on, answers = Sequential(roster, known, seed), []
        while new := asks_on.next_questions(chosen, answers):
            answers += experts.answer(new)
        return h.decode(answers), len(answers)


def read(item: Item, option: int, sure: float | None = None) -> Prediction:
    """One prediction; −1 is unreadable."""
    if option < 0:
        return Prediction(item.id, None, h.PredictionStatus.UNREADABLE, "none")
    return Prediction(item.id, int(option), confidence=sure)


@dataclass
class Seen:
    """What came of plans of one use: questions planned, half-widths, and whether intervals held."""

    planned: list[int] = field(default_factory=list)
    ends: list[tuple[float, float]] = field(default_factory=list)
    halves: list[float] = field(default_factory=list)


def plan_once(people: Population, seed: int) -> tuple[list[PlannedRow], float]:
    """The first model's rows by a pilot about items drawn at random, and questions an item."""
    design, rng = people.design, np.random.default_rng([1, seed])
    places = np.sort(rng.permutation(design.pool)[: design.pilot]).tolist()
    labels, asked = people.ask(places, seed)
    everywhere = range(design.pool)
    models = people.predict(everywhere)
    made = h.plan_from_pilot(
        {"m0": models["m0"]},
        labels,
        voters=models,
        judges=people.hear(everywhere),
        asked_for=people.names[: design.asked_for],
        half_width=design.width,
    )
    return [row for row in made.rows if row.questions], asked / design.pilot


def spend(people: Population, row: PlannedRow, cost: float, seed: int) -> float:
    """Half the interval that a row's questions really buy."""
    rng, parts, size = np.random.default_rng([2, seed]), row.uses.split("+"), people.design.pool
    number = min(size, round((row.questions or 0) / cost))
    if "pool" in parts:
        right = guess_right(people.options, np.full(size, people.design.options))
        stratum = split_by_agreement(right[:, : people.design.asked_for], number)
        places = draw_in_proportion(stratum, number, rng).tolist()
        labels, _ = people.ask(places, 10_000 + seed)
        drawn = {people.items[j].id: str(stratum[j]) for j in places}
        labels, known = labels.drawn_from(drawn, pool_size=size), range(size)
    else:
        places = np.sort(rng.permutation(size)[:number]).tolist()
        labels, known = people.ask(places, 10_000 + seed)[0], places
    models = people.predict(known)
    used = models if "votes" in parts else {"m0": models["m0"]}
    found = h.model_accuracies(used, labels, judges=people.hear(known) if "judge" in parts else None)["m0"]
    names = ("assisted",) if "votes" in parts else ("judged",) if "judge" in parts else MAIN
    estimate = next(found[name] for name in names if name in found)
    return (estimate.high - estimate.low) / 2


def come_true(design: Design, draws: int, *, first: int = 0) -> dict[str, Seen]:
    """Plans of one design, and what they buy, by what is made use of."""
    found = defaultdict[str, Seen](Seen)
    for seed in range(first, first + draws):
        people = Population.draw(design, np.random.default_rng([0, seed]))
        rows, cost = plan_once(people, seed)
        for row in rows:
            seen = found[row.uses]
            seen.planned.append(row.questions or 0)
            seen.ends.append((row.low or 0.0, row.high or 0.0))
            seen.halves.append(spend(people, row, cost, seed))
    return dict(found)


def tell(design: Design, found: dict[str, Seen]) -> Iterator[str]:
    """A line a use."""
    for uses, seen in found.items():
        questions, ratio = np.mean(seen.planned), np.mean(seen.halves) / design.width
        middle = float(np.median(seen.planned))
        inside = np.mean([low <= middle <= high for low, high in seen.ends])
        yield (
            f"{design.name:22} {uses:10} {questions:6.0f} questions, sd {np.std(seen.planned):4.0f}, "
            f"{inside:4.0%} of brackets hold their median, half-width {ratio:.2f} of the wished one, "
            f"reached in {reached_in(design, seen):.0%}"
        )


def reached_in(design: Design, seen: Seen) -> float:
    """Share of studies whose half-width is at most the wished one."""
    return float(np.mean(np.array(seen.halves) <= design.width + 1e-9))


def main() -> None:
    """Print a line a design and use."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--draws", type=int)
    options = parser.parse_args()
    last: dict[str, dict[str, list[float]]] = {}
    for design in DESIGNS:
        found = come_true(design, options.draws or (2 if options.quick else 40))
        print("\n".join(tell(design, found)), flush=True)
        last[design.name] = {
            uses: [round(float(np.mean(seen.halves)) / design.width, 2), round(reached_in(design, seen), 2)]
            for uses, seen in found.items()
        }
    print(json.dumps(last))


if __name__ == "__main__":
    main()
