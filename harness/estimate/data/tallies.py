"""From predictions and labels to the counts that hold everything the estimators use.

Two ways to condition, both giving independent binomial samples (`BinomialSample`):

``answers``
    Items with a yes (the truth is known: K = 2), and items with refusals only (K' by their number).
    Right where the asked option was drawn uniformly, and where an ordinary and a complementary set
    of fixed sizes were collected: the paper's n_o, S_o, n_c, S_c.
``questions``
    Items whose predicted option was asked about (K = 2), and items where only others were. Right
    for any routing that satisfies the conditions of `likelihood`, such as asking about the
    prediction itself, where conditioning on the answers would leave no information at all.

``auto`` takes ``answers`` where the recorded propensities are those of a uniform draw. The
likelihood, and so the ML estimate, is the same either way; `ord`, `comp` and intervals differ.
Several questions about one item are one trial: counts are of items, variances by item.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Literal

import numpy as np

from oversight.harness.arrays import FAILED, UNREADABLE, AnyIntArray, IntArray
from oversight.harness.columns import (
    AnyLabels,
    AnyPredictions,
    ItemValues,
    LabelColumns,
    PredictionColumns,
    align,
)
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.core import BinomialSample, effective_options
from oversight.harness.estimate.data.confidence_strata import Strata, find_strata
from oversight.harness.estimate.data.design import Design, LabelSource, gather_design
from oversight.harness.estimate.data.labelled_arrays import LabelledArrays, to_arrays
from oversight.harness.estimate.data.stratified import Conditioning, Tallies, Tally


def tally(
    predictions: AnyPredictions,
    labels: AnyLabels,
    *,
    strata: Strata = None,
    split: Conditioning | Literal["auto"] = "auto",
) -> Tallies:
    """Tally one model's predictions.

    Parameters
    ----------
    predictions
        One per item.
    labels
        Any number per item, not two for one option; all items must be predicted.
    strata
        Stratum of every labelled item, by id.
    split
        See the module.

    Raises
    ------
    EstimateError
        If something is missing, double, contradictory or out of range; names row and value.
    NotIdentified
        If an item's questions were certain not to settle its prediction.
    """
    predicted, said = align(predictions, labels)
    return tally_columns(predicted, said, find_strata(predicted, said, strata), split)


@lru_cache(maxsize=2)  # a report asks with its curve's portions, and without, in turn
def tally_columns(
    predictions: PredictionColumns,
    labels: LabelColumns,
    strata: ItemValues | None,
    split: Conditioning | Literal["auto"] = "auto",
) -> Tallies:
    """Tally one model's predictions, once for all that asks; parameters and errors as in `tally`."""
    arrays = to_arrays(predictions, labels, strata)
    design = gather_design(LabelSource(labels, strata, split, arrays))
    return Tallies(strata=_tally_groups(design, arrays.y_hat), n_unlabelled=arrays.n_unlabelled)


def tally_arrays(
    arrays: LabelledArrays, split: Conditioning | Literal["auto"] = "auto"
) -> tuple[Tallies, ...]:
    """Tally any number of models on the same labels, one `Tallies` each; `split` as in the module.

    Raises
    ------
    EstimateError
        If labels are impossible, contradictory or empty, or a prediction is not one of the item's
        options; names row and value.
    NotIdentified
        If an item's questions were certain not to settle its prediction (see `_by_questions`).
    """
    n_items = arrays.n_options.size
    rows = np.atleast_2d(arrays.y_hat)
    if rows.ndim != 2 or rows.shape[1] != n_items:
        raise EstimateError(
            f"y_hat must have {n_items} columns, one per item, has shape {arrays.y_hat.shape}"
        )
    arrays.check()
    design = Design(arrays, split)
    touched = np.zeros(n_items, np.bool_)
    touched[arrays.item] = True
    unlabelled = arrays.n_unlabelled + int(np.count_nonzero(~touched))
    return tuple(Tallies(strata=_tally_groups(design, y), n_unlabelled=unlabelled) for y in rows)


def _tally_groups(design: Design, y: AnyIntArray) -> tuple[Tally, ...]:
    """Count one model's hits and misses in every group; its predictions `y` as in `LabelledArrays`."""
    n_options = design.arrays.n_options
    for i in np.flatnonzero((y < FAILED) | (y >= n_options)):
        raise EstimateError(
            f"predictions: option must lie in 0..{n_options[i] - 1} (or -1 unreadable, -2 failed) "
            f"for item {design.arrays.name(i)}, is {y[i]}"
        )
    trials = _by_answers(design, y)
    if "questions" in design.split:
        asked = np.array([split == "questions" for split in design.split])
        trials[asked] = _by_questions(design, y, asked[design.group])[asked]
    lost = np.flatnonzero((y < 0) & design.labelled)
    yes, no = _used_labels(design, y)
    unreadable, failed = (_by_group(design, lost[y[lost] == code]) for code in (UNREADABLE, FAILED))
    abstained = _by_group(design, design.mute[0])
    return tuple(
        Tally(
            K=K,
            stratum=design.strata[g],
            split=design.split[g],
            hits=_sample(2, trials[g, 0]),
            misses=tuple(
                _sample(effective_options(K, m), trials[g, m])
                for m in range(1, design.width)
                if trials[g, m].any()
            ),
            n_yes=yes[g],
            n_no=no[g],
            n_unreadable=unreadable[g],
            n_failed=failed[g],
            n_abstained=abstained[g],
        )
        for g, K in enumerate(design.K.tolist())
    )


def _by_answers(design: Design, y: AnyIntArray) -> IntArray:
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


def _by_questions(design: Design, y: AnyIntArray, mine: AnyIntArray) -> IntArray:
    """Like `_by_answers` for the items `mine`, by options asked about other than the prediction.

    An asked prediction is settled (row 0), and so is any by a yes to a question that was certain;
    a yes for another option is a failure among the misses. An item whose questions were certain and
    the one about the prediction unanswered is missing; that is not harmless if it was asked only
    after others were refused, and the abstention check bounds what it can do.

    Raises
    ------
    NotIdentified
        If an option other than the prediction was certain to be asked about and was refused: the
        answer then says nothing about the prediction, and no weighting can make it.
    """
    hit = y[design.item] == design.option
    hit_yes, hit_no, missing = np.zeros((3, y.size), np.bool_)
    hit_yes[design.item[hit & design.yes]] = True
    hit_no[design.item[hit & ~design.yes]] = True
    settled = hit_yes | hit_no | (design.certain & design.has_yes)
    mute_item, mute_option = design.mute
    missing[mute_item[y[mute_item] == mute_option]] = True
    missing &= design.certain & ~settled
    use = mine & design.labelled & (y >= 0) & ~missing
    known = design.n_no >= design.arrays.n_options - 1
    stuck = np.flatnonzero(use & ~settled & design.certain & ~known & (design.n_no > 0))
    if stuck.size:
        raise NotIdentified(
            f"labels: item {design.arrays.name(stuck[0])} and {stuck.size - 1} more were certain to be "
            "asked about options other than this model's prediction (propensity 1), and those were refused: "
            "nothing follows for this model; ask about its predictions, too"
        )
    success = np.where(settled, hit_yes, ~design.has_yes)
    width = design.width
    cell = design.group.astype(np.int64) * width + np.where(settled, 0, design.n_no + design.has_yes)
    counts = np.bincount(cell[use] * 2 + success[use], minlength=design.K.size * width * 2)
    return counts.reshape(design.K.size, width, 2)


def _used_labels(design: Design, y: AnyIntArray) -> tuple[list[int], list[int]]:
    """Yes and no labels by group, without those on failed predictions."""
    yes, no = design.n_labels
    failed = y == FAILED
    if failed.any():
        rows = np.flatnonzero(failed[design.item])
        items, said = design.item[rows], design.yes[rows]
        yes, no = yes - _by_group(design, items[said]), no - _by_group(design, items[~said])
    return yes.tolist(), no.tolist()


def _by_group(design: Design, items: AnyIntArray) -> list[int]:
    counts: list[int] = np.bincount(design.group[items], minlength=design.K.size).tolist()
    return counts


def _sample(K: float, counts: IntArray) -> BinomialSample:
    failures, successes = counts.tolist()
    return BinomialSample(K, failures + successes, successes)


def tally_pool(
    predictions: PredictionColumns,
    labels: LabelColumns,
    strata: Strata,
    split: Conditioning | Literal["auto"],
) -> Tallies:
    """Tallies whose strata are weighted by their share of all predictions that did not fail."""
    _check_drawn(predictions, labels)
    found = None if strata is None else find_strata(predictions, labels, strata)
    tallies = tally_columns(predictions, labels, found, split)
    if found is None:
        return tallies
    for place in np.flatnonzero(predictions.is_there & (found.code < 0)):
        row, name = np.count_nonzero(predictions.is_there[:place]), predictions.index.ids[place]
        raise EstimateError(f"strata: predictions[{row}], item {name!r}, has no stratum")
    number = np.bincount(found.code[predictions.ran], minlength=len(found.names)).tolist()
    return replace(tallies, pool={name: n for name, n in zip(found.names, number, strict=True) if n})


def _check_drawn(predictions: PredictionColumns, labels: LabelColumns) -> None:
    """Refuse answers that followed predictions in a way that a likelihood of hits and misses misses."""
    if labels.is_unequal:
        raise NotIdentified("items were drawn with unequal chances, which a tally cannot weigh; use accuracy")
    propensity = labels.questions.propensity
    for row in np.flatnonzero((labels.questions.offered.number > 0) & (propensity < 1)):
        raise NotIdentified(
            f"labels[{row}]: options were drawn with propensities that differ ({propensity[row]:.3g} "
            "for the one asked about); weigh by them: routed_pool, then routed_accuracy"
        )
    if not ((propensity == 1) & (predictions.option[labels.item] == labels.option)).all():
        return
    unreadable = np.flatnonzero(predictions.is_unreadable)
    if unreadable.size:
        raise NotIdentified(
            f"predictions: all labels are about predictions, so the {unreadable.size} unreadable ones, such "
            f"as item {predictions.index.ids[unreadable[0]]!r}, were never asked about and would be left out "
            "though they are wrong; count them: routed_pool, then routed_accuracy"
        )
