"""By which numbers to condition: whether the recorded propensities are those of a uniform draw."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.arrays import AnyIntArray

Conditioning = Literal["answers", "questions"]

YES, NO, ABSTAINED = 1, 0, -1
NEAR = 1e-6
"""Propensities that differ by less are equal."""


def choose_conditioning(
    split: Conditioning | Literal["auto"],
    item: AnyIntArray,
    kind: AnyIntArray,
    group: AnyIntArray,
    K: AnyIntArray,
    propensity: NDArray[np.float64] | None,
) -> tuple[Conditioning, ...]:
    """Choose for every group; see `tally` for what the names mean."""
    if split != "auto" or propensity is None:
        fixed: Conditioning = "answers" if split == "auto" else split
        return tuple(fixed for _ in range(K.size))
    asked = np.bincount(item, minlength=group.size)[item]
    which = group[item]
    chosen: list[Conditioning] = []
    for g, k in enumerate(K.tolist()):
        mine = slice(None) if K.size == 1 else which == g
        ok = _uniform(propensity[mine], kind[mine], asked[mine], k)
        chosen.append("answers" if ok else "questions")
    return tuple(chosen)


def _uniform(p: NDArray[np.float64], kind: AnyIntArray, asked: AnyIntArray, K: int) -> bool:
    """Whether the propensities are those of options drawn uniformly.

    m of K drawn: all m/K. A wrong option drawn given the truth: 1/(K−1). The truth given: 1. One
    option asked about for certain (targeted): not uniform, unless all K were asked.
    """
    if p.size == 0:
        return True
    refused = kind != YES
    no, yes = p[refused], p[~refused]
    steps = yes * K
    whole = np.abs(steps - np.rint(steps)) < NEAR * K
    if not (whole | (np.abs(yes * (K - 1) - 1) < NEAR * K)).all():
        return False
    if no.size == 0:
        return True
    each = np.abs(no * K - asked[refused]) < NEAR * K
    constant = np.ptp(no) < NEAR and (_is_share(float(no[0]), K))
    return bool(constant or each.all())


def _is_share(p: float, K: int) -> bool:
    if abs(p * (K - 1) - 1) < NEAR * K:
        return True
    m = round(p * K)
    return abs(p * K - m) < NEAR * K and 1 <= m < K
