"""Draw simulated archives of a search, and compute the interval of the winner as in the search's report."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oversight.agents.search import Archive, Kind, score_candidates, simulated_labels
from oversight.agents.search.fitness.board import Board
from oversight.harness.estimate import synthesise_population
from oversight.harness.types import Candidate, Item, Prediction, Program

LEVEL, LEADS = 0.6, (0.7, 0.75, 0.8, 0.85, 0.9)
"""Accuracy of equal candidates, and accuracies of a candidate that leads them."""


def accuracies_of(archive: str, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Return the true accuracies of all candidates in an archive of this kind and size."""
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
    """Draw an archive. Returns the winner's true accuracy, and the lower and upper ends of its interval."""
    board, best, own = _score(accuracies_of(archive, rng, size), kind, K, n, rng)
    return own, max(0.0, board.standing(best).low), min(1.0, board.standing(best).high)


def winner_widths(kind: Kind, K: int, n: int, size: int, draws: int) -> tuple[float, float]:
    """Return the mean width of the winner's interval with equal candidates, and a lower bound for it.

    The lower bound follows Neyman and Pearson. Suppose that one candidate really leads. In 95 % of the draws,
    its lead in the data exceeds some limit. An interval with 95 % coverage must reach its accuracy in all
    these draws. Equal candidates also exceed this limit in some draws, by chance, and the interval must be as
    wide there. In all other draws, the bound is the width of an interval that is valid only for equal
    candidates. The function returns the largest bound over several true leads, because one interval must be
    valid for all of them.
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
    """Draw an archive. Returns four numbers about its winner.

    The numbers are the width of the winner's interval, the ends of an interval that is valid for equal
    candidates, and the winner's lead over the mean of the other candidates in standard errors.
    """
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
    """Draw an archive and score it. Returns the board, the winner's id, and its true accuracy."""
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
