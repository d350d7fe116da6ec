"""What drawn items stand for, where one draw after another took some of a pool with recorded chances.

The b-th draw takes n_b of the N_b items that remain, with chances ρ_i that may depend on all answers before
it. Each draw alone gives an unbiased sum over the pool (what was drawn before counts as it is, what is drawn
as 1/ρ_i), and a mean of these sums with weights λ_b that no answer enters is unbiased, too. λ_b is such that
even draws give every item the weight N/n (the weights of Farquhar, Gal & Rainforth 2021, ICLR, for one item
at a time).
"""

from __future__ import annotations

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray


def share_of_draw(number: int, before: int, remaining: int, pool: int) -> float:
    """λ of a draw of `number` of the `remaining` items among all up to it; `before` were drawn before."""
    return pool * number / ((before + number) * remaining)


def weigh_draws(chance: FloatArray, batch: IntArray, pool: int) -> FloatArray:
    """How many items of the pool every drawn one stands for, shape (n,).

    At least 1 where every draw kept chances up to its `share_of_draw`.

    Parameters
    ----------
    chance, batch
        Shape (n,): probability with which the item was drawn of what remained, NaN where all were equal, and
        number of the draw, from 1.
    pool
        Items of the pool.
    """
    weight, before = np.ones(len(chance)), 0
    for number in np.unique(batch).tolist():
        now, earlier = batch == number, batch < number
        size, remaining = int(np.count_nonzero(now)), pool - before
        share = share_of_draw(size, before, remaining, pool)
        weight[earlier] = (1 - share) * weight[earlier] + share
        each = np.where(np.isnan(chance[now]), size / remaining, chance[now])
        weight[now] = np.maximum(1.0, share / each)
        before += size
    return weight
