"""The interval of a search's winner in one draw, by the standings that its report prints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.search import Archive, Kind, score_candidates, simulated_labels
from harness.estimate import synthesise_population
from harness.types import Candidate, Item, Prediction, Program


def accuracies_of(archive: str, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """True accuracies of an archive's candidates."""
    if archive == "two":
        return np.array([0.55, 0.65])
    if archive == "a spread":
        return np.clip(rng.normal(0.6, 0.08, size), 0.05, 0.95)
    level = {"one breakthrough": 0.55, "all equal": 0.6, "all bad": 0.03, "at chance": 0.1}[archive]
    found = np.full(size, level)
    if archive == "one breakthrough":
        found[-1] = 0.9
    return found


def draw_winner(
    archive: str, kind: Kind, K: int, n: int, size: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """The winner's true accuracy, and the ends of its interval."""
    true = accuracies_of(archive, rng, size)
    truth, answers = synthesise_population(n, K, true.tolist(), rng, correlation=0.5, temptation=0.5)
    labels = simulated_labels(truth, answers.T, K, kind, rng)
    options = tuple(str(k) for k in range(K))
    items = tuple(Item(x, "", options, tuple(range(K))) for x in labels.items)
    kept = Archive({"select": items})
    for j, row in enumerate(answers.T.tolist()):
        candidate = Candidate(Program(f"p{j:02}", f"# {j}\n"), j, "fresh")
        kept.add(candidate)
        made = [Prediction(x.id, y, output_tokens=1) for x, y in zip(items, row, strict=True)]
        kept.record(candidate.id, 0, made)
    board = score_candidates(kept, items, labels)
    standings = board.fitness
    best = board.ranked()[0]
    own = float(true[list(standings).index(best)])
    return own, max(0.0, standings[best].low), min(1.0, standings[best].high)
