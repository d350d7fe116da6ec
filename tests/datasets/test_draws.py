"""What is drawn from many seeds at once is what numpy draws from each."""

from __future__ import annotations

import random

import numpy as np
import pytest

from oversight.harness import begin_draws, derive_seed, derive_seeds
from oversight.harness.draws import draw_orders

_RANDOM = random.Random(3)  # noqa: S311  no secret
SEEDS = [_RANDOM.getrandbits(64) for _ in range(2000)] + [0, 1, 2**32 - 1, 2**32, 2**64 - 1]


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8, 10, 26, 130])
def test_orders_are_numpys(k: int) -> None:
    for seed, order in zip(SEEDS, draw_orders(SEEDS, k), strict=True):
        assert order == np.random.default_rng(seed).permutation(k).tolist()


@pytest.mark.parametrize(("k", "m"), [(2, 1), (4, 1), (5, 2), (7, 7), (26, 3), (130, 5)])
def test_choices_and_what_is_drawn_after_them_are_numpys(k: int, m: int) -> None:
    for seed, draws in zip(SEEDS, begin_draws(SEEDS, words=3 * m), strict=True):
        generator = np.random.default_rng(seed)
        assert draws.choice(k, m) == generator.choice(k, size=m, replace=False).tolist()
        assert [draws.below(n) for n in (1, 2, 3, 50)] == [generator.integers(n) for n in (1, 2, 3, 50)]


@pytest.mark.parametrize(("k", "m"), [(10_000, 300), (10_001, 200), (10_001, 201), (20_000, 20_000)])
def test_choices_of_many_options_are_numpys(k: int, m: int) -> None:
    for seed, draws in zip(SEEDS[:5], begin_draws(SEEDS[:5], words=2), strict=True):
        generator = np.random.default_rng(seed)
        assert draws.choice(k, m) == generator.choice(k, size=m, replace=False).tolist()
        assert draws.below(1000) == generator.integers(1000)


def test_words_that_are_passed_over_are_numpys() -> None:
    n = 3 * 2**30 + 1  # a quarter of all words is
    for seed, draws in zip(SEEDS, begin_draws(SEEDS, words=2), strict=True):
        generator = np.random.default_rng(seed)
        assert [draws.below(n) for _ in range(5)] == [int(generator.integers(n)) for _ in range(5)]


def test_seeds_of_many_names_are_those_of_each() -> None:
    names = ["a", "ü", "", "x\x1fy"]
    assert derive_seeds(7, last=names) == [derive_seed(7, name) for name in names]
    assert derive_seeds(7, "shuffle", last=names) == [derive_seed(7, "shuffle", name) for name in names]
