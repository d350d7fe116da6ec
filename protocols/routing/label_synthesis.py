"""Labels made from known truth, both ways of the paper's Appendix B; for validation only.

"Scalable Oversight via Partitioned Human Supervision", Appendix B: (i) with the truth at hand, a
wrong option is drawn uniformly and published as the complementary label; (ii) without, an option
is drawn uniformly and verified, which yields a mix of ordinary and complementary labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from harness import BadInput
from harness.types import Item, Label, LabelKind


def complementary_labels(items: Sequence[Item], truth: Mapping[str, int], seed: int) -> list[Label]:
    """One wrong option per item, uniform over the K−1 (way i).

    The propensity of a label is 1/(K−1), given the truth. K = 2 is allowed: the label then tells
    the truth.
    """
    rng = np.random.default_rng(seed)
    labels = []
    for item, true_option in _with_truth(items, truth):
        k = len(item.options)
        wrong = (true_option + 1 + int(rng.integers(k - 1))) % k
        labels.append(Label(item.id, wrong, LabelKind.COMPLEMENTARY, k, 1 / (k - 1)))
    return labels


def ordinary_labels(items: Sequence[Item], truth: Mapping[str, int]) -> list[Label]:
    """The true option of every item, as an ordinary label."""
    return [
        Label(item.id, true_option, LabelKind.ORDINARY, len(item.options), 1.0)
        for item, true_option in _with_truth(items, truth)
    ]


def verified_labels(items: Sequence[Item], truth: Mapping[str, int], seed: int) -> list[Label]:
    """One uniform option per item, verified: ordinary if true, else complementary (way ii).

    The propensity is 1/K.
    """
    rng = np.random.default_rng(seed)
    labels = []
    for item, true_option in _with_truth(items, truth):
        k = len(item.options)
        option = int(rng.integers(k))
        kind = LabelKind.ORDINARY if option == true_option else LabelKind.COMPLEMENTARY
        labels.append(Label(item.id, option, kind, k, 1 / k))
    return labels


def _with_truth(items: Sequence[Item], truth: Mapping[str, int]) -> Iterator[tuple[Item, int]]:
    for item in items:
        if item.id not in truth:
            raise BadInput(f"the truth of the item {item.id!r} is not given")
        if not 0 <= truth[item.id] < len(item.options):
            raise BadInput(f"item {item.id!r}: option {truth[item.id]} of {len(item.options)}")
        yield item, truth[item.id]
