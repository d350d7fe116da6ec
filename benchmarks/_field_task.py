"""The task of `search_field`: instructions that determine a solver's accuracy, and edits of them.

An instruction reads ``Method 0.4400-17``: its accuracy, and the number of the method with that accuracy.
The solver is right about item i if √ρ·u_i + √(1 − ρ)·e lies below the quantile of that accuracy, with u_i
the item's common difficulty and ρ = ½. If it is wrong it chooses the item's one popular distractor with
probability ½, otherwise a uniform wrong option. A twentieth of e is redrawn in every run, as at a positive
temperature. An edit moves the accuracy by a normal step, up as often as down. The module needs only numpy,
so that rivals in separate environments have the same solver.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

RHO, LURE, FRESH = 0.5, 0.5, 0.05
STEP = 0.06
"""Standard deviation of an edit's effect: random search gains eight to ten points in 2,200 calls then."""
LEAST, MOST = 0.02, 0.98
_METHOD = re.compile(r"Method (\d\.\d{4})-(\d+)")


@dataclass
class FieldTask:
    """Items, their truth, and the answers under every instruction.

    Attributes
    ----------
    K, n, seed
        Options per item, number of items, and the seed of all draws.
    truth
        The right options, shape (n,).
    """

    K: int
    n: int
    seed: int
    truth: Any = field(init=False)
    _known: dict[tuple[str, int], Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        rng = np.random.default_rng([self.seed, 1])
        self.truth = rng.integers(self.K, size=self.n)
        self._difficulty = rng.standard_normal(self.n)
        self._lure = 1 + rng.integers(self.K - 1, size=self.n)

    def answers(self, instruction: str, run: int = 0) -> Any:
        """The option answered to every item, shape (n,), in one of several runs."""
        accuracy, number = read_method(instruction)
        key = (write_method(accuracy, number), run)
        if key not in self._known:
            rng = np.random.default_rng([self.seed, 2, number, round(10_000 * accuracy)])
            own, offset = rng.standard_normal(self.n), 1 + rng.integers(self.K - 1, size=self.n)
            lured = rng.random(self.n) < LURE
            fresh = np.random.default_rng([self.seed, 3, number, run]).standard_normal(self.n)
            noise = np.sqrt(1 - FRESH) * own + np.sqrt(FRESH) * fresh
            latent = np.sqrt(RHO) * self._difficulty + np.sqrt(1 - RHO) * noise
            right = latent < NormalDist().inv_cdf(accuracy)
            wrong = (self.truth + np.where(lured, self._lure, offset)) % self.K
            self._known[key] = np.where(right, self.truth, wrong)
        return self._known[key]

    def accuracy(self, text: str) -> float:
        """Return the accuracy of an instruction."""
        return read_method(text)[0]

    def edit(self, text: str, rng: Any) -> str:
        """Return an instruction with about the same accuracy."""
        return edit_method(text, rng)


def read_method(text: str) -> tuple[float, int]:
    """Return accuracy and number of the method that a text names."""
    found = _METHOD.search(text)
    if found is None:
        raise ValueError("the text names no method")
    return float(found[1]), int(found[2])


def write_method(accuracy: float, number: int) -> str:
    """An instruction."""
    return f"Method {accuracy:.4f}-{number}"


def edit_method(instruction: str, rng: Any) -> str:
    """Return a slightly changed instruction; all searches share this mutation operator."""
    accuracy, _ = read_method(instruction)
    moved = min(MOST, max(LEAST, accuracy + STEP * float(rng.standard_normal())))
    return write_method(moved, int(rng.integers(1, 2**31)))


def transformed(answers: Any, truth: Any, refused: Any, K: int) -> Any:
    """Return per-item scores on the accuracy scale, for rules without their own.

    Parameters
    ----------
    answers
        Shape (n,).
    truth
        The option that an expert said yes to; −1 where the answer was no.
    refused
        The option that was said no to; −1 where the answer was yes.
    """
    return np.where(truth >= 0, answers == truth, 1 - (K - 1) * (answers == refused)).astype(float)
