"""Compare the width of our intervals with reference intervals on the same draws.

If options are drawn uniformly and K is the same for all items, the reference is the exact interval of the
likelihood, multiplied by the interval of the readable share. In all other designs, the reference is the
narrowest interval that covers among three: Student's t with one item added at each end, hedged betting, and
empirical Bernstein. For winners of searches with equal candidates, the reference is a lower bound on widths:
that of intervals that would also cover if one candidate were better.
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
from scipy import stats

import oversight as ov
from benchmarks._coverage_designs import Design, Drawn, draw, true_accuracies
from benchmarks._coverage_kinds import NEAR, Cell, Outcome, winner_widths
from oversight.harness import FloatArray
from oversight.harness.estimate import clopper_pearson, flat_posterior
from oversight.harness.estimate.estimators import make_point
from oversight.harness.estimate.intervals import make_interval
from oversight.harness.estimate.tallies import tally

Ends = tuple[float, float]


def reference_widths(design: Design, draws: int) -> tuple[float, float]:
    """Return the mean widths of our interval and of the narrowest reference that covers.

    Both are NaN if no reference applies to the design.
    """
    given = design.options
    if design.kind == "winner" and given["archive"] == "all equal":
        return winner_widths(given["labels"], design.K[0], design.n, given["candidates"], draws)
    is_plain = design.kind == "accuracy" and design.protocol in ("partitioned", "targeted")
    troubles = (design.cluster, design.slow < 1, design.failed, design.abstained, design.strata, design.later)
    if not is_plain or any(troubles):
        return math.nan, math.nan
    rng = np.random.default_rng([3, sum(map(ord, str(design)))])
    truth = true_accuracies(design)[0]
    ours = []
    seen = defaultdict[str, list[Outcome]](list)
    for _ in range(draws):
        drawn = draw(design, rng)
        found = ov.accuracy(drawn.models["m0"], drawn.labels)
        ours.append(found.high - found.low)
        for name, (low, high) in _references(drawn).items():
            seen[name].append(Outcome(low - NEAR <= truth <= high + NEAR, width=high - low))
    cells = [Cell.of(name, each) for name, each in seen.items()]
    return float(np.mean(ours)), min([cell.width for cell in cells if not cell.low], default=math.nan)


def _references(drawn: Drawn) -> dict[str, Ends]:
    """Return reference intervals of the first model.

    This is the exact interval or, if the design has none, three intervals from unbiased item scores.
    """
    if (exact := _exact(drawn)) is not None:
        return {"exact": exact}
    g, low, high = _scores(drawn)
    n = len(g)
    padded = np.concatenate([g, [0.0, 1.0]])
    log = math.log(4 / 0.05)
    bernstein = math.sqrt(2 * g.var(ddof=1) * log / n) + 7 * (high - low) * log / (3 * (n - 1))
    ends = {
        "t + items at both ends": stats.t.interval(0.95, n + 1, padded.mean(), stats.sem(padded)),
        "empirical Bernstein": (g.mean() - bernstein, g.mean() + bernstein),
        "betting": _betting(g, low, high),
    }
    return {name: (max(0.0, float(a)), min(1.0, float(b))) for name, (a, b) in ends.items()}


def _betting(g: FloatArray, low: float, high: float, level: float = 0.95, points: int = 200) -> Ends:
    """Return a betting interval for the mean of independent g ∈ [low, high].

    After scaling to [0, 1], K±_t(m) = Π_i (1 ± λ_i^±(m)(g_i − m)) is a martingale if the mean is m; α is 1 −
    level. The value m is excluded permanently once max(½K⁺, ½K⁻) ≥ 1/(1 − level) (Ville's inequality). The
    bets λ_t = √(2 log(2/α)/(σ̂²_{t−1} t log(t + 1))), truncated at ½/m and ½/(1 − m), use only earlier g (the
    hedged capital process of Waudby-Smith & Ramdas 2024, JRSS B 86).
    """
    x = np.clip((g - low) / (high - low), 0.0, 1.0)
    bets = _bets(x, 1 - level)
    means = np.linspace(0, 1, points + 1)
    with np.errstate(divide="ignore"):
        cap_up, cap_down = 0.5 / means, 0.5 / (1 - means)
    up, down = np.zeros(points + 1), np.zeros(points + 1)
    alive = np.ones(points + 1, dtype=np.bool_)
    ends = 0.0, 1.0
    threshold = -np.log(1 - level) + np.log(2)
    for bet, value in zip(bets, x, strict=True):
        up += np.log1p(np.minimum(bet, cap_up) * (value - means))
        down += np.log1p(-np.minimum(bet, cap_down) * (value - means))
        alive &= np.maximum(up, down) < threshold
        kept = means[alive]
        # If all means are excluded (probability at most 1 − level), keep the previous interval.
        ends = (float(kept[0]), float(kept[-1])) if kept.size else ends
    step = 1 / points
    return low + (high - low) * max(ends[0] - step, 0.0), low + (high - low) * min(ends[1] + step, 1.0)


def _bets(x: FloatArray, alpha: float) -> FloatArray:
    """Return predictable plug-in bets: bet t uses only x_1..x_{t−1}, and one pseudo-value at ½."""
    t = np.arange(1, len(x) + 1)
    mean = (0.5 + np.cumsum(x)) / (t + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (t + 1)
    previous = np.concatenate([[0.25], variance[:-1]])
    bets: FloatArray = np.sqrt(2 * np.log(2 / alpha) / (previous * t * np.log(t + 1)))
    return bets


def _exact(drawn: Drawn) -> Ends | None:
    """Return the exact interval of the likelihood, times Clopper & Pearson's interval of the readable share.

    Returns None if K varies, or options were not drawn uniformly.
    """
    predictions = drawn.models["m0"]
    readable = {p.item_id for p in predictions if p.option is not None}
    labels = [x for x in drawn.labels if x.item_id in readable]
    if len({x.n_options for x in labels}) != 1 or any(x.propensities or x.propensity == 1 for x in labels):
        return None
    counts = tally([p for p in predictions if p.item_id in readable], labels).strata[0]
    found = make_interval(make_point("ml", counts.hits, counts.misses))
    least, most = clopper_pearson(len(labels), len(drawn.labels))
    whole = len(labels) == len(drawn.labels)
    return found.low * (1 if whole else least), found.high * most


def _scores(drawn: Drawn) -> tuple[FloatArray, float, float]:
    """Return an unbiased score of every item, and the smallest and largest score that can occur."""
    predicted = {p.item_id: p.option for p in drawn.models["m0"]}
    g, ends = [], []
    for label in drawn.labels:
        pi = np.array(label.propensities or (label.propensity,) * label.n_options)
        option = predicted[label.item_id]
        if option is None:
            g.append(0.0)
            continue
        p = flat_posterior([label.n_options], label.n_options)[0]
        s = np.divide(p * (1 - p), pi, out=np.zeros_like(p), where=pi > 0)
        c = np.arange(label.n_options) == option
        constant = float(s[c].sum() / s.sum()) if (pi > 0).all() else 0.0
        k, yes = label.option, float(label.kind.value == "ordinary")
        g.append(float(p[option] + (c[k] - constant) * (yes - p[k]) / pi[k]))
        each = [
            p[option] + (c[j] - constant) * (b - p[j]) / pi[j]
            for j in range(label.n_options)
            if pi[j] > 0
            for b in (0, 1)
        ]
        ends += [min(each), max(each)]
    return np.array(g), float(min([*ends, 0.0])), float(max([*ends, 1.0]))
