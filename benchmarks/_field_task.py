"""The task of `search_field`: a solver whose accuracy stands in its instruction, and edits of instructions.

An instruction reads ``Method 0.4400-17``: the accuracy it makes, and which method of that accuracy it is. The
solver is right about item i where √ρ·u_i + √(1 − ρ)·e lies below that accuracy's quantile, u_i the item's
difficulty for all, ρ = ½; where it is wrong it falls for the item's one popular distractor with probability
½, else it errs uniformly. A twentieth of e is drawn afresh in every run, as at a temperature. An edit moves
the accuracy by a normal step, up as often as down. It needs numpy alone, so that rivals in environments of
their own have the same solver.
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
    """Items, their truth, and what every instruction makes of them.

    Attributes
    ----------
    K, n, seed
        Options of every item, number of items, and the seed of all that is drawn.
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
        """The accuracy that an instruction makes."""
        return read_method(text)[0]

    def edit(self, text: str, rng: Any) -> str:
        """An instruction that makes about the same accuracy."""
        return edit_method(text, rng)


def read_method(text: str) -> tuple[float, int]:
    """Accuracy and number of the method that a text names."""
    found = _METHOD.search(text)
    if found is None:
        raise ValueError("the text names no method")
    return float(found[1]), int(found[2])


def write_method(accuracy: float, number: int) -> str:
    """An instruction."""
    return f"Method {accuracy:.4f}-{number}"


def edit_method(instruction: str, rng: Any) -> str:
    """The same instruction, changed a little: the one mutation operator that all searches share."""
    accuracy, _ = read_method(instruction)
    moved = min(MOST, max(LEAST, accuracy + STEP * float(rng.standard_normal())))
    return write_method(moved, int(rng.integers(1, 2**31)))


def transformed(answers: Any, truth: Any, refused: Any, K: int) -> Any:
    """Per-item scores on the accuracy scale, for rules that have none of their own.

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
