"""Compare searches: true accuracy of the pick, its cost, and the bias of its report.

Three parts, all on simulated populations (fixed seeds) and at equal expert answers:

1. One population of 30 programs, 120 items, one expert answer each. Rules: raw q on complementary labels
   over all items, as ADAS and AFlow rank; ours: likelihood on natural answers, the same on answers routed
   by the programs' votes, both over all items and in races of 30/60/120.
2. How many of the calls a race needs to choose as well as raw q does with all of them.
3. Whole searches through the project's own loop: 7 library programs, 23 proposals that are fresh draws
   (ADAS) or small steps from a selected parent (AFlow, 3 runs per item in the published form).

Regret is the best accuracy minus the pick's; the winner's bias is the reported minus the true accuracy. The
last line is JSON.

    python benchmarks/search.py [--quick]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import dataclass

import numpy as np

from benchmarks._simulated_search import FreshDraws, Steps, Task, spread
from oversight.agents.search import (
    Archive,
    ExpertLabels,
    Kind,
    Policy,
    SearchContext,
    confirm_finalists,
    score_items,
    search,
    shrink_scores,
    simulated_labels,
)
from oversight.harness import FloatArray, IntArray
from oversight.harness.config import SearchSection
from oversight.harness.estimate import synthesise_population

OPTIONS = (4, 5, 10, 16)
PROGRAMS, ITEMS, MEAN, SD = 30, 120, 0.6, 0.08
RUNGS, KEEP = (30, 60, 120), (0.5, 0.25)
TARGETS = {"regret_vs_raw_q": 2 / 3, "calls_at_equal_regret": 0.5, "winner_bias": 0.02}


@dataclass(frozen=True)
class Population:
    """True accuracies, truth and answers of many programs."""

    true: FloatArray
    truth: IntArray
    answers: IntArray
    rng: np.random.Generator

    @classmethod
    def draw(cls, K: int, seed: int) -> Population:
        """Thirty programs with accuracies N(.6, .08)."""
        rng = np.random.default_rng([K, seed])
        true = np.clip(rng.normal(MEAN, SD, PROGRAMS), 0.05, 0.95)
        truth, predicted = synthesise_population(
            ITEMS, K, true.tolist(), rng, correlation=0.5, temptation=0.5
        )
        return cls(true, truth, predicted.T, rng)

    def labelled(self, K: int, kind: Kind) -> ExpertLabels:
        """One expert answer per item; routed ones by the votes of all programs."""
        return simulated_labels(self.truth, self.answers, K, kind, self.rng)

    def regret(self, pick: int) -> float:
        """Accuracy lost compared with the best program."""
        return float(self.true.max() - self.true[pick])


def race(scores: FloatArray, rungs: tuple[int, ...]) -> tuple[int, float, float]:
    """Successive halving on per-item scores: the pick, its reported accuracy, the share of calls made."""
    seen = np.full_like(scores, np.nan)
    alive: IntArray = np.arange(len(scores))
    calls = before = 0
    for step, n in enumerate(rungs):
        seen[alive, before:n] = scores[alive, before:n]
        calls += len(alive) * (n - before)
        before = n
        found = shrink_scores(seen)
        if n < rungs[-1]:
            room = max(1, int(len(scores) * KEEP[step]))
            alive = alive[np.argsort(-found.mean[alive])][:room]
    best = alive[np.argmax(found.mean[alive])]
    return int(best), float(found.mean[best]), calls / scores.size


RULES: dict[str, tuple[Kind, str, tuple[int, ...]]] = {
    "raw q, all items": ("complementary", "raw", (ITEMS,)),
    "ML, natural answers": ("natural", "ml", (ITEMS,)),
    "ML, natural, raced": ("natural", "ml", RUNGS),
    "routed answers": ("routed", "ml", (ITEMS,)),
    "routed, raced": ("routed", "ml", RUNGS),
}


def populations(K: int, repetitions: int) -> dict[str, FloatArray]:
    """Rule → (regret, bias, calls) of every repetition."""
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in RULES}
    for seed in range(repetitions):
        population = Population.draw(K, seed)
        known: dict[tuple[str, str], FloatArray] = {}
        for name, (kind, estimator, rungs) in RULES.items():
            if (kind, estimator) not in known:
                labelled = population.labelled(K, kind)
                known[kind, estimator] = score_items(population.answers, labelled, estimator)
            scores = known[kind, estimator]
            if estimator == "raw":
                pick = int(scores.mean(axis=1).argmax())
                q = float(scores[pick].mean())
                reported, calls = (K - 1) * q - (K - 2), 1.0  # on the accuracy scale, as published
            else:
                pick, reported, calls = race(scores, rungs)
            rows[name].append((population.regret(pick), reported - float(population.true[pick]), calls))
    return {name: np.array(found) for name, found in rows.items()}


def fewer_calls(K: int, repetitions: int, bar: float) -> float:
    """Smallest share of calls at which a race on routed answers has a regret of at most `bar`."""
    for top in (24, 32, 40, 48, 60, 80, 100, 120):
        rungs = (top // 4, top // 2, top)
        found = []
        for seed in range(repetitions):
            population = Population.draw(K, seed)
            scores = score_items(population.answers, population.labelled(K, "routed"), "ml")
            pick, _, calls = race(scores[:, :top], rungs)
            found.append((population.regret(pick), calls * top / ITEMS))
        regret, share = np.mean(found, axis=0)
        if regret <= bar:
            return float(share)
    return 1.0


@dataclass(frozen=True)
class Way:
    """A whole search: labels, settings, and number of new items for confirmation."""

    kind: Kind
    section: SearchSection
    confirm: int = 0
    published: bool = False


PROPOSALS = 23
PUBLISHED = SearchSection(candidates=PROPOSALS, parity="raw", rungs=[ITEMS], keep=[], finalists=1)
WAYS = {
    "published, raw q": Way("complementary", PUBLISHED, 0, True),
    "ML, natural": Way("natural", SearchSection(candidates=PROPOSALS)),
    "routed": Way("routed", SearchSection(candidates=PROPOSALS)),
    "routed, 80 + 40 confirmed": Way("routed", SearchSection(candidates=PROPOSALS, rungs=[20, 40, 80]), 40),
}


async def whole(K: int, seed: int, way: Way, policy: str) -> tuple[float, float, float]:
    """True accuracy of the winner, bias of its report, and calls, for a search that starts at .5."""
    section, search_seed = way.section, 0
    if policy == "steps" and way.published:
        search_seed = seed
        section = PUBLISHED.model_copy(update={"candidates": 20, "in_flight": 1, "replicates": 3})
    select = section.rungs[-1]
    task = Task(K, select + way.confirm, seed)
    rng = np.random.default_rng([seed, 5])
    mean = 0.5 if policy == "steps" else MEAN
    library = [task.program(f"library {j}", mean + SD * rng.standard_normal()) for j in range(7)]
    cuts = {"select": slice(0, select), "confirm": slice(select, None)}
    parts = {name: task.items[rows] for name, rows in cuts.items() if task.items[rows]}
    labels = {name: task.labelled(cuts[name], way.kind, library) for name in parts}
    state = SearchContext(
        section=section,
        seed=search_seed,
        programs=library,
        archive=Archive(parts),
        labels=labels,
        evaluate=task.evaluate,
    )
    proposer: Policy = Steps(task) if policy == "steps" else FreshDraws(task)
    await search(state, proposer)
    winner = await confirm_finalists(state)
    true = task.accuracy[winner.id]
    reported = winner.reported
    if way.published:
        reported = (K - 1) * winner.naive - (K - 2)
    return true, reported - true, float(task.calls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, under 60 s")
    args = parser.parse_args()
    many, some = (80, 2) if args.quick else (400, 20)
    started = time.perf_counter()
    ratios: dict[str, dict[str, float]] = {}
    shares: dict[str, float] = {}
    biases: dict[str, float] = {}
    print(f"1. {PROGRAMS} programs, {ITEMS} items and expert answers, {many} populations: points")
    for K in OPTIONS:
        found = populations(K, many)
        bar = float(found["raw q, all items"][:, 0].mean())
        for name, rows in found.items():
            regret, bias, calls = rows.mean(axis=0)
            print(
                f"   K = {K:<2} {name:20} regret {100 * regret:5.2f} ± {100 * spread(rows[:, 0]):.2f} "
                f"({regret / bar:.2f} of raw q)  winner's bias {100 * bias:+6.2f}  calls {100 * calls:3.0f} %"
            )
            if name != "raw q, all items":
                ratios.setdefault(name, {})[str(K)] = round(float(regret / bar), 3)
        biases |= {f"{name}, K={K}": float(found[name][:, 1].mean()) for name in found if "raw" not in name}
        shares[str(K)] = round(fewer_calls(K, many, bar), 3)
    print("2. share of the calls with which a race on routed answers regrets no more than raw q on all:")
    print("   " + "  ".join(f"K = {K}: {100 * share:.0f} %" for K, share in shares.items()))
    searches(some)
    summarise(ratios, shares, biases, time.perf_counter() - started)


def searches(repetitions: int) -> None:
    """Part 3."""
    print(f"3. whole searches, {repetitions} each: true accuracy of the pick, bias of its report, calls")
    for policy, label in (("fresh", "fresh draws"), ("steps", "small steps from .50")):
        for K in OPTIONS:
            for name, way in WAYS.items():
                rows = np.array([asyncio.run(whole(K, seed, way, policy)) for seed in range(repetitions)])
                true, bias, calls = rows.mean(axis=0)
                print(
                    f"   {label:20} K = {K:<2} {name:26} {100 * true:5.1f} ± {100 * spread(rows[:, 0]):.1f}  "
                    f"{100 * bias:+6.1f}  {calls:6.0f}"
                )


def summarise(
    ratios: dict[str, dict[str, float]], shares: dict[str, float], biases: dict[str, float], seconds: float
) -> None:
    """Print which targets are met, then the JSON line."""
    worst = max(biases.items(), key=lambda item: abs(item[1]))
    for name, by_K in ratios.items():
        met = all(r <= TARGETS["regret_vs_raw_q"] for r in by_K.values())
        print(f"regret at most two thirds of raw q's: {name}: {'met' if met else 'NOT met'} {by_K}")
    met = all(s <= TARGETS["calls_at_equal_regret"] for s in shares.values())
    print(f"half the calls at equal regret: {'met' if met else 'NOT met'} {shares}")
    met = abs(worst[1]) <= TARGETS["winner_bias"]
    print(f"winner's bias within 2 points: {'met' if met else 'NOT met'}; worst: {worst[0]}: {worst[1]:+.4f}")
    print(
        json.dumps(
            {
                "regret_vs_raw_q": ratios["routed answers"],
                "regret_vs_raw_q_raced": ratios["routed, raced"],
                "regret_vs_raw_q_natural": ratios["ML, natural answers"],
                "calls_at_equal_regret": shares,
                "winner_bias": round(worst[1], 4),
                "seconds": round(seconds, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
