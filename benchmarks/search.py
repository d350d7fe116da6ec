"""Compare rules that select a program: true accuracy of the selected program, calls, and reported accuracy.

Both parts use simulated populations (fixed seeds) of 30 programs and 120 items, with one expert answer per
item.

1. The published rule, raw q on complementary labels over all items (as in ADAS and AFlow), is compared with
   ours: maximum likelihood on natural answers or on answers routed by the programs' votes, over all items or
   in races of 30/60/120 items.
2. The smallest share of calls with which a race selects as well as raw q does with all calls.

Regret is the best program's accuracy minus the selected program's. The winner's bias is the reported minus
the true accuracy. The last line is JSON. `search_field.py` compares whole searches.

    python benchmarks/search.py [--quick]
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

import numpy as np
from scipy.stats import sem

from benchmarks._options import read_options
from oversight.agents.search import ExpertLabels, Kind, score_items, shrink_scores, simulated_labels
from oversight.harness import FloatArray, IntArray
from oversight.harness.estimate import synthesise_population

OPTIONS = (4, 5, 10, 16)
PROGRAMS, ITEMS, MEAN, SD = 30, 120, 0.6, 0.08
RUNGS, KEEP = (30, 60, 120), (0.5, 0.25)


@dataclass(frozen=True)
class Population:
    """True accuracies of M programs, true options of n items, and the programs' answers, shape (M, n)."""

    true: FloatArray
    truth: IntArray
    answers: IntArray
    rng: np.random.Generator

    @classmethod
    def draw(cls, K: int, seed: int) -> Population:
        """Draw 30 programs whose accuracies are normal with mean .6 and standard deviation .08."""
        rng = np.random.default_rng([K, seed])
        true = np.clip(rng.normal(MEAN, SD, PROGRAMS), 0.05, 0.95)
        truth, predicted = synthesise_population(
            ITEMS, K, true.tolist(), rng, correlation=0.5, temptation=0.5
        )
        return cls(true, truth, predicted.T, rng)


def label(population: Population, K: int, kind: Kind) -> ExpertLabels:
    return simulated_labels(population.truth, population.answers, K, kind, population.rng)


def regret(population: Population, pick: int) -> float:
    return float(population.true.max() - population.true[pick])


def race(scores: FloatArray, rungs: tuple[int, ...]) -> tuple[int, float, float]:
    """Select a program by successive halving on per-item scores.

    Returns the selected program, its reported accuracy, and the share of all calls that were made.
    """
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


PUBLISHED = "raw q, all items"
RULES: dict[str, tuple[Kind, str, tuple[int, ...]]] = {
    PUBLISHED: ("complementary", "raw", (ITEMS,)),
    "ML, natural answers": ("natural", "ml", (ITEMS,)),
    "ML, natural, raced": ("natural", "ml", RUNGS),
    "routed answers": ("routed", "ml", (ITEMS,)),
    "routed, raced": ("routed", "ml", RUNGS),
}


def populations(K: int, repetitions: int) -> dict[str, FloatArray]:
    """Simulate searches by each rule.

    Returns, for each rule, an array of shape (repetitions, 3) whose columns are regret, bias and share of
    calls.
    """
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in RULES}
    for seed in range(repetitions):
        population = Population.draw(K, seed)
        known: dict[tuple[str, str], FloatArray] = {}
        for name, (kind, estimator, rungs) in RULES.items():
            if (kind, estimator) not in known:
                labelled = label(population, K, kind)
                known[kind, estimator] = score_items(population.answers, labelled, estimator)
            scores = known[kind, estimator]
            if estimator == "raw":
                pick = int(scores.mean(axis=1).argmax())
                q = float(scores[pick].mean())
                # Convert q to the accuracy scale by the published transform.
                reported, calls = (K - 1) * q - (K - 2), 1.0
            else:
                pick, reported, calls = race(scores, rungs)
            rows[name].append((regret(population, pick), reported - float(population.true[pick]), calls))
    return {name: np.array(found) for name, found in rows.items()}


def fewer_calls(K: int, repetitions: int, bar: float) -> float:
    """Return the smallest share of calls at which races on routed answers have mean regret ≤ `bar`."""
    drawn = [Population.draw(K, seed) for seed in range(repetitions)]
    scores = [score_items(each.answers, label(each, K, "routed"), "ml") for each in drawn]
    for top in (24, 32, 40, 48, 60, 80, 100, 120):
        raced = [race(own[:, :top], (top // 4, top // 2, top)) for own in scores]
        regret = np.mean([regret(each, pick) for each, (pick, _, _) in zip(drawn, raced, strict=True)])
        if regret <= bar:
            return float(np.mean([calls for _, _, calls in raced])) * top / ITEMS
    return 1.0


def main() -> None:
    many = 80 if read_options(__doc__).quick else 400
    started = time.perf_counter()
    ratios: dict[str, dict[str, float]] = {name: {} for name in RULES}
    shares: dict[str, float] = {}
    biases: dict[str, float] = {}
    print(f"1. {PROGRAMS} programs, {ITEMS} items and expert answers, {many} populations: points")
    for K in OPTIONS:
        found = populations(K, many)
        bar = float(found[PUBLISHED][:, 0].mean())
        for name, rows in found.items():
            regret, bias, calls = rows.mean(axis=0)
            print(
                f"   K = {K:<2} {name:20} regret {100 * regret:5.2f} ± {100 * sem(rows[:, 0]):.2f} "
                f"({regret / bar:.2f} of raw q)  winner's bias {100 * bias:+6.2f}  calls {100 * calls:3.0f} %"
            )
            ratios[name][str(K)] = round(float(regret / bar), 3)
            if name != PUBLISHED:
                biases[f"{name}, K={K}"] = float(bias)
        shares[str(K)] = round(fewer_calls(K, many, bar), 3)
    result = {
        "regret_vs_raw_q": ratios["routed answers"],
        "regret_vs_raw_q_raced": ratios["routed, raced"],
        "regret_vs_raw_q_natural": ratios["ML, natural answers"],
        "calls_at_equal_regret": shares,
        "winner_bias": round(biases[max(biases, key=lambda name: abs(biases[name]))], 4),
        "seconds": round(time.perf_counter() - started, 1),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
