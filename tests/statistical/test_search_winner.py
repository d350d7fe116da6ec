"""The interval of a search's winner, by the standings that its report prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from oversight.agents.search import Archive, ExpertLabels, Kind, score_candidates, simulated_labels
from oversight.harness import FloatArray, IntArray
from oversight.harness.estimate import synthesise_population
from oversight.harness.types import Candidate, Item, Prediction, Program, Standing

pytestmark = [pytest.mark.statistical, pytest.mark.slow]

DRAWS = 100
N = 100
ARCHIVES: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "one breakthrough": lambda _, m: np.append(np.full(m - 1, 0.55), 0.9),
    "all equal": lambda _, m: np.full(m, 0.6),
    "all bad": lambda _, m: np.full(m, 0.03),
    "all at chance": lambda _, m: np.full(m, 0.1),
    "a spread": lambda rng, m: np.clip(rng.normal(0.6, 0.08, m), 0.05, 0.95),
    "two": lambda _, __: np.array([0.55, 0.65]),
}


def board_of(answers: IntArray, labels: ExpertLabels, K: int) -> tuple[str, Mapping[str, Standing]]:
    """The leader and all standings of an archive with these answers."""
    options = tuple(str(k) for k in range(K))
    items = tuple(Item(x, "", options, tuple(range(K))) for x in labels.items)
    archive = Archive({"select": items})
    for j, row in enumerate(answers.tolist()):
        candidate = Candidate(Program(f"p{j:02}", f"# {j}\n"), j, "fresh")
        archive.add_candidate(candidate)
        archive.record(
            candidate.id, 0, [Prediction(x.id, y, output_tokens=1) for x, y in zip(items, row, strict=True)]
        )
    board = score_candidates(archive, items, labels)
    return board.ranked()[0], {name: board.standing(name) for name in board.ids}


def simulate(archive: str, kind: Kind, K: int = 10) -> FloatArray:
    """Per draw: whether the winner's interval holds, its width, the winner's bias and regret."""
    rows = []
    for seed in range(DRAWS):
        rng = np.random.default_rng([K, seed])
        true = ARCHIVES[archive](rng, (20, 30, 40)[seed % 3])
        truth, answers = synthesise_population(N, K, true.tolist(), rng, correlation=0.5, temptation=0.5)
        labels = simulated_labels(truth, answers.T, K, kind, rng)
        best, standings = board_of(answers.T, labels, K)
        own = float(true[list(standings).index(best)])
        found = standings[best]
        low, high = max(0.0, found.low), min(1.0, found.high)
        rows.append((low <= own <= high, high - low, found.mean - own, true.max() - own))
    return np.array(rows)


@pytest.mark.parametrize("kind", ["complementary", "natural"])
@pytest.mark.parametrize("archive", ARCHIVES)
def test_the_winners_interval_holds(archive: str, kind: Kind) -> None:
    cover, width, bias, regret = simulate(archive, kind).mean(axis=0)
    assert regret < (0.06 if kind == "natural" else 0.16)
    assert cover >= 0.95 - 2.6 * np.sqrt(0.95 * 0.05 / DRAWS)
    assert width < 0.75
    if archive in ("all equal", "a spread"):
        assert abs(bias) < 0.06


@pytest.mark.parametrize("kind", ["complementary", "natural"])
def test_a_winner_over_patients_of_five_images_holds(kind: Kind) -> None:
    """Forty patients, whose images are right or wrong together; all programs are equally good."""
    together: list[bool] = []
    alone: list[bool] = []
    for seed in range(100):
        rng = np.random.default_rng([4, seed])
        truth, answers = synthesise_population(40, 4, [0.6] * 20, rng, correlation=0.5, temptation=0.5)
        truth, answers = np.repeat(truth, 5), np.repeat(answers, 5, axis=0)
        labels = simulated_labels(truth, answers.T, 4, kind, rng)
        for seen, cluster in ((together, np.arange(200) // 5), (alone, labels.cluster)):
            best, standings = board_of(answers.T, replace(labels, cluster=cluster), 4)
            seen.append(standings[best].low <= 0.6 <= standings[best].high)
    assert np.mean(together) >= 0.95 - 2.6 * np.sqrt(0.05 * 0.95 / 100)
    assert np.mean(alone) < 0.9
