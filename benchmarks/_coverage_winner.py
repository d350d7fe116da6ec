"""Check the interval of a search's winner in one draw, by the standings in its report."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oversight.agents.search import Archive, Kind, score_candidates, simulated_labels
from oversight.agents.search.fitness import Board
from oversight.harness.estimate import synthesise_population
from oversight.harness.types import Candidate, Item, Prediction, Program

LEVEL, LEADS = 0.6, (0.7, 0.75, 0.8, 0.85, 0.9)
"""Accuracy of candidates that are all equal, and of one that leads them."""


def accuracies_of(archive: str, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """True accuracies of an archive's candidates."""
    if archive == "two":
        return np.array([0.55, 0.65])
    if archive == "a spread":
        return np.clip(rng.normal(0.6, 0.08, size), 0.05, 0.95)
    level = {"one breakthrough": 0.55, "all equal": LEVEL, "all bad": 0.03, "at chance": 0.1}[archive]
    found = np.full(size, level)
    if archive == "one breakthrough":
        found[-1] = 0.9
    return found


def draw_winner(
    archive: str, kind: Kind, K: int, n: int, size: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """The winner's true accuracy, and the ends of its interval."""
    board, best, own = _score(accuracies_of(archive, rng, size), kind, K, n, rng)
    return own, max(0.0, board.standing(best).low), min(1.0, board.standing(best).high)


def winner_widths(kind: Kind, K: int, n: int, size: int, draws: int) -> tuple[float, float]:
    """With equal candidates: mean width of the winner's interval, and a lower bound for such intervals.

    The lower bound follows Neyman and Pearson. An interval that misses at most one winner in twenty with a
    real lead must reach this far in the draws whose winner stands out as much as nineteen in twenty of
    those do, and equal candidates also produce such draws by chance. In other draws the bound is the width
    of the crowd's interval, which holds for equal candidates only. The largest bound over leads counts,
    because one interval must hold for all.
    """
    rng = np.random.default_rng([4, n, K])
    equal = [_stand_out(np.full(size, LEVEL), kind, K, n, rng) for _ in range(draws)]
    ours, low, high, lead = (np.array(column) for column in zip(*equal, strict=True))
    least = []
    for true in LEADS:
        archive = np.append(np.full(size - 1, LEVEL), true)
        real = [_stand_out(archive, kind, K, n, rng)[3] for _ in range(draws)]
        reach = np.where(lead >= np.quantile(real, 0.05), np.maximum(high, true), high)
        least.append(float((reach - low).mean()))
    return float(ours.mean()), max(least)


def _stand_out(
    true: NDArray[np.float64], kind: Kind, K: int, n: int, rng: np.random.Generator
) -> tuple[float, float, float, float]:
    """Width of the winner's interval, ends of the crowd's interval, and the lead in standard errors."""
    board, best, _ = _score(true, kind, K, n, rng)
    standing, row = board.standing(best), board.ids.index(best)
    half = 1.96 * float(np.hypot(board.shrunk.sd[row], board.shrunk.level_se))
    means = np.nanmean(board.scores, axis=1)
    rest = board.scores - np.nanmean(board.scores, axis=0)
    se = float(np.nanstd(rest, axis=1).mean()) / np.sqrt(n)
    ours = min(1.0, standing.high) - max(0.0, standing.low)
    low, high = max(0.0, standing.mean - half), min(1.0, standing.mean + half)
    return ours, low, high, float(means[row] - np.delete(means, row).mean()) / se


def _score(
    true: NDArray[np.float64], kind: Kind, K: int, n: int, rng: np.random.Generator
) -> tuple[Board, str, float]:
    """One draw of an archive: its board, the winner, and the winner's true accuracy."""
    truth, answers = synthesise_population(n, K, true.tolist(), rng, correlation=0.5, temptation=0.5)
    labels = simulated_labels(truth, answers.T, K, kind, rng)
    options = tuple(str(k) for k in range(K))
    items = tuple(Item(x, "", options, tuple(range(K))) for x in labels.items)
    kept = Archive({"select": items})
    for j, row in enumerate(answers.T.tolist()):
        candidate = Candidate(Program(f"p{j:02}", f"# {j}\n"), j, "fresh")
        kept.add_candidate(candidate)
        made = [Prediction(x.id, y, output_tokens=1) for x, y in zip(items, row, strict=True)]
        kept.record(candidate.id, 0, made)
    board = score_candidates(kept, items, labels)
    best = board.ranked()[0]
    return board, best, float(true[board.ids.index(best)])
