"""Many models at once: a family of comparisons, simultaneous intervals, ranks that admit ties.

Every pair has its own interval at the joint level, stretched around its estimate by c/z. Here c = q/√2, q
is the quantile of the studentized range of M models, and z is the quantile of one pair, so all pairs hold at
once (Tukey 1953; Kramer 1956, Biometrics 12, for unequal variances). With clusters, q and z are those of
Student's t with one degree of freedom fewer than clusters. Where few items differ, a pair's interval is exact
and wide, and stretching keeps that: simulated in `benchmarks/coverage_matrix.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from scipy.special import ndtri, stdtrit

from oversight.harness.estimate.comparison.two_models import TIED, Comparison
from oversight.harness.estimate.core import (
    bonferroni,
    check_known,
    check_level,
    holm,
    range_quantile,
    range_tail,
    z_value,
)
from oversight.harness.estimate.routed import t_quantile
from oversight.harness.types import HtmlTable, Shown, percent

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
        The bound on max |z|, or on max |t| of items in clusters.
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
    values: Mapping[str, float],
    pair: Callable[[str, str, float], Comparison],
    *,
    level: float = 0.95,
    clusters: int | None = None,
) -> Ranking:
    """All pairs at one joint level, see the module.

    Parameters
    ----------
    values
        Model → accuracy, to order and to show.
    pair
        Compares two models at a level.
    clusters
        Number of clusters, at least 2, if items come in clusters, which `pair` then knows of.
    """
    check_level(level)
    ordered = sorted(values, key=values.__getitem__, reverse=True)
    df = math.inf if clusters is None else max(1.0, clusters - 1.0)
    critical = range_quantile(level, len(values), df) / math.sqrt(2)
    stretch = critical / (z_value(level) if clusters is None else t_quantile(level, df))

    def join(found: Comparison) -> Comparison:
        z = z_of(found.p_value) if clusters is None else float(-stdtrit(df, found.p_value / 2))
        middle = found.difference
        return replace(
            found,
            low=max(-1.0, middle - stretch * (middle - found.low)),
            high=min(1.0, middle + stretch * (found.high - middle)),
            p_value=range_tail(math.sqrt(2) * z, len(values), df),
            method="max-z",
            adjusted="max-z",
            assumptions=RANKING_ASSUMPTIONS if clusters is None else CLUSTER_ASSUMPTIONS,
        )

    comparisons = tuple(join(pair(a, b, level)) for a, b in combinations(ordered, 2))
    return Ranking(
        names=tuple(ordered),
        values=tuple(values[name] for name in ordered),
        ranks=rank_ranges(ordered, comparisons),
        comparisons=comparisons,
        critical=critical,
        level=level,
    )


def rank_ranges(names: Sequence[str], comparisons: Sequence[Comparison]) -> tuple[tuple[int, int], ...]:
    """[1 + number significantly better, M − number significantly worse] of every model."""
    decided = [c for c in comparisons if c.verdict != TIED]
    better = Counter(c.second if c.verdict == c.first else c.first for c in decided)
    worse = Counter(c.verdict for c in decided)
    return tuple((1 + better[name], len(names) - worse[name]) for name in names)


def z_of(p_value: float) -> float:
    """|z| of a two-sided p-value."""
    return float(-ndtri(max(p_value, 1e-300) / 2))
