"""Measure by which factor intervals could be shortened and still have the nominal coverage.

Each design estimates a model's accuracy, from questions drawn for other models or from targeted questions.
The votes of other models are helpful or misleading (all wrong on one option).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from benchmarks._coverage_designs import LEVEL, Design, falls_short, true_accuracies
from oversight.harness.estimate import RoutedSample, draw_options, propensities_for
from oversight.harness.estimate.routed_means import routed_accuracy


@dataclass(frozen=True)
class WidthCell:
    """Results of a design. `factor` is that by which intervals could be shorter at nominal coverage."""

    name: str
    coverage: float
    width: float
    factor: float
    draws: int

    @property
    def low(self) -> bool:
        """Whether the coverage is significantly below the level."""
        return falls_short(self.coverage, self.draws)


LATER = [
    Design(protocol="targeted", accuracies=(0.9, 0.9, a), later=1, K=(K,), n=n)
    for K in (4, 10)
    for a, n in ((0.5, 100), (0.9, 100), (0.9, 20))
]
ROUTED = [
    Design(protocol="targeted", accuracies=a, n=n) for a, n in (((0.97, 0.97), 100), ((0.5, 0.95, 0.9), 300))
]


def accuracy_cells(
    draws: int, designs: Sequence[Design] = (*LATER, *ROUTED), seed: int = 0
) -> list[WidthCell]:
    """Measure the interval of one model per design: the last model if it was added later, else the first."""
    return [_measure(str(design), _shared_draw(design, draws, seed)) for design in designs]


def misled_cell(draws: int, seed: int = 0) -> WidthCell:
    """Measure the interval of a later, rarely right model when all other models choose one wrong option."""
    return _measure("votes all wrong on one option, K=4, n=100", _misled_draw(draws, seed))


def _needed(truth: float, value: float, low: float, high: float) -> float:
    """Return |truth − value|, divided by the distance from the value to the interval's end on that side."""
    room = high - value if truth > value else value - low
    return abs(truth - value) / max(room, 1e-9)


def _cell(name: str, needed: list[float], width: list[float]) -> WidthCell:
    covered = float(np.mean(np.array(needed) <= 1 + 1e-9))
    factor = 1 / float(np.quantile(needed, LEVEL))
    return WidthCell(name, covered, float(np.mean(width)), factor, len(needed))


Drawn = list[tuple[float, NDArray[np.int64], RoutedSample]]


def _measure(name: str, drawn: Drawn) -> WidthCell:
    needed, width = [], []
    for truth, predicted, data in drawn:
        found = routed_accuracy(predicted, data)
        needed.append(_needed(truth, found.value, found.low, found.high))
        width.append(found.high - found.low)
    return _cell(name, needed, width)


def _shared_draw(design: Design, draws: int, seed: int) -> Drawn:
    rng, K = np.random.default_rng([seed, design.n]), design.K[0]
    truth = true_accuracies(design)[-1 if design.later else 0]
    found = []
    for _ in range(draws):
        latent = rng.normal(size=(design.n, 1)) * math.sqrt(design.together)
        y, votes = _predict(design.accuracies, latent, design.together, K, rng)
        routed = votes[:, : len(design.accuracies) - design.later]
        found.append((truth, votes[:, -1 if design.later else 0], _ask(y, routed, K, rng)))
    return found


def _predict(
    accuracies: tuple[float, ...],
    latent: NDArray[np.float64],
    together: float,
    K: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    shape = len(latent), len(accuracies)
    y = rng.integers(0, K, shape[0])
    right = latent + rng.normal(size=shape) * math.sqrt(1 - together) < ndtri(accuracies)
    shared = rng.integers(1, K, (shape[0], 1))
    wrong = np.where(rng.random(shape) < 0.4, shared, rng.integers(1, K, shape))
    return y, np.where(right, y[:, None], (y[:, None] + wrong) % K)


def _misled_draw(draws: int, seed: int) -> Drawn:
    rng, K, n, a = np.random.default_rng([seed, 7]), 4, 100, 0.2
    found = []
    for _ in range(draws):
        y = rng.integers(0, K, n)
        vote = np.where(rng.random(n) < 0.7, (y + 1) % K, y)
        wrong = np.where(rng.random(n) < 0.7, (y + 1) % K, (y + rng.integers(1, K, n)) % K)
        predicted = np.where(rng.random(n) < a, y, wrong)
        found.append((a, predicted, _ask(y, np.stack([vote, vote], axis=1), K, rng)))
    return found


def _ask(y: NDArray[np.int64], routed: NDArray[np.int64], K: int, rng: np.random.Generator) -> RoutedSample:
    pi = propensities_for(routed, K, K)
    asked = draw_options(pi, rng)
    return RoutedSample(np.arange(len(y)), asked, (asked == y).astype(np.float64), pi)
