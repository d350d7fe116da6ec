"""Items with one answer each as the rows that `tilted_score` works on: what each weighs, and its working q.

Where options were drawn with unequal propensities π, q is fitted to π and the answers
(`oversight.harness.estimate.intervals.fitted_working`). Where they were drawn uniformly, the options named by
c weigh as much as all the others together (p_λ is then one accuracy for all items, whatever their K).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.core import find_equal
from oversight.harness.estimate.intervals.fitted_working import fit_working, prior_working

_EXCESS = 0.5
"""Share of the observed variance beyond the model's that counts where q is fitted: where votes mislead, 0
covers as little as .81 and .25 covers .93; 1 makes intervals a tenth wider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TiltedRows:
    """Items with one answer each, equal ones in one row; all fields have shape (R,).

    Attributes
    ----------
    up, down, rest
        q of the option with c = +1, of that with c = −1 (0 without one), and of all others.
    inverse_up, inverse_down
        1/π of these options, 0 where they are never asked about.
    linear, square
        Σ q/π and Σ q²/π over the others that can be asked about.
    constant
        C where an option that is never asked about fixes it, else NaN.
    asked_c, asked_q, asked_inverse, yes
        c, q and 1/π of the option asked about (0 where nothing was), and whether the answer was yes (1) or
        no (0).
    weight, count
        w of each item, Σ count·weight = 1, and the number of items in the row.
    cluster
        Number of the item's cluster, where items of one cluster may be right together; else empty.
    stratum
        Number of the stratum that the item was drawn from, 0 of all without any.
    excess
        Share of the observed variance beyond the model's that counts.
    """

    up: FloatArray
    down: FloatArray
    rest: FloatArray
    inverse_up: FloatArray
    inverse_down: FloatArray
    linear: FloatArray
    square: FloatArray
    constant: FloatArray
    asked_c: FloatArray
    asked_q: FloatArray
    asked_inverse: FloatArray
    yes: FloatArray
    weight: FloatArray
    count: FloatArray
    cluster: IntArray
    stratum: IntArray
    excess: FloatArray


def collapse_rows(rows: TiltedRows) -> TiltedRows:
    """The same items with equal ones in one row; clusters keep every item in a row of its own."""
    if rows.cluster.size:
        return rows
    names = [f.name for f in fields(rows) if f.name not in ("count", "cluster")]
    # NaN, "not fixed", differs from itself; no constant is infinite
    table = np.nan_to_num(np.stack([getattr(rows, name) for name in names], axis=1), nan=np.inf)
    first, inverse = find_equal(table + 0.0)  # no two zeros
    count = np.bincount(inverse, weights=rows.count)
    kept = table[first]
    order = np.lexsort(kept.T[::-1])  # one order of sums, whatever the order of the items
    kept, count = kept[order], count[order]
    kept[np.isinf(kept)] = np.nan
    columns = {name: kept[:, j] for j, name in enumerate(names)}
    stratum = columns.pop("stratum").astype(np.int64)
    return TiltedRows(**columns, count=count, cluster=rows.cluster, stratum=stratum)


def tilt_items(
    c: FloatArray,
    propensities: FloatArray,
    n_options: IntArray,
    asked: IntArray,
    yes: FloatArray,
    *,
    cluster: IntArray | None = None,
    stratum: IntArray | None = None,
    count: IntArray | None = None,
    working: FloatArray | None = None,
) -> TiltedRows:
    """Rows of N items of equal weight, from what was asked of each.

    Parameters
    ----------
    c
        Shape (N, K), at most one +1 and one −1 in a row, else 0.
    propensities
        Shape (N, K): π of every option, 0 beyond the item's own. With `working`, items of a pool that were
        not drawn may have 0 throughout, for unknown chances; those drawn then stand for 1/ρ in Σ Var(g), ρ
        being the sum of their row.
    n_options, asked, yes
        Shape (N,): K, option asked about (−1 for items of a pool that were not drawn, π being the
        probability that item and option are), and 1 for yes, 0 for no.
    cluster
        Shape (N,), if items are not independent.
    stratum
        Shape (N,), if items were drawn from strata.
    count
        Shape (N,), if an entry stands for so many equal items.
    working
        Shape (N, K), rows sum to 1: q of every option, above 0, made without the item's own answer; None
        takes what the module says, fitted to all answers.

    Raises
    ------
    EstimateError
        If there is no item.
    NotIdentified
        If options that are never asked about differ in c.
    """
    n, width = c.shape
    if n == 0:
        raise EstimateError("a score interval needs at least 1 item, there are 0")
    own = np.arange(width) < n_options[:, None]
    can = own & (propensities > 0)
    inverse = np.divide(1.0, propensities, out=np.zeros_like(propensities), where=can)
    plus, minus, zero = c > 0, c < 0, own & (c == 0)
    told, never = np.ones(n, np.bool_), own & ~can
    if working is not None:
        told = propensities.sum(axis=1) > 0
        never &= told[:, None]
    stands = np.ones(n) if told.all() else np.where(told, propensities.sum(axis=1), 1.0)
    at, drawn = (np.arange(n), asked), asked >= 0
    if not can[at][drawn].all():
        row = int(np.flatnonzero(~can[at] & drawn)[0])
        raise EstimateError(f"item {row} was asked about option {asked[row]} of propensity 0")
    none = np.zeros(0, np.int64)
    number = np.ones(n) if count is None else count.astype(np.float64)
    q, excess = working, np.ones(n)
    if q is None:
        q, uniform = _uniform_working(c, propensities, own)
        fitted = np.flatnonzero(~uniform)
        excess[fitted] = _EXCESS
        said = asked[fitted], np.asarray(yes, dtype=np.float64)[fitted], number[fitted]
        if fitted.size:
            q[fitted] = fit_working(c[fitted], propensities[fitted], own[fitted], *said)
    return TiltedRows(
        up=(q * plus).sum(axis=1),
        down=(q * minus).sum(axis=1),
        rest=(q * zero).sum(axis=1),
        inverse_up=(inverse * plus).sum(axis=1) / stands,
        inverse_down=(inverse * minus).sum(axis=1) / stands,
        linear=(q * inverse * zero).sum(axis=1) / stands,
        square=(q * q * inverse * zero).sum(axis=1) / stands,
        constant=_fix_constant(plus & never, minus & never, zero & never),
        asked_c=np.where(drawn, c[at], 0.0),
        asked_q=np.where(drawn, q[at], 0.0),
        asked_inverse=np.where(drawn, inverse[at], 0.0),
        yes=np.asarray(yes, dtype=np.float64),
        weight=np.full(n, 1 / float(number.sum())),
        count=number,
        cluster=none if cluster is None else cluster,
        stratum=np.zeros(n, np.int64) if stratum is None else stratum,
        excess=excess,
    )


def plan_working(c: FloatArray, propensities: FloatArray, n_options: IntArray) -> FloatArray:
    """Make the q that `tilt_items` takes before any answer; shape (N, K), parameters alike."""
    own = np.arange(c.shape[1]) < n_options[:, None]
    q, uniform = _uniform_working(c, propensities, own)
    return np.where(uniform[:, None], q, prior_working(c, propensities, own))


def _uniform_working(c: FloatArray, propensities: FloatArray, own: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Make q of items whose options were drawn uniformly, shape (N, K), and mark these items, (N,)."""
    high = np.where(own, propensities, 0.0).max(axis=1)
    low = np.where(own, propensities, np.inf).min(axis=1)
    others = np.maximum((own & (c == 0)).sum(axis=1, keepdims=True), 1)
    q = np.where(own, np.where(c != 0, others, 1.0), 0.0)
    return q / q.sum(axis=1, keepdims=True), high - low < 1e-9


def _fix_constant(plus: BoolArray, minus: BoolArray, zero: BoolArray) -> FloatArray:
    """C of items some options of which are never asked about: their common c; NaN where all can be.

    Raises
    ------
    NotIdentified
        If they differ in c.
    """
    kinds = np.stack([side.any(axis=1) for side in (plus, minus, zero)])
    bad = np.flatnonzero(kinds.sum(axis=0) > 1)
    if bad.size:
        options = ", ".join(str(k) for k in np.flatnonzero((plus | minus | zero)[bad[0]]))
        raise NotIdentified(
            f"{bad.size} of {len(plus)} items, the first with the options {options}: they have propensity 0, "
            "but the target tells them apart; these answers were asked for other predictions and cannot "
            "score these"
        )
    return np.select([kinds[0], kinds[1], kinds[2]], [1.0, -1.0, 0.0], np.nan)


def uniform_rows(K: int, counts: tuple[int, int, int, int], weight: float) -> TiltedRows:
    """Rows of items of K options one of which was drawn uniformly, from their counts.

    Parameters
    ----------
    counts
        Predicted option asked about: yes, no; another: no, yes.
    weight
        w of each item.
    """
    other = 1 / (2 * (K - 1))
    hit = np.array([1.0, 1.0, 0.0, 0.0])
    one = np.ones(4)
    return TiltedRows(
        up=one / 2,
        down=0 * one,
        rest=one / 2,
        inverse_up=K * one,
        inverse_down=0 * one,
        linear=K / 2 * one,
        square=K * other / 2 * one,
        constant=np.full(4, np.nan),
        asked_c=hit,
        asked_q=np.where(hit > 0, 0.5, other),
        asked_inverse=K * one,
        yes=np.array([1.0, 0.0, 0.0, 1.0]),
        weight=weight * one,
        count=np.array(counts, dtype=np.float64),
        cluster=np.zeros(0, np.int64),
        stratum=np.zeros(4, np.int64),
        excess=one,
    )


def join_rows(parts: list[TiltedRows]) -> TiltedRows:
    """One set of rows of several."""
    return replace(
        parts[0],
        **{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(parts[0])},
    )
