"""Draw questions by a protocol, let simulated experts answer them, and simulate judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import rankdata

import oversight as ov
from oversight.harness import FloatArray, IntArray
from oversight.harness.types import Answer, Item, Labels, Question
from oversight.protocols.collect import SimulatedExperts
from oversight.protocols.routing import Disagreement, Partitioned, Roster, Sequential, Targeted

LETTERS = tuple("ABCDEFGHIJ")
Options = Mapping[str, int | None]
"""Item id → option that a model chose, or None if its answer is unreadable."""
_RULES: dict[str, Any] = {"targeted": Targeted, "sequential": Sequential, "disagreement": Disagreement}


@dataclass
class Estimates:
    """Errors of estimates, and of both ends of their intervals, in simulated studies."""

    rows: list[tuple[float, float, float]] = field(default_factory=list)

    def add(self, found: Any, exact: float, scale: float = 1.0) -> None:
        """Add an estimate of the accuracy `exact`; errors are divided by `scale`."""
        self.add_ends(found.value, found.low, found.high, exact, scale)

    def add_ends(self, value: float, low: float, high: float, exact: float, scale: float = 1.0) -> None:
        """Add an estimate, which is a value with an interval."""
        self.rows.append(((value - exact) / scale, (low - exact) / scale, (high - exact) / scale))

    @property
    def mse(self) -> float:
        """Mean squared error."""
        return float(np.mean([error**2 for error, _, _ in self.rows]))

    @property
    def coverage(self) -> float:
        """Share of the intervals that cover the true value."""
        return float(np.mean([low <= 1e-9 and high >= -1e-9 for _, low, high in self.rows]))

    @property
    def width(self) -> float:
        """Mean width of the intervals."""
        return float(np.mean([high - low for _, low, high in self.rows]))


def make_rule(protocol: str, roster: Roster, votes: Mapping[str, Options], seed: int, asked: int = 1) -> Any:
    """Return a protocol that draws questions; one that is not in `_RULES` draws options uniformly."""
    rule = _RULES.get(protocol)
    return Partitioned(roster, seed, asked) if rule is None else rule(roster, votes, seed)


def ask_experts(
    rule: Any, items: Sequence[Item], experts: SimulatedExperts
) -> tuple[list[Answer], list[Question]]:
    """Let experts answer all questions that a protocol asks. Returns the answers and the questions."""
    answers = list[Answer]()
    waiting = rule.route(items)
    drawn = list(waiting)
    while waiting:
        answers += experts.answer(waiting)
        waiting = rule.next_questions(items, answers) if rule.statement.asks_on else []
        drawn += waiting
    return answers, drawn


def collect_labels(rule: Any, items: Sequence[Item], truth: dict[str, int]) -> Labels:
    """Let experts without errors answer all questions that a protocol asks. Returns the labels."""
    return ov.decode(*ask_experts(rule, items, SimulatedExperts(truth)))


def judge_signals(
    truth: IntArray, n_options: IntArray, strength: float, rng: np.random.Generator
) -> FloatArray:
    """Return calibrated probabilities of all options, shape (N, K), from one normal signal per option.

    The signal of the true option has the mean `strength`, the signals of other options have the mean 0.
    """
    options = np.arange(int(n_options.max()))
    signals = rng.normal(size=(len(truth), len(options))) + strength * (options == truth[:, None])
    weight = np.where(options < n_options[:, None], np.exp(strength * signals), 0.0)
    found: FloatArray = weight / weight.sum(axis=1, keepdims=True)
    return found


def area_under_roc(p: FloatArray, yes: FloatArray) -> float:
    """Return the area under the ROC curve of probabilities `p` for the outcomes `yes` (0 or 1)."""
    ones = int(yes.sum())
    return float((rankdata(p)[yes > 0].sum() - ones * (ones + 1) / 2) / (ones * (len(p) - ones)))
