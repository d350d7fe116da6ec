"""Derive independent random seeds for every item from one seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from oversight.harness.argument_checks import check_names


def derive_seed(seed: int, *names: str) -> int:
    """Derive a 64-bit seed from a study's seed and names, such as an item's id.

    The derived seed depends on nothing else, so adding, removing or reordering items does not change the
    draws of other items.
    """
    text = "\x1f".join((str(seed), *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def derive_seeds(seed: int, *names: str, last: Iterable[str]) -> list[int]:
    """Return, for each name in `last`, the seed that `derive_seed` derives from `names` and this name."""
    check_names("last", last)
    start, hashed = "\x1f".join((str(seed), *names, "")), hashlib.sha256
    digests = [hashed((start + name).encode()).digest() for name in last]
    seeds: list[int] = np.frombuffer(b"".join(digests), dtype=">u8")[::4].tolist()
    return seeds
