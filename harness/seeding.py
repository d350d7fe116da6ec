"""Independent random streams for every item, from one seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from oversight.harness.expected import check_names


def derive_seed(seed: int, *names: str) -> int:
    """64-bit seed from a study's seed and names, such as an item's id.

    A draw seeded so depends on nothing but its names: items added, removed or reordered change
    no other item's draw.
    """
    text = "\x1f".join((str(seed), *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def derive_seeds(seed: int, *names: str, last: Iterable[str]) -> list[int]:
    """What `derive_seed` gives for each of some last names."""
    check_names("last", last)
    start, hashed = "\x1f".join((str(seed), *names, "")), hashlib.sha256
    digests = [hashed((start + name).encode()).digest() for name in last]
    seeds: list[int] = np.frombuffer(b"".join(digests), dtype=">u8")[::4].tolist()
    return seeds
