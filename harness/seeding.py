"""Independent random streams for every item, from one seed."""

from __future__ import annotations

import hashlib


def derive_seed(seed: int, *names: str) -> int:
    """64-bit seed from a study's seed and names, such as an item's id.

    A draw seeded so depends on nothing but its names: items added, removed or reordered change
    no other item's draw.
    """
    text = "\x1f".join((str(seed), *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
