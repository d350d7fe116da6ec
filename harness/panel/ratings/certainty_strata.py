"""Panels and yes/no labels on the same items: estimate by strata of certainty, spend by Neyman.

Â = Σ W_h Â_h with Var = Σ W_h² v_h/n_h is least at n_h ∝ W_h √v_h (Neyman 1934). Where annotators
agree, models tend to be right and v is small: labels go where they disagree. `stratify_by_certainty` gives
the strata that `oversight.harness.accuracy(…, strata=…)` takes.

Noise: if the experts who answer are as unsure as the panel, s = t = p_d, a corrected answer is worth
1/`noise_factor` of an exact one; below p_d ≈ .7 questions are wasted and the stratum is reported as
unresolvable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import FloatArray
from oversight.harness.errors import EstimateError
from oversight.harness.panel.ratings.certainty import (
    EDGES,
    assign_bins,
    bin_names,
    compute_certainty,
    split_by_certainty,
)
from oversight.harness.panel.ratings.panel import Panel

RESOLVABLE = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """One stratum of certainty.

    Attributes
    ----------
    share
        W_h: its share of the items.
    p_d
        Mean certainty.
    noise
        Factor on the number of questions if experts are as unsure (`noise_factor`).
    resolvable
        Whether p_d is above .7.
    """

    name: str
    items: int
    share: float
    p_d: float
    noise: float
    resolvable: bool


def stratify_by_certainty(panel: Panel, edges: tuple[float, ...] = EDGES) -> dict[str, str]:
    """Item → name of its bin of p_d. The panel's votes alone make them, never a label or prediction."""
    names = bin_names(edges)
    bins = assign_bins(compute_certainty(panel.votes()), edges)
    return {item: names[b] for item, b in zip(panel.items, bins, strict=True)}


def describe_strata(
    panel: Panel, edges: tuple[float, ...] = EDGES, accuracy: float = 0.8
) -> tuple[Stratum, ...]:
    """Size, certainty and cost of every stratum that has an item; `accuracy` is a guess for the noise."""
    p_d = compute_certainty(panel.votes())
    found = []
    for name, within in split_by_certainty(p_d, edges).items():
        mean = float(p_d[within].mean())
        found.append(
            Stratum(
                name=name,
                items=int(within.sum()),
                share=float(within.mean()),
                p_d=mean,
                noise=noise_factor(mean, accuracy) if mean > 0.5 else math.inf,
                resolvable=mean > RESOLVABLE,
            )
        )
    return tuple(found)


def noise_factor(p_d: float, accuracy: float = 0.8) -> float:
    """α(1 − α)/(J² A(1 − A)), α = A p + (1 − A)(1 − p), J = 2p − 1: questions against exact experts.

    Raises
    ------
    EstimateError
        If p_d leaves (½, 1] or the accuracy (0, 1).
    """
    if not 0.5 < p_d <= 1:
        raise EstimateError(f"p_d must lie in (1/2, 1], is {p_d}: at 1/2 an answer says nothing")
    if not 0 < accuracy < 1:
        raise EstimateError(f"accuracy must lie in (0, 1), is {accuracy}")
    alpha = accuracy * p_d + (1 - accuracy) * (1 - p_d)
    return alpha * (1 - alpha) / ((2 * p_d - 1) ** 2 * accuracy * (1 - accuracy))


def neyman_allocation(
    sizes: Mapping[str, int], variances: Mapping[str, float], n: int, *, least: int = 2
) -> dict[str, int]:
    """Whole numbers n_h ∝ W_h √v_h with Σ n_h = n, within [least, size of the stratum].

    Parameters
    ----------
    sizes
        Stratum → items in it.
    variances
        Stratum → v_h ≥ 0 of one label: A(1 − A) if the predicted class is asked about. Guesses cost
        precision, never validity.
    least
        At least so many each (all its items if it has fewer), so that a variance can be estimated.

    Raises
    ------
    EstimateError
        If n cannot pay for the least or exceeds the items, or a variance is missing or negative.
    """
    for name in sizes:
        v = variances.get(name)
        if v is None or not v >= 0:
            raise EstimateError(f"variances: stratum {name!r} needs a number of at least 0, has {v}")
    high = np.array(list(sizes.values()))
    low = np.minimum(least, high)
    if not low.sum() <= n <= high.sum():
        raise EstimateError(f"n must lie in {low.sum()}..{high.sum()}, is {n}")
    weight = high * np.sqrt([variances[h] for h in sizes])
    ideal = _filled(np.maximum(weight, 1e-12), low, high, n)
    whole = np.floor(ideal + 1e-9).astype(int)
    for j in np.argsort(-(ideal - whole), kind="stable")[: n - int(whole.sum())]:
        whole[j] += 1
    return dict(zip(sizes, whole.tolist(), strict=True))


def _filled(weight: FloatArray, low: FloatArray, high: FloatArray, n: int) -> FloatArray:
    """Scale of the weights at which the cut numbers add up to n, by bisection."""
    a, b = 0.0, float(high.max() / weight.min())
    for _ in range(200):
        scale = (a + b) / 2
        a, b = (scale, b) if np.clip(scale * weight, low, high).sum() < n else (a, scale)
    filled: FloatArray = np.clip(b * weight, low, high).astype(np.float64)
    return filled
