"""Argument checks shared by the estimators; every message names the argument, the bound, the value."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from oversight.harness.arrays import BoolArray
from oversight.harness.errors import EstimateError


def check_level(level: float) -> None:
    """Refuse a confidence level outside (0, 1).

    Raises
    ------
    EstimateError
        If `level` is not strictly between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise EstimateError(f"level must lie in (0, 1), is {level!r}")


def check_unit(name: str, value: float) -> None:
    """Refuse a weight or probability outside [0, 1].

    Raises
    ------
    EstimateError
        If `value` is not a number between 0 and 1.
    """
    if not 0.0 <= value <= 1.0:
        raise EstimateError(f"{name} must lie in [0, 1], is {value!r}")


def check_least(name: str, value: float, least: int) -> None:
    """Refuse a number that is too small.

    Raises
    ------
    EstimateError
        If `value` is below `least`.
    """
    if value < least:
        raise EstimateError(f"{name} must be at least {least}, is {value}")


def check_known(name: str, value: str, known: Collection[str]) -> None:
    """Refuse an unknown name of an option.

    Raises
    ------
    EstimateError
        If `value` is none of those known.
    """
    if value not in known:
        raise EstimateError(f"{name} must be one of {', '.join(known)}, is {value!r}")


def check_rows(name: str, values: Any, good: BoolArray, rule: str) -> None:
    """Refuse an array with a value that is not good, naming the first one's row.

    Raises
    ------
    EstimateError
        If `good`, of the array's shape, does not hold everywhere; `rule` says what a value must do.
    """
    for row in np.flatnonzero(~good)[:1]:
        raise EstimateError(f"{name}[{row}] must {rule}, is {values[row]}")


def check_options(K: float) -> None:
    """Refuse fewer than two options: with one, every prediction is right and no label says anything.

    K = 2 is fine (the paper asks for K ≥ 3): a refused option then names the other one, the
    complementary estimate is the plain share q̂, and nothing divides by zero.

    Raises
    ------
    EstimateError
        If `K` is below 2 or not finite.
    """
    if not (math.isfinite(K) and K >= 2):
        raise EstimateError(f"K, the number of options, must be at least 2, is {K!r}")


def check_count(name: str, value: int) -> None:
    """Refuse a negative or fractional number of labels.

    Raises
    ------
    EstimateError
        If `value` is not a whole number ≥ 0.
    """
    if value < 0 or value != int(value):
        raise EstimateError(f"{name} must be a whole number ≥ 0, is {value!r}")


def check_successes(name: str, S: int, n_name: str, n: int) -> None:
    """Refuse counts that no sample can have.

    Raises
    ------
    EstimateError
        If `n` or `S` is not a whole number ≥ 0, or `S` exceeds `n`.
    """
    check_count(n_name, n)
    check_count(name, S)
    if n < S:
        raise EstimateError(f"{name} must be at most {n_name} = {n}, is {S}")


def check_positive(name: str, n: int, needed_for: str) -> None:
    """Refuse an estimate from an empty sample.

    Raises
    ------
    EstimateError
        If `n` is below 1.
    """
    check_count(name, n)
    if n < 1:
        raise EstimateError(f"{name} must be at least 1 for {needed_for}, is {n}")


def check_items(n: int) -> None:
    """Refuse a variance between fewer than two items.

    Raises
    ------
    EstimateError
        If `n` is below 2.
    """
    if n < 2:
        raise EstimateError(f"a variance needs at least 2 items, there are {n}")


def check_counts(K: float, S_o: int, n_o: int, S_c: int, n_c: int) -> None:
    """Refuse impossible sufficient counts of one stratum.

    Raises
    ------
    EstimateError
        If K < 2, a count is negative, successes exceed their labels, or there is no label at all.
    """
    check_options(K)
    check_successes("S_o", S_o, "n_o", n_o)
    check_successes("S_c", S_c, "n_c", n_c)
    if n_o + n_c == 0:
        raise EstimateError("n_o + n_c must be at least 1, is 0: without a label nothing can be estimated")
