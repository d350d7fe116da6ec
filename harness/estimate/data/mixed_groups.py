"""Tallies of different K, or of strata whose items weigh differently, estimated by one test of all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from oversight.harness.estimate.core import chi2_tail
from oversight.harness.estimate.data.combine import StratumEstimate, none_readable, with_unreadable
from oversight.harness.estimate.estimators import make_point
from oversight.harness.estimate.intervals import join_rows, tilted_score, uniform_rows, weighted_score
from oversight.harness.types import Interval

_LIKELY = 0.2
"""p of the χ² test of proportional labelling from which on it is taken for that."""

if TYPE_CHECKING:
    from oversight.harness.estimate.data.stratified import Tally


def merge_tallies(used: Sequence[Tally], pool: Mapping[str, int] | None) -> list[tuple[float, Tally]]:
    """Tallies whose items weigh the same and have as many options, added; with the weight of an item.

    Counts of one K that weigh the same follow the law of one stratum exactly, however accuracies
    differ between strata, and small strata cost nothing.
    """
    labelled: Counter[str] = Counter()
    for t in used:
        labelled[t.stratum] += t.n_labelled
    sizes = labelled if pool is None or _is_proportional(labelled, pool) else pool
    total = sum(sizes[name] for name in labelled)
    merged: dict[tuple[int, str, float], Tally] = {}
    for t in used:
        weight = sizes[t.stratum] / total / labelled[t.stratum]
        key = (t.K, t.split, round(weight * total, 9))
        merged[key] = merged[key].add(t) if key in merged else t
    return [(weight / total, t) for (_, _, weight), t in merged.items()]


def _is_proportional(labelled: Mapping[str, int], pool: Mapping[str, int]) -> bool:
    """Whether strata are labelled about as often as a blind draw from the predictions would.

    Then items weigh the same: weights that only undo the chance of the draw cost width and mend no bias.
    """
    share = sum(labelled.values()) / sum(pool[name] for name in labelled)
    statistic = math.fsum(
        (n - share * pool[name]) ** 2 / (share * pool[name]) for name, n in labelled.items()
    )
    return chi2_tail(statistic, max(1, len(labelled) - 1)) >= _LIKELY


def estimate_groups(groups: Sequence[tuple[float, Tally]], estimator: str, level: float) -> StratumEstimate:
    """Estimate over groups of different K or weight by one test of all, not by an estimate of each.

    For `ml`, with one question an item, the score test of `tilted_score`; else that of `weighted_score`.
    """
    readable = [(w, t) for w, t in groups if t.n_readable]
    n, carried = sum(t.n_labelled for _, t in groups), sum(t.n_readable for _, t in groups)
    if not readable:
        return none_readable("", n, level)
    if estimator in ("ord", "comp"):
        chosen = [(w, t, (t.hits,) if estimator == "ord" else t.misses) for w, t in readable]
        for _, t, _ in chosen:
            make_point(estimator, t.hits, t.misses)  # refuses a group without such labels
    else:
        chosen = [(w, t, tuple(c for c in (t.hits, *t.misses) if c.n)) for w, t in readable]
    share = math.fsum(w * t.n_readable for w, t in readable)
    if estimator not in ("ord", "comp") and all(c.K == t.K for _, t in readable for c in t.misses):
        rows = join_rows([uniform_rows(t.K, t.outcomes, w / share) for w, t in readable])
        found = tilted_score(rows, level)
        value, low, high, se, method = found.value, found.low, found.high, found.se, "tilted-score"
    else:
        shares = [(w * t.n_readable / share, samples) for w, t, samples in chosen]
        (value, low, high, se), method = weighted_score(shares, level), "weighted-score"
    if estimator.startswith("ivw"):
        points = [(w * t.n_readable / share, make_point(estimator, t.hits, t.misses)) for w, t in readable]
        value = math.fsum(w * p.value for w, p in points)
    flags: tuple[str, ...] = () if 0 <= value <= 1 else ("out_of_range",)
    if not low <= min(1.0, max(0.0, value)) <= high:
        flags += ("value_outside_interval",)
    made = Interval(low=low, high=high, level=level, method=method, flags=flags)
    # unreadable predictions of a group whose items weigh more leave the share less certain
    size = n if carried == n else 1 / math.fsum(w**2 * t.n_labelled for w, t in groups)
    return with_unreadable(value, se, made, share if carried < n else 1.0, size, n)
