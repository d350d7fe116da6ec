"""Many models at once: a family of comparisons, simultaneous intervals, ranks that admit ties.

Per pair D̂_ab = mean(g_a − g_b) and z = D̂/se. With Gaussian multipliers ξ_i the bootstrap statistics
Σ ξ_i (d_i − D̂)/(√N sd) are, given the data, jointly normal with the correlations of the d's, so they are
drawn from that normal. The interval is D̂ ± c·se with c the ``level`` quantile of max |z*|; the adjusted p
is P(max |z*| ≥ |z|) (Chernozhukov, Chetverikov & Kato 2013, Ann. Stat. 41). Unlike Bonferroni it uses that
the pairs share items and models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from harness.arrays import FloatArray, divide
from harness.errors import EstimateError
from harness.estimate.comparison.paired import TIED, Comparison
from harness.estimate.core import bonferroni, check_known, check_level, holm

RANKING_ASSUMPTIONS = ("items are independent draws", "no outcome rests on the same answers twice")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Models from best to worst, with every pair compared at one joint level.

    Attributes
    ----------
    names, values
        Ordered by accuracy, best first.
    ranks
        For each model the best and the worst rank that the comparisons leave open, from 1: a model
        is below those it is significantly worse than, and above those significantly worse than it.
        Models that cannot be told apart share ranks.
    comparisons
        All M(M−1)/2 pairs, better-looking model first.
    critical
        The bound on max |z| used, or NaN where p-values were adjusted instead.
    """

    names: tuple[str, ...]
    values: tuple[float, ...]
    ranks: tuple[tuple[int, int], ...]
    comparisons: tuple[Comparison, ...]
    critical: float
    level: float

    def __str__(self) -> str:
        """One line a model: ``1–2  model  0.712``."""
        spans = [str(a) if a == b else f"{a}–{b}" for a, b in self.ranks]
        width = max(len(s) for s in spans)
        rows = zip(spans, self.names, self.values, strict=True)
        return "\n".join(f"{span:<{width}}  {name}  {value:.3f}" for span, name, value in rows)


def adjust_comparisons(comparisons: Sequence[Comparison], method: str = "holm") -> tuple[Comparison, ...]:
    """The comparisons with p-values adjusted as one family, by ``"holm"`` or ``"bonferroni"``.

    Intervals stay those of each pair; only verdicts hold jointly.
    """
    methods = {"holm": holm, "bonferroni": bonferroni}
    check_known("method", method, methods)
    p = methods[method]([c.p_value for c in comparisons])
    return tuple(replace(c, p_value=float(q), adjusted=method) for c, q in zip(comparisons, p, strict=True))


def rank_models(
    outcomes: FloatArray,
    names: Sequence[str],
    *,
    questions: int,
    level: float = 0.95,
    draws: int = 20_000,
    seed: int = 0,
) -> Ranking:
    """All pairs at joint level by the multiplier bootstrap of max |z|, see the module.

    Parameters
    ----------
    outcomes
        Shape (N, M): one column a model, one row an item: g of equation (G), or exact correctness.
    draws, seed
        Size and seed of the bootstrap.

    Errors as `_check_outcomes`.
    """
    check_level(level)
    _check_outcomes(outcomes, names)
    n = len(outcomes)
    mean = outcomes.mean(axis=0)
    order = np.argsort(-mean, kind="stable")
    pairs = list(combinations(order.tolist(), 2))
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    difference = mean[first] - mean[second]
    se = np.array([(outcomes[:, a] - outcomes[:, b]).std(ddof=1) for a, b in pairs]) / np.sqrt(n)
    largest = _max_z(outcomes - mean, pairs, se, draws, seed)
    critical = float(np.quantile(largest, level))
    z = divide(np.abs(difference), se, where=se > 0, empty=0.0)
    p = (1 + (largest >= z[:, None]).sum(axis=1)) / (draws + 1)
    found = zip(pairs, difference.tolist(), (critical * se).tolist(), p.tolist(), strict=True)
    comparisons = tuple(
        Comparison(
            first=names[a],
            second=names[b],
            difference=value,
            low=max(-1.0, value - half),
            high=min(1.0, value + half),
            p_value=p_value,
            level=level,
            method="max-z",
            items=n,
            questions=questions,
            adjusted="max-z",
            assumptions=RANKING_ASSUMPTIONS,
        )
        for (a, b), value, half, p_value in found
    )
    ordered = tuple(names[j] for j in order)
    return Ranking(
        names=ordered,
        values=tuple(mean[order].tolist()),
        ranks=rank_ranges(ordered, comparisons),
        comparisons=comparisons,
        critical=critical,
        level=level,
    )


def _check_outcomes(outcomes: FloatArray, names: Sequence[str]) -> None:
    n, models = outcomes.shape
    if n < 2 or models < 2 or models != len(names):
        raise EstimateError(
            f"outcomes must have shape (N >= 2, {len(names)} >= 2 names), has {outcomes.shape}"
        )
    if len(set(names)) < models:
        raise EstimateError(f"names must differ, are {', '.join(names)}")


def rank_ranges(names: Sequence[str], comparisons: Sequence[Comparison]) -> tuple[tuple[int, int], ...]:
    """[1 + number significantly better, M − number significantly worse] of every model."""
    decided = [c for c in comparisons if c.verdict != TIED]
    better = Counter(c.second if c.verdict == c.first else c.first for c in decided)
    worse = Counter(c.verdict for c in decided)
    return tuple((1 + better[name], len(names) - worse[name]) for name in names)


def _max_z(
    centred: FloatArray, pairs: Sequence[tuple[int, int]], se: FloatArray, draws: int, seed: int
) -> FloatArray:
    n = len(centred)
    covariance = centred.T @ centred / (n * (n - 1))
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    drawn = np.random.default_rng(seed).standard_normal((draws, len(values))) @ root.T
    safe = np.where(se > 0, se, np.inf)
    largest = np.zeros(draws)
    for (a, b), scale in zip(pairs, safe, strict=True):
        np.maximum(largest, np.abs(drawn[:, a] - drawn[:, b]) / scale, out=largest)
    return largest
