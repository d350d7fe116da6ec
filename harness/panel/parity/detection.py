"""Precision, recall and F1 of one class against a vote, with intervals over items or clusters.

They stand beside the scores to expect of an expert, if truth is what most experts say with probability p_d.
Source: "The Illusion of Human–AI Parity Under Uncertainty" (arXiv 2601.05500), equations 1, 2, 7–9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import ceil

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.estimate import (
    FEWEST_EFFECTIVE,
    binomial_at_least,
    check_least,
    check_unit,
    count_effective,
)
from oversight.harness.panel.parity.clustered_shares import Share, make_share
from oversight.harness.panel.ratings import Judgements, WeightedUnits


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Scores of one who gives the majority label with probability p_d, whatever the class."""

    accuracy: float
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Precision, recall and F1; None where undefined or withheld.

    Attributes
    ----------
    undefined
        Name of a score that is None → why.
    """

    precision: Share | None
    recall: Share | None
    f1: Share | None
    undefined: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """Scores of human and model on the same rows.

    Attributes
    ----------
    positive
        Share of positive references.
    expected
        Scores of an expert who draws from the votes: mean certainty and this share of positives.
    delta_f1
        Human − model; None where either is undefined, or it is withheld.
    undefined
        ``"delta_f1"`` → why it is None.
    """

    positive: float
    expected: Expected
    human: Scores
    model: Scores
    delta_f1: Share | None
    undefined: Mapping[str, str] = field(default_factory=dict)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is None, and why, in words."""
        found = [
            (f"{who}'s {name}", why)
            for who in ("human", "model")
            for name, why in getattr(self, who).undefined.items()
        ]
        found += [("difference of F1", why) for why in self.undefined.values()]
        return tuple(f"no {name}: {why}" for name, why in found)


_ONE = {"precision": ((1, 0, 0), (1, 1, 0)), "recall": ((1, 0, 0), (1, 0, 1)), "f1": ((2, 0, 0), (2, 1, 1))}
"""Score → how often it counts TP, FP and FN above and below."""
_NOTHING = {
    "precision": "the class was given to no item",
    "recall": "no item has the class by vote",
    "f1": "the class was given to no item, and no item has it by vote",
}
_ROWS = np.array(
    [
        [h * true, h * (1 - true), (1 - h) * true, m * true, m * (1 - true), (1 - m) * true]
        for true, h, m in product((0.0, 1.0), repeat=3)
    ]
)
"""What one row may add to TP, FP and FN of human and model."""


def measure_detection(
    rows: Judgements,
    unit: IntArray,
    target: int,
    *,
    clustered: bool,
    size: float,
    level: float,
    bootstrap: int,
    seed: int,
) -> Detection:
    """Count who said the class `target`, by unit, and draw weights of the units.

    Parameters
    ----------
    unit
        Shape (rows,): number 0..k−1 of the independent unit that a row belongs to, its item or cluster.
    clustered
        Whether units are clusters of items.
    size
        Rows of a unit on average.
    bootstrap
        Number of draws.
    """
    reference = rows.reference[:, target]
    sums: FloatArray = np.stack(
        [
            np.bincount(unit, weights=w)
            for said in (rows.human == target, rows.model == target)
            for w in (said * reference, said * (1 - reference), ~said * reference)
        ],
        axis=1,
    )
    estimate = partial(
        _estimate,
        sums,
        WeightedUnits.draw(sums, bootstrap, seed),
        clustered=clustered,
        size=size,
        seen=len(unit) / len(sums),
        level=level,
    )

    def make_scores(who: int) -> Scores:
        made = {name: estimate([(who, name)], _NOTHING[name]) for name in _ONE}
        found = {name: share for name, share in made.items() if isinstance(share, Share)}
        undefined = {name: why for name, why in made.items() if isinstance(why, str)}
        return Scores(**{name: found.get(name) for name in _ONE}, undefined=undefined)

    delta = estimate([(0, "f1"), (1, "f1")], _NOTHING["f1"])
    positive = float(reference.mean())
    return Detection(
        positive=positive,
        expected=expected_scores(float(rows.p_d.mean()), positive),
        human=make_scores(0),
        model=make_scores(1),
        delta_f1=None if isinstance(delta, str) else delta,
        undefined={"delta_f1": delta} if isinstance(delta, str) else {},
    )


def _estimate(
    sums: FloatArray,
    weighted: WeightedUnits,
    parts: list[tuple[int, str]],
    nothing: str,
    *,
    clustered: bool,
    size: float,
    seen: float,
    level: float,
) -> Share | str:
    """Score of the human (0) or the model (1), or their difference; or why it is undefined.

    `size` is the mean number of rows of a unit, `seen` that of the units that are given.
    """
    over, under = np.zeros((2, len(parts), 6))
    for j, (who, name) in enumerate(parts):
        over[j, 3 * who : 3 * who + 3], under[j, 3 * who : 3 * who + 3] = _ONE[name]

    def score(of: FloatArray) -> FloatArray:
        ratios = (of @ over.T) / (of @ under.T)
        return ratios[..., 0] - ratios[..., 1] if len(parts) == 2 else ratios[..., 0]

    if (weighted.total @ under.T == 0).any():
        return nothing
    effective = None
    if clustered:
        counted = sums @ (under > 0).any(axis=0)
        size, effective = size * float(counted[counted > 0].mean()) / seen, count_effective(counted)
        if effective < FEWEST_EFFECTIVE:
            return (
                f"the rows it counts tell as much as {effective:.1f} clusters of equal size; an interval "
                f"needs at least {FEWEST_EFFECTIVE:g}"
            )
    return make_share(weighted, score, size * _ROWS, level=level, effective=effective)


def expected_scores(p_d: float, positive: float) -> Expected:
    """E: accuracy p, recall p, precision m p/(m p + (1 − m)(1 − p)), F1 from the last two.

    Parameters
    ----------
    p_d
        In [0, 1].
    positive
        m, share of positive items, in [0, 1].

    Raises
    ------
    EstimateError
        If an argument leaves [0, 1].

    Examples
    --------
    >>> round(expected_scores(0.9, 0.01).f1, 4)
    0.1525
    """
    check_unit("p_d", p_d)
    check_unit("positive", positive)
    found = positive * p_d
    claimed = found + (1 - positive) * (1 - p_d)
    precision = found / claimed if claimed > 0 else 0.0
    f1 = 2 * precision * p_d / (precision + p_d) if precision + p_d > 0 else 0.0
    return Expected(accuracy=p_d, precision=precision, recall=p_d, f1=f1)


def probability_at_least(p_d: float, n: int, threshold: float = 0.8) -> float:
    """P(accuracy on n items ≥ threshold) = P(Bin(n, p_d) ≥ ⌈threshold · n⌉).

    Raises
    ------
    EstimateError
        If n < 1, or p_d or the threshold leaves [0, 1].
    """
    check_least("n", n, 1)
    check_unit("p_d", p_d)
    check_unit("threshold", threshold)
    return binomial_at_least(ceil(threshold * n - 1e-9), n, p_d)
