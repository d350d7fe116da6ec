"""The simulated task of `search_field`: instructions determine a solver's accuracy, and are edited.

An instruction is, for example, ``Method 0.4400-17``: an accuracy, and a number that distinguishes methods
with this accuracy. The solver is right about item i if √ρ·u_i + √(1 − ρ)·e is below the normal quantile of
the accuracy; u_i is the item's difficulty for all methods, e is the method's own noise, and ρ = ½. If the
solver is wrong, it chooses the item's popular distractor with probability ½, otherwise a uniform wrong
option. A twentieth of the variance of e is redrawn in every run, like sampling at a positive temperature. An
edit adds a normal step to the accuracy, up as often as down. The module needs only numpy, so that rivals in
separate environments can use it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

RHO, LURE, FRESH = 0.5, 0.5, 0.05
STEP = 0.06
"""Standard deviation of an edit's effect; with it, random search gains 8 to 10 points in 2,200 calls."""
LEAST, MOST = 0.02, 0.98
_METHOD = re.compile(r"Method (\d\.\d{4})-(\d+)")


@dataclass
class FieldTask:
    """Items with true options, and the solver's answers with each instruction.

    Attributes
    ----------
    K, n, seed
        Number of options per item, number of items, and seed of all draws.
    truth
        Right options, shape (n,).
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
        """Return the options that the solver chooses with an instruction in one run, shape (n,)."""
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
        """Return the true accuracy of an instruction."""
        return read_method(text)[0]

    def edit(self, text: str, rng: Any) -> str:
        """Return another instruction with a similar accuracy."""
        return edit_method(text, rng)


def read_method(text: str) -> tuple[float, int]:
    """Find an instruction such as ``Method 0.4400-17`` in a text. Returns its accuracy and its number."""
    found = _METHOD.search(text)
    if found is None:
        raise ValueError("the text names no method")
    return float(found[1]), int(found[2])


def write_method(accuracy: float, number: int) -> str:
    """Return the instruction with this accuracy and number."""
    return f"Method {accuracy:.4f}-{number}"


def edit_method(instruction: str, rng: Any) -> str:
    """Return a slightly changed instruction; all searches share this mutation operator."""
    accuracy, _ = read_method(instruction)
    moved = min(MOST, max(LEAST, accuracy + STEP * float(rng.standard_normal())))
    return write_method(moved, int(rng.integers(1, 2**31)))


def transformed(answers: Any, truth: Any, refused: Any, K: int) -> Any:
    """Return per-item scores on the accuracy scale by the published transform, shape (n,).

    Parameters
    ----------
    answers
        Chosen options, shape (n,).
    truth
        Option that the expert confirmed, shape (n,); −1 if the expert said no.
    refused
        Option that the expert refuted, shape (n,); −1 if the expert said yes.
    """
    return np.where(truth >= 0, answers == truth, 1 - (K - 1) * (answers == refused)).astype(float)
