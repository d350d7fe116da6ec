"""Items drawn with unequal, recorded chances: in proportion to how unsure one is of them beforehand.

Of all ways to draw n items, chances ∝ the standard deviation of what is not known of each make the sum of
what was found, each item weighed by one over its chance, most exact (Neyman 1934, J. R. Stat. Soc. 97). A
share `EVEN` of the draw is spread evenly, whatever is thought: no item weighs more than 1/`EVEN` times what
it would in an even draw, so that a wrong guess costs width and nothing else.

Of several draws one after the other, `oversight.harness.columns.weigh_draws` says what each item stands for.
"""

from __future__ import annotations

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.estimate.item_draws.agreement import DIGITS

EVEN = 0.25
"""Share of a draw that goes to all items alike."""


def chances_by_deviation(deviation: FloatArray, number: int, *, most: float = 1.0) -> FloatArray:
    """Probability that each of the remaining items is drawn, shape (N,); they sum to `number`.

    Parameters
    ----------
    deviation
        Shape (N,), ≥ 0: standard deviation of what is not known of each item.
    number
        Items to draw, at most N.
    most
        Largest chance, at least number/N; `oversight.harness.columns.share_of_draw`, so that no item weighs
        less than
        1.
    """
    n, even = len(deviation), number / len(deviation)
    most = min(1.0, max(most, even))
    if number >= n or not deviation.any():
        return np.full(n, even)
    least = EVEN * even
    chance: FloatArray = np.full(n, most)
    free: BoolArray = np.ones(n, dtype=np.bool_)
    while free.any():
        total = float(deviation[free].sum())
        left = number - most * np.count_nonzero(~free) - least * np.count_nonzero(free)
        share = deviation[free] / total if total > 0 else np.full(np.count_nonzero(free), 1 / free.sum())
        chance[free] = least + left * share
        above = free & (chance > most)
        if not above.any():
            break
        chance[above], free = most, free & ~above
    return chance


def draw_with_chances(chance: FloatArray, order: FloatArray, rng: np.random.Generator) -> IntArray:
    """Places of the items drawn, in order: item i with probability `chance`, which sum to a whole number.

    A systematic draw (Madow 1949, Ann. Math. Stat. 20) from the items in the order given, equal ones
    shuffled: of items that are alike in it comes their share, give or take one.
    """
    line = np.lexsort((rng.random(len(chance)), np.round(order, DIGITS)))
    ends = np.cumsum(chance[line])
    number = round(float(ends[-1]))
    ticks = (np.arange(number) + rng.random()) * (float(ends[-1]) / number)
    return np.sort(line[np.minimum(np.searchsorted(ends, ticks, side="right"), len(chance) - 1)])
