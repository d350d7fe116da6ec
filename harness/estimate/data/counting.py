"""Count one model's hits and misses in every stratum of a design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import NotIdentified
from harness.estimate.core import BinomialSample, effective_options
from harness.estimate.data.design import Design

if TYPE_CHECKING:
    from harness.arrays import AnyIntArray, BoolArray


@dataclass(frozen=True, slots=True)
class Counted:
    """What one model has in one stratum; fields as in `tally.Tally`."""

    hits: BinomialSample
    misses: tuple[BinomialSample, ...]
    n_yes: int
    n_no: int
    n_unreadable: int
    n_failed: int
    n_abstained: int


def count_groups(design: Design, y: AnyIntArray) -> list[Counted]:
    """Count predictions `y` (−1 unreadable, −2 failed) in every group.

    Raises
    ------
    NotIdentified
        If an option other than the prediction was certain to be asked about and was refused: the
        answer then says nothing about the prediction, and no weighting can make it.
    """
    trials = _by_answers(design, y)
    if "questions" in design.split:
        other = _by_questions(design, y)
        for g, split in enumerate(design.split):
            if split == "questions":
                trials[g] = other[g]
    lost = np.flatnonzero((y < 0) & design.labelled)
    unreadable = _by_group(design, lost[y[lost] == -1])
    abstained = _by_group(design, design.mute[0])
    failed = _by_group(design, lost[y[lost] == -2])
    yes, no = _used_labels(design, y)
    return [
        Counted(
            _component(2, trials[g, 0]),
            tuple(
                _component(effective_options(int(design.K[g]), m), trials[g, m])
                for m in range(1, trials.shape[1])
                if trials[g, m].any()
            ),
            int(yes[g]),
            int(no[g]),
            int(unreadable[g]),
            int(failed[g]),
            int(abstained[g]),
        )
        for g in range(design.K.size)
    ]


def _by_answers(design: Design, y: AnyIntArray) -> NDArray[np.int64]:
    """Failures and successes by group and options refused (0: a yes), shape (G, width, 2).

    A yes settles a prediction, a success if it is the option. A refused prediction is a failure
    among the refusals. Totals are known beforehand; only hits and unusable predictions are looked
    up, which is what makes many models cheap.
    """
    shape = (design.K.size, design.width)
    cells = design.K.size * design.width
    lost = np.flatnonzero((y < 0) & design.labelled)
    total = design.total - np.bincount(design.cell[lost], minlength=cells)
    rows = np.flatnonzero((y[design.item] == design.option) & design.decisive)
    hits = np.bincount(design.cell[design.item[rows]], minlength=cells).reshape(shape)
    rest = total.reshape(shape) - hits
    trials = np.stack([hits, rest], axis=-1)
    trials[:, 0] = trials[:, 0, ::-1]
    return trials


def _by_questions(design: Design, y: AnyIntArray) -> NDArray[np.int64]:
    """Like `_by_answers`, but the rows are by options asked about other than the prediction.

    An asked prediction is settled (row 0), and so is any by a yes to a question that was certain;
    a yes for another option is a failure among the misses. An item whose questions were certain and
    the one about the prediction unanswered is missing; that is not harmless if it was asked only
    after others were refused, and the abstention check bounds what it can do.
    """
    hit = y[design.item] == design.option
    hit_yes = np.zeros(y.size, np.bool_)
    hit_no = np.zeros(y.size, np.bool_)
    hit_yes[design.item[hit & design.yes]] = True
    hit_no[design.item[hit & ~design.yes]] = True
    settled = hit_yes | hit_no | (design.certain & design.has_yes)
    mine = np.array([s == "questions" for s in design.split])[design.group]
    missing = np.zeros(y.size, np.bool_)
    missing[design.mute[0][y[design.mute[0]] == design.mute[1]]] = True
    missing &= design.certain & ~settled
    use = mine & design.labelled & (y >= 0) & ~missing
    _check_identified(design, use & ~settled)
    success = np.where(settled, hit_yes, ~design.has_yes)
    width = design.width
    cell = design.group.astype(np.int64) * width + np.where(settled, 0, design.n_no + design.has_yes)
    counts = np.bincount(cell[use] * 2 + success[use], minlength=design.K.size * width * 2)
    trials: NDArray[np.int64] = counts.reshape(design.K.size, width, 2)
    return trials


def _used_labels(design: Design, y: AnyIntArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Yes and no labels by group, without those on failed predictions."""
    failed = np.flatnonzero(y == -2)
    off = np.isin(design.item, failed) if failed.size else np.zeros(0, np.int64)
    rows = np.flatnonzero(off)
    group, yes = design.group[design.item[rows]], design.yes[rows]
    G = design.K.size
    return (
        design.n_labels[0] - np.bincount(group[yes], minlength=G),
        design.n_labels[1] - np.bincount(group[~yes], minlength=G),
    )


def _check_identified(design: Design, open_items: BoolArray) -> None:
    """Refuse items whose questions could only have been other ones, unless all others were refused."""
    K = design.K[design.group]
    stuck = np.flatnonzero(open_items & design.certain & (design.n_no < K - 1) & (design.n_no > 0))
    if stuck.size:
        i = int(stuck[0])
        raise NotIdentified(
            f"labels: item {design.names[i]!r} and {stuck.size - 1} more were certain to be asked about "
            "options other than this model's prediction (propensity 1), and those were refused: "
            "nothing follows for this model; ask about its predictions, too"
        )


def _by_group(design: Design, items: AnyIntArray) -> NDArray[np.int64]:
    return np.bincount(design.group[items], minlength=design.K.size).astype(np.int64)


def _component(K: float, counts: NDArray[Any]) -> BinomialSample:
    failures, successes = (int(x) for x in counts)
    return BinomialSample(K, failures + successes, successes)
