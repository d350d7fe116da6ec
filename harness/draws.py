"""The draws of numpy's generators from many seeds, a portion of seeds at a time.

Every item draws from a generator of its own, ``numpy.random.default_rng(seed)``. To make one takes longer
than all else that is done about an item, so the words that many generators begin with are computed here as
arrays; what is drawn from them is the same to the last bit, which a test compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

_LOW, _HALF = np.uint64(2**32 - 1), np.uint64(32)
_POOL = 4  # words of a seed's pool
_FLOYD_MOST = 10_000  # the largest n whose choices numpy always draws one by one

# Melissa O'Neill's seed_seq_fe and PCG64 (XSL-RR), as numpy has them.
_POOL_HASH, _STATE_HASH = (0x43B0D7E5, 0x931E8875), (0x8B51F9DD, 0x58F38DED)
_MIX_LEFT, _MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_STEP_HIGH, _STEP_LOW = np.uint64(2549297995355413924), np.uint64(4865540595714422341)

Words = NDArray[np.uint32]
LongWords = NDArray[np.uint64]


class Draws:
    """What ``numpy.random.default_rng(seed)`` draws, of a few whole numbers.

    Parameters
    ----------
    seed
        64 bits.
    words
        The first of the generator's 32-bit words; it makes the later ones itself.
    """

    __slots__ = ("_word",)

    def __init__(self, seed: int, words: Sequence[int]) -> None:
        self._word = chain(words, _later_words(seed, len(words))).__next__

    def below(self, n: int) -> int:
        """``integers(n)``, by Lemire's multiplication."""
        if n == 1:
            return 0
        product = self._word() * n
        if product % 2**32 < n:  # hardly ever
            while product % 2**32 < 2**32 % n:
                product = self._word() * n
        return product >> 32

    def choice(self, n: int, size: int) -> list[int]:
        """``choice(n, size, replace=False)``: by Floyd, or by part of a shuffle if both are large."""
        if n > _FLOYD_MOST and size > n // 50:
            chosen, first = list(range(n)), max(n - size, 1)
        else:
            chosen, first = [], 1
            for j in range(n - size, n):
                value = self.below(j + 1)
                chosen.append(j if value in chosen else value)
        for i in range(len(chosen) - 1, first - 1, -1):
            j = self.below(i + 1)
            chosen[i], chosen[j] = chosen[j], chosen[i]
        return chosen[len(chosen) - size :]


def begin_draws(seeds: Sequence[int], words: int) -> Iterator[Draws]:
    """The draws of every seed (64 bits); quick as long as none needs more than so many words."""
    made = _first_words(np.array(seeds, dtype=np.uint64), words).tolist()
    return map(Draws, seeds, made)


def draw_first(seeds: Sequence[int], bounds: Sequence[int]) -> tuple[list[int], list[int]]:
    """``integers(bound)`` of every seed, −1 where the first word does not decide it; and the second word."""
    words = _first_words(np.array(seeds, dtype=np.uint64), 2).astype(np.uint64)
    most = np.array(bounds, dtype=np.uint64)
    product = words[:, 0] * most
    is_open = ((product & _LOW) < most) | (most == 1)  # nothing is drawn below 1
    drawn: list[int] = np.where(is_open, -1, (product >> _HALF).astype(np.int64)).tolist()
    return drawn, words[:, 1].tolist()


def draw_orders(seeds: Sequence[int], n: int) -> list[list[int]]:
    """``permutation(n)`` of every seed's generator: swaps by masked words, too large ones passed over."""
    words = _first_words(np.array(seeds, dtype=np.uint64), max(2 * n - 2, 1))
    rows, used = np.arange(len(seeds)), np.zeros(len(seeds), dtype=np.intp)
    orders, ran_out = np.tile(np.arange(n), (len(seeds), 1)), np.zeros(len(seeds), dtype=np.bool_)
    for i in range(n - 1, 0, -1):
        partner, left = rows * 0, rows
        while left.size:
            has_word = used[left] < words.shape[1]
            ran_out[left[~has_word]] = True
            left = left[has_word]
            drawn = words[left, used[left]] & np.uint32((1 << i.bit_length()) - 1)
            used[left] += 1
            partner[left] = drawn
            left = left[drawn > i]
        partner[ran_out] = i
        orders[rows, i], orders[rows, partner] = orders[rows, partner], orders[rows, i]
    found: list[list[int]] = orders.tolist()
    for row in np.flatnonzero(ran_out):
        found[row] = np.random.default_rng(seeds[row]).permutation(n).tolist()
    return found


def _later_words(seed: int, start: int) -> Iterator[int]:
    generator = np.random.default_rng(seed)
    generator.integers(2**32, size=start, dtype=np.uint32)
    while True:
        yield from generator.integers(2**32, size=64, dtype=np.uint32).tolist()


def _first_words(seeds: LongWords, words: int) -> Words:
    """The first 32-bit words of the seeds' generators, shape (seeds, words)."""
    high, low, add_high, add_low = _seed_states(seeds)
    found = np.empty((len(seeds), -(-words // 2)), dtype=np.uint64)
    for column in range(found.shape[1]):
        high, low = _step(high, low, add_high, add_low)
        mixed, turn = high ^ low, high >> np.uint64(58)
        found[:, column] = mixed >> turn | mixed << (-turn & np.uint64(63))
    return found.astype("<u8").view("<u4")[:, :words]


def _seed_states(seeds: LongWords) -> tuple[LongWords, LongWords, LongWords, LongWords]:
    """The states from which PCG64 steps, and what it adds at each step: high and low halves of 128 bits."""
    constants = _constants(*_POOL_HASH)
    empty = np.zeros(len(seeds), dtype=np.uint32)
    given = [(seeds & _LOW).astype(np.uint32), (seeds >> _HALF).astype(np.uint32), empty, empty]
    pool = [_hash(word, constants) for word in given]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                mixed = _MIX_LEFT * pool[target] - _MIX_RIGHT * _hash(pool[source], constants)
                pool[target] = mixed ^ mixed >> np.uint32(16)
    constants = _constants(*_STATE_HASH)
    halves = [_hash(pool[j % _POOL], constants).astype(np.uint64) for j in range(2 * _POOL)]
    high, low, add_high, add_low = (halves[j] | halves[j + 1] << _HALF for j in range(0, 2 * _POOL, 2))
    add_high, add_low = (
        add_high << np.uint64(1) | add_low >> np.uint64(63),
        add_low << np.uint64(1) | np.uint64(1),
    )
    low = low + add_low
    return *_step(high + add_high + (low < add_low), low, add_high, add_low), add_high, add_low


def _constants(start: int, factor: int) -> Iterator[tuple[np.uint32, np.uint32]]:
    while True:
        before, start = start, start * factor % 2**32
        yield np.uint32(before), np.uint32(start)


def _hash(words: Words, constants: Iterator[tuple[np.uint32, np.uint32]]) -> Words:
    before, after = next(constants)
    mixed = (words ^ before) * after
    return mixed ^ mixed >> np.uint32(16)


def _step(
    high: LongWords, low: LongWords, add_high: LongWords, add_low: LongWords
) -> tuple[LongWords, LongWords]:
    """Multiply 128 bits by PCG64's constant, and add."""
    a, b = low >> _HALF, low & _LOW
    c, d = _STEP_LOW >> _HALF, _STEP_LOW & _LOW
    middle = a * d + (b * d >> _HALF)
    carried = a * c + (middle >> _HALF) + ((middle & _LOW) + b * c >> _HALF)
    product = low * _STEP_LOW + add_low
    return high * _STEP_LOW + low * _STEP_HIGH + carried + add_high + (product < add_low), product
