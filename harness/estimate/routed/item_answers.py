"""What answers tell of items that are asked about until they are resolved; see `sequential_resolution`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import UNKNOWN, IntArray
from oversight.harness.columns import ABSTAINED, NO, YES, LabelColumns, key_of
from oversight.harness.errors import EstimateError

_NOT_ASKED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemAnswers:
    """Answers by item and option.

    Attributes
    ----------
    truth
        Shape (N,): the true option, confirmed or the only one not refuted; −1 where that is not known.
    keys, kinds
        Every pair of item and option asked about, in order, and what was said of it last.
    """

    truth: IntArray
    keys: IntArray
    kinds: IntArray

    def correctness(self, predicted: IntArray, items: IntArray) -> IntArray:
        """1 right, 0 wrong, `UNKNOWN`; of predictions of shape (n, models), −1 for unreadable, on n items.

        A model is wrong if its option was refuted, another was confirmed, or it named none.
        """
        truth = self.truth[items][:, None]
        unknown = np.where((predicted < 0) | (self._said(predicted, items) == NO), 0, UNKNOWN)
        found: IntArray = np.where(truth >= 0, predicted == truth, unknown)
        return found

    def was_heard(self, predicted: IntArray, items: IntArray, correct: IntArray) -> IntArray:
        """1 where the question about the prediction was answered, `UNKNOWN` if not, 0 if never put."""
        said = self._said(predicted, items)
        found: IntArray = np.select(
            [said == _NOT_ASKED, said == ABSTAINED], [np.minimum(correct, 0), UNKNOWN], 1
        )
        return found

    def _said(self, predicted: IntArray, items: IntArray) -> IntArray:
        if not self.keys.size:
            return np.full(predicted.shape, _NOT_ASKED)
        wanted = key_of(items[:, None], predicted)
        place = np.minimum(np.searchsorted(self.keys, wanted), self.keys.size - 1)
        hit = (self.keys[place] == wanted) & (predicted >= 0)
        found: IntArray = np.where(hit, self.kinds[place], _NOT_ASKED)
        return found


def read_item_answers(labels: LabelColumns) -> ItemAnswers:
    """Gather the answers by item.

    Raises
    ------
    EstimateError
        If two options of an item were confirmed, or all refuted: an expert erred.
    """
    keys, last = np.unique(labels.questions.key[::-1], return_index=True)
    rows = len(labels) - 1 - last
    item, option, kind = labels.item[rows], labels.option[rows], labels.kind[rows]
    size = labels.index.size
    n_options = np.full(size, 2)
    n_options[labels.item] = labels.questions.n_options
    yes, no = item[kind == YES], item[kind == NO]
    confirmed, refuted = np.bincount(yes, minlength=size), np.bincount(no, minlength=size)
    for place in np.flatnonzero(confirmed > 1):
        names = option[(item == place) & (kind == YES)].tolist()
        raise EstimateError(f"exactly one option is true, but {sorted(names)} were all confirmed")
    for place in np.flatnonzero((refuted == n_options) & (confirmed == 0)):
        raise EstimateError(f"exactly one option is true, but all {n_options[place]} were refuted")
    truth = np.full(size, -1)
    left = np.flatnonzero((refuted == n_options - 1) & (confirmed == 0))
    total = np.bincount(no, weights=option[kind == NO], minlength=size)[left]
    truth[left] = n_options[left] * (n_options[left] - 1) // 2 - np.rint(total).astype(np.int64)
    truth[yes] = option[kind == YES]
    return ItemAnswers(truth=truth, keys=keys, kinds=kind)
