"""Labels as validated arrays: what is known about every item before any model is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from harness.arrays import AnyIntArray, BoolArray
from harness.errors import EstimateError
from harness.estimate.data.conditioning import ABSTAINED, NEAR, YES, Conditioning, choose_conditioning


@dataclass(frozen=True, slots=True)
class Design:
    """The labels of a study, by item.

    Attributes
    ----------
    item, option
        Of every answered label (abstentions removed), shape (L,).
    yes
        Whether that label is a yes, shape (L,).
    group
        Stratum of every item, 0..G−1, shape (n_items,); K is constant in a group.
    K
        Options in every group, shape (G,).
    n_no, has_yes
        Refusals of and whether there is a yes on every item, shape (n_items,).
    certain
        Items all of whose asked options were certain to be asked (propensity 1), shape (n_items,).
    split
        By which numbers every group's samples are conditioned on, see `tally`.
    mute
        Item and option of every question without an answer.
    names
        What items are called in messages.
    labelled
        Items with a yes or a no, shape (n_items,).
    width
        One more than the largest number of answered questions about one item.
    cell, total
        Number of every item's group and options refused (0: a yes), g·width + m, shape (n_items,);
        labelled items in every cell, shape (G·width,).
    decisive
        Labels that tell about a prediction by answer: yes, and no where there is no yes, shape (L,).
    n_labels
        Yes and no labels by group.
    """

    item: AnyIntArray
    option: AnyIntArray
    yes: BoolArray
    group: AnyIntArray
    K: AnyIntArray
    n_no: AnyIntArray
    has_yes: BoolArray
    certain: BoolArray
    split: tuple[Conditioning, ...]
    mute: tuple[AnyIntArray, AnyIntArray]
    names: Sequence[object]
    labelled: BoolArray
    width: int
    cell: AnyIntArray
    total: AnyIntArray
    decisive: BoolArray
    n_labels: tuple[AnyIntArray, AnyIntArray]


def make_design(
    option: AnyIntArray,
    kind: AnyIntArray,
    item: AnyIntArray,
    n_options: AnyIntArray,
    *,
    propensity: NDArray[np.float64] | None,
    stratum: AnyIntArray | None,
    split: Conditioning | Literal["auto"],
    names: Sequence[object] | None,
) -> Design:
    """Check the labels and gather them by item; parameters as in `tally_arrays`.

    Raises
    ------
    EstimateError
        If a label is impossible or contradicts another; the message names row and value.
    """
    names = range(n_options.size) if names is None else names
    _check_labels(option, kind, item, n_options, propensity, names)
    group, K = _groups(n_options, stratum)
    rows = np.flatnonzero(kind != ABSTAINED)
    keep = slice(None) if rows.size == kind.size else rows  # a slice copies nothing
    lab_item, lab_option, yes = item[keep], option[keep], kind[keep] == YES
    n_yes = np.bincount(lab_item[yes], minlength=n_options.size)
    n_no = np.bincount(lab_item[~yes], minlength=n_options.size)
    _check_consistent(lab_item, lab_option, yes, n_yes, n_no, n_options, rows, names)
    certain = np.zeros(n_options.size, np.bool_)
    if propensity is not None:
        certain[lab_item] = True
        certain[item[propensity < 1 - NEAR]] = False
    has_yes = n_yes > 0
    labelled = has_yes | (n_no > 0)
    width = int((n_no + n_yes).max()) + 1
    cell = group.astype(np.int64) * width + np.where(has_yes, 0, n_no)
    return Design(
        item=lab_item,
        option=lab_option,
        yes=yes,
        group=group,
        K=K,
        n_no=n_no,
        has_yes=has_yes,
        certain=certain,
        split=choose_conditioning(split, item, kind, group, K, propensity),
        mute=(item[kind == ABSTAINED], option[kind == ABSTAINED]),
        names=names,
        labelled=labelled,
        width=width,
        cell=cell,
        total=np.bincount(cell[labelled], minlength=K.size * width),
        decisive=yes | ~has_yes[lab_item],
        n_labels=(
            np.bincount(group, weights=n_yes, minlength=K.size).astype(np.int64),
            np.bincount(group, weights=n_no, minlength=K.size).astype(np.int64),
        ),
    )


def _groups(n_options: AnyIntArray, stratum: AnyIntArray | None) -> tuple[AnyIntArray, AnyIntArray]:
    """Number the groups of equal stratum and K: (group of every item, K of every group)."""
    span = int(n_options.max()) + 1
    key = n_options if stratum is None else stratum.astype(np.int64) * span + n_options
    if key.min() == key.max():
        return np.zeros(n_options.size, np.int8), n_options[:1]
    keys, group = np.unique(key, return_inverse=True)
    return group, keys % span


def _check_labels(
    option: AnyIntArray,
    kind: AnyIntArray,
    item: AnyIntArray,
    n_options: AnyIntArray,
    propensity: NDArray[np.float64] | None,
    names: Sequence[object],
) -> None:
    if option.size == 0:
        raise EstimateError("labels must not be empty: without a label nothing can be estimated")
    if n_options.size == 0:
        raise EstimateError("predictions must not be empty")
    if not option.shape == kind.shape == item.shape:
        raise EstimateError(
            f"option, kind and item must have one shape, have {option.shape}, {kind.shape}, {item.shape}"
        )
    _refuse((item < 0) | (item >= n_options.size), "item", item, f"lie in 0..{n_options.size - 1}")
    few = np.flatnonzero(n_options < 2)
    if few.size:
        i = int(few[0])
        raise EstimateError(f"n_options must be at least 2, is {n_options[i]} for item {names[i]!r}")
    _refuse((kind < -1) | (kind > 1), "kind", kind, "be 1 (yes), 0 (no) or -1 (abstained)")
    bad = np.flatnonzero((option < 0) | (option >= n_options[item]))
    if bad.size:
        r = int(bad[0])
        raise EstimateError(
            f"labels[{r}]: option must lie in 0..{n_options[item[r]] - 1} for item "
            f"{names[int(item[r])]!r}, is {option[r]}"
        )
    if propensity is not None:
        if propensity.shape != option.shape:
            raise EstimateError(f"propensity must have shape {option.shape}, has {propensity.shape}")
        _refuse(~((propensity > 0) & (propensity <= 1)), "propensity", propensity, "lie in (0, 1]")


def _refuse(wrong: BoolArray, name: str, values: NDArray[Any], bound: str) -> None:
    if wrong.any():
        r = int(np.flatnonzero(wrong)[0])
        raise EstimateError(f"labels[{r}]: {name} must {bound}, is {values[r]}")


def _check_consistent(
    item: AnyIntArray,
    option: AnyIntArray,
    yes: BoolArray,
    n_yes: AnyIntArray,
    n_no: AnyIntArray,
    n_options: AnyIntArray,
    rows: AnyIntArray,
    names: Sequence[object],
) -> None:
    """Refuse two answers to one question, two true options, and items without a possible truth."""
    span = int(n_options.max())
    key = item.astype(np.int64) * span + option
    seen = np.zeros(n_options.size * span, np.bool_)
    seen[key] = True
    if np.count_nonzero(seen) < key.size:
        _report_duplicate(key, yes, item, option, rows, names)
    two = np.flatnonzero(n_yes > 1)
    if two.size:
        i = int(two[0])
        options = option[(item == i) & yes].tolist()
        raise EstimateError(f"labels: item {names[i]!r} must have one true option, has yes for {options}")
    none = np.flatnonzero(n_no >= n_options)
    if none.size:
        i = int(none[0])
        raise EstimateError(f"labels: item {names[i]!r} has all its {n_options[i]} options refused")


def _report_duplicate(
    key: AnyIntArray,
    yes: BoolArray,
    item: AnyIntArray,
    option: AnyIntArray,
    rows: AnyIntArray,
    names: Sequence[object],
) -> None:
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(np.diff(key[order]) == 0)
    first, second = int(order[again[0]]), int(order[again[0] + 1])
    what = (
        f"labels[{rows[first]}] and labels[{rows[second]}]: item {names[int(item[first])]!r}, "
        f"option {option[first]}"
    )
    if yes[first] != yes[second]:
        raise EstimateError(f"{what} must have one answer, has both yes and no")
    raise EstimateError(
        f"{what} must have one answer, has two; several experts per question need a noise model"
    )
