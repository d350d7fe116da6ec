"""Items that ask the same thing under different ids.

Two items count as equal if their texts are equal and they offer the same options, in any order. Texts are
compared after runs of white space are replaced by one space and the ends are trimmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from oversight.harness.arrays import IntArray

TEXT_CLUSTER = "@text"
"""The value of ``[items] cluster`` that makes items with the same text one cluster."""
RELEVANT_EXCESS = 0.05
"""Share by which repeated texts may enlarge a variance before an interval no longer holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedTexts:
    """How many of some items repeat the text of another one.

    Attributes
    ----------
    texts
        Number of texts that several items have.
    items
        Number of items that have them.
    excess
        Share by which the variance of a mean over the items grows if items with the same text have the same
        outcome: Σ m²/n − 1 for texts that m of n items have.
    """

    texts: int
    items: int
    excess: float


def digest_text(text: str, options: Sequence[str]) -> int:
    """Return a number below 2⁶³ that items with an equal text and equal options share.

    Examples
    --------
    >>> digest_text("Is it red? ", ("yes", "no")) == digest_text("Is it  red?", ("no", "yes"))
    True
    """
    content = "\x1f".join([" ".join(text.split()), *sorted(options)])
    return int.from_bytes(blake2b(content.encode(errors="surrogatepass"), digest_size=8).digest()) >> 1


def count_repeated(digest: IntArray, cluster: IntArray | None = None) -> RepeatedTexts:
    """Count items whose text another item has, too.

    Parameters
    ----------
    digest
        Shape (n,): a number for the text of every item.
    cluster
        Shape (n,): the cluster of every item. Items of one cluster already count as dependent, so that only
        pairs of different clusters add to `excess`. None if items are independent.

    Examples
    --------
    >>> count_repeated(np.array([7, 7, 8, 9]))
    RepeatedTexts(texts=1, items=2, excess=0.5)
    """
    sizes = np.unique(digest, return_counts=True)[1]
    joined = digest.size
    if cluster is not None:
        joined = int((np.unique(np.stack([digest, cluster]), axis=1, return_counts=True)[1] ** 2).sum())
    several = sizes[sizes > 1]
    excess = (int((sizes**2).sum()) - joined) / max(1, digest.size)
    return RepeatedTexts(texts=several.size, items=int(several.sum()), excess=excess)
