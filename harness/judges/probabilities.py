"""Judges' probabilities of every option of every item, from any source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import BoolArray, FloatArray, IntArray
from oversight.harness.columns import PredictionColumns
from oversight.harness.errors import EstimateError

LEAST = 1e-6
"""Probabilities are clipped to [LEAST, 1 − LEAST] before logarithms, because a judge may state 0 or 1."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgeProbabilities:
    """One judge's probabilities for N items.

    Attributes
    ----------
    p
        Shape (N, K), in [0, 1]: the judge's probability of each option; NaN if the judge did not judge the
        item, 0 beyond the item's options. Rows need not sum to 1, because a judge may be asked a separate
        yes/no question about each option.
    n_options
        Shape (N,): number of options of every item.
    stated
        Whether the judge stated probabilities; false for votes, which only name an option.

    Examples
    --------
    >>> judge = JudgeProbabilities(p=np.array([[0.9, 0.1], [0.5, 0.5]]), n_options=np.array([2, 2]))
    >>> judge.named.tolist()
    [0, -1]
    """

    p: FloatArray
    n_options: IntArray
    stated: bool = True

    def __post_init__(self) -> None:
        bad = np.argwhere((self.p < 0) | (self.p > 1))
        if bad.size:
            row, option = bad[0]
            raise EstimateError(f"p[{row}, {option}] must lie in [0, 1], is {self.p[row, option]}")

    @classmethod
    def of_predictions(cls, judge: PredictionColumns, n_options: IntArray) -> JudgeProbabilities:
        """Make probabilities from predictions.

        The predicted option gets the confidence that the judge stated, or 1 if it stated none. The item's
        other options share the remaining probability equally.
        """
        n, width = len(n_options), int(n_options.max(initial=2))
        p = np.where(np.arange(width) < n_options[:, None], np.nan, 0.0)
        rows = np.flatnonzero((judge.option >= 0) & (judge.option < n_options))
        sure = np.ones(n) if judge.confidence is None else np.nan_to_num(judge.confidence, nan=1.0)
        rest = (1 - sure[rows]) / np.maximum(n_options[rows] - 1, 1)
        p[rows] = np.where(np.isnan(p[rows]), rest[:, None], 0.0)
        p[rows, judge.option[rows]] = sure[rows]
        stated = judge.confidence is not None and not np.isnan(judge.confidence[rows]).all()
        return cls(p=p, n_options=n_options, stated=stated)

    @property
    def speaks(self) -> BoolArray:
        """Whether the judge judged each item, shape (N,)."""
        return np.asarray(~np.isnan(self.p).any(axis=1))

    @property
    def named(self) -> IntArray:
        """The most likely option of each item, shape (N,); −1 for ties and for items that were not judged."""
        filled = np.nan_to_num(self.p, nan=0.0)
        best = filled.argmax(axis=1)
        ahead = (filled == filled.max(axis=1, keepdims=True)).sum(axis=1) == 1
        found: IntArray = np.where(self.speaks & ahead, best, -1)
        return found

    @property
    def shares(self) -> FloatArray:
        """Distribution over each item's options, shape (N, K); uniform for items that were not judged."""
        own = np.arange(self.p.shape[1]) < self.n_options[:, None]
        filled = np.where(own, np.clip(np.nan_to_num(self.p, nan=0.5), LEAST, 1 - LEAST), 0.0)
        found: FloatArray = filled / filled.sum(axis=1, keepdims=True)
        return found

    def take(self, items: IntArray) -> JudgeProbabilities:
        """Return the judge's probabilities for some items."""
        return JudgeProbabilities(p=self.p[items], n_options=self.n_options[items], stated=self.stated)


def share_of_samples(options: Sequence[Sequence[int]], n_options: IntArray) -> JudgeProbabilities:
    """Compute probabilities from several samples per item: the share of samples that name each option.

    Parameters
    ----------
    options
        Options named by the samples of each of N items, −1 for an unreadable sample. An item without a
        readable sample counts as not judged.
    n_options
        Shape (N,): number of options of every item.

    Examples
    --------
    >>> import numpy as np
    >>> share_of_samples([[0, 0, 1, 0]], np.array([2])).p.tolist()
    [[0.75, 0.25]]
    """
    width = int(n_options.max(initial=2))
    p = np.where(np.arange(width) < n_options[:, None], np.nan, 0.0)
    for row, named in enumerate(options):
        readable = [k for k in named if 0 <= k < n_options[row]]
        if readable:
            p[row] = np.bincount(readable, minlength=width) / len(readable)
    return JudgeProbabilities(p=p, n_options=n_options)
