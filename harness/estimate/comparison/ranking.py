"""Many models at once: a family of comparisons, simultaneous intervals, ranks that admit ties.

Every pair has an interval of its own at one higher level 2Φ(c) − 1, so that each keeps what makes it
valid. The bound c on the largest |z| of all pairs is Bonferroni's, or, where every pair differs on
`_MANY` items or more, that of the multiplier bootstrap: with Gaussian multipliers ξ_i the statistics
Σ ξ_i (d_i − D̂)/(√N sd) are, given the data, jointly normal with the correlations of the d's, so they
are drawn from that normal, and c is the ``level`` quantile of max |z*| (Chernozhukov, Chetverikov & Kato
2013, Ann. Stat. 41). Unlike Bonferroni it uses that the pairs share items and models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtr

from harness.arrays import FloatArray
from harness.errors import EstimateError
from harness.estimate.comparison.paired import mcnemar
from harness.estimate.comparison.two_models import TIED, Comparison
from harness.estimate.core import bonferroni, check_known, check_level, holm, two_sided, z_value
from harness.estimate.routed import t_quantile
from harness.types import HtmlTable, Shown, percent

_MANY = 30
"""Items on which every pair must differ before the bootstrap of the largest |z| is trusted."""

RANKING_ASSUMPTIONS = ("items are independent draws", "no outcome rests on the same answers twice")
CLUSTER_ASSUMPTIONS = ("clusters are independent draws", "no outcome rests on the same answers twice")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking(Shown):
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

    def records(self) -> list[dict[str, Any]]:
        """A row a model."""
        rows = zip(self.names, self.values, self.ranks, strict=True)
        return [{"model": n, "accuracy": v, "best_rank": a, "worst_rank": b} for n, v, (a, b) in rows]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """What a notebook shows."""
        shown = (percent(min(1.0, max(0.0, value))) for value in self.values)
        return (
            HtmlTable(
                title=f"Ranking, joint level {self.level:.0%}",
                columns=("model", "rank", "accuracy"),
                rows=list(zip(self.names, self._spans, shown, strict=True)),
                notes=("models that share a rank cannot be told apart",),
            ),
        )

    @property
    def _spans(self) -> list[str]:
        return [str(a) if a == b else f"{a}–{b}" for a, b in self.ranks]

    def __str__(self) -> str:
        """One line a model: ``1–2  model  0.712``."""
        spans = self._spans
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
    pair: Callable[[int, int, float], Comparison] | None = None,
    values: Sequence[float] | None = None,
    independent: bool = True,
) -> Ranking:
    """All pairs at one joint level, see the module.

    Parameters
    ----------
    outcomes
        Shape (N, M): one column a model, one row an item: g of equation (G), or exact correctness.
    draws, seed
        Size and seed of the bootstrap.
    pair
        Compares two columns at a level; by default `compare_outcomes`.
    values
        Accuracies to order and show; by default the means of the columns.
    independent
        False if items come in clusters, which `pair` then knows of: the bound is Bonferroni's.

    Errors as `_check_outcomes`.
    """
    check_level(level)
    _check_outcomes(outcomes, names)
    shown = outcomes.mean(axis=0) if values is None else np.asarray(values, dtype=np.float64)
    order = np.argsort(-shown, kind="stable")
    pairs = list(combinations(order.tolist(), 2))
    largest = _max_z(outcomes, pairs, draws, seed) if independent else None
    if largest is None:
        critical = z_value(1 - (1 - level) / len(pairs))
    else:
        critical = float(np.quantile(largest, level))
    each = 1 - two_sided(critical)

    def judge(a: int, b: int) -> Comparison:
        if pair is not None:
            return pair(a, b, each)
        named = names[a], names[b]
        return compare_outcomes(outcomes[:, a], outcomes[:, b], questions=questions, level=each, names=named)

    assumed = RANKING_ASSUMPTIONS if independent else CLUSTER_ASSUMPTIONS
    comparisons = tuple(
        replace(_adjust(judge(a, b), largest, len(pairs), level), assumptions=assumed) for a, b in pairs
    )
    ordered = tuple(names[j] for j in order)
    return Ranking(
        names=ordered,
        values=tuple(shown[order].tolist()),
        ranks=rank_ranges(ordered, comparisons),
        comparisons=comparisons,
        critical=critical,
        level=level,
    )


def _adjust(found: Comparison, largest: FloatArray | None, pairs: int, level: float) -> Comparison:
    """A pair with its p-value among all pairs, and the joint level in place of its own."""
    if largest is None:
        p_value = min(1.0, found.p_value * pairs)
    else:
        p_value = float(1 + (largest >= z_of(found.p_value)).sum()) / (len(largest) + 1)
    return replace(
        found,
        level=level,
        p_value=p_value,
        method="max-z",
        adjusted="max-z",
    )


def compare_outcomes(
    first: FloatArray, second: FloatArray, *, questions: int, level: float, names: tuple[str, str]
) -> Comparison:
    """Difference of two columns of outcomes: McNemar's test of 0 and 1, else Student's t.

    The t interval counts one item at either end of the differences seen (of the outcomes, where
    none differs), so that it has a width.
    """
    if np.isin(first, (0, 1)).all() and np.isin(second, (0, 1)).all():
        found: Comparison = mcnemar(first, second, questions=questions, level=level, names=names)
        return found
    d = first - second
    n, reach = len(d), float(np.abs(d).max() or np.ptp([first, second]))
    value = float(d.mean())
    se = float(np.sqrt((((d - value) ** 2).sum() + 2 * reach**2 / (n + 2)) / (n - 1) / n))
    half = t_quantile(level, n - 1) * se
    return Comparison(
        first=names[0],
        second=names[1],
        difference=value,
        low=value - half,
        high=value + half,
        p_value=float(2 * stdtr(n - 1, -abs(value) / se)) if se > 0 else 1.0,
        level=level,
        method="t",
        items=n,
        questions=questions,
        why="Student's t of arbitrary outcomes covers less than its level where large ones are rare",
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
    outcomes: FloatArray, pairs: Sequence[tuple[int, int]], draws: int, seed: int
) -> FloatArray | None:
    """Draws of the largest |z*|, shape (draws,); None where a pair differs on too few items for it."""
    n = len(outcomes)
    if min(np.count_nonzero(outcomes[:, a] != outcomes[:, b]) for a, b in pairs) < _MANY:
        return None
    centred = outcomes - outcomes.mean(axis=0)
    se = np.array([(outcomes[:, a] - outcomes[:, b]).std(ddof=1) for a, b in pairs]) / np.sqrt(n)
    if not (se > 0).all():
        return None
    values, vectors = np.linalg.eigh(centred.T @ centred / (n * (n - 1)))
    root = vectors * np.sqrt(np.maximum(values, 0))
    drawn = np.random.default_rng(seed).standard_normal((draws, len(values))) @ root.T
    largest = np.zeros(draws)
    for (a, b), scale in zip(pairs, se, strict=True):
        np.maximum(largest, np.abs(drawn[:, a] - drawn[:, b]) / scale, out=largest)
    return largest


def z_of(p_value: float) -> float:
    """|z| of a two-sided p-value."""
    return float(-ndtri(max(p_value, 1e-300) / 2))
