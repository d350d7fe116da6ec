"""The labels of a study by item, as known before any model is looked at, and the numbers to condition on."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np

from oversight.harness.arrays import AnyIntArray, BoolArray, FloatArray
from oversight.harness.columns import ABSTAINED, YES, ItemValues, LabelColumns
from oversight.harness.errors import EstimateError
from oversight.harness.estimate.data.labelled_arrays import LabelledArrays
from oversight.harness.estimate.data.stratified import Conditioning

_NEAR = 1e-6
"""Propensities that differ by less are equal."""


class Design:
    """The labels of a study, checked and gathered by item; made with `split` as in `tallies`.

    Attributes
    ----------
    arrays
        The labels as they came.
    item, option
        Place and option of every answered label (abstentions removed), shape (L,).
    yes
        Whether that label is a yes, shape (L,).
    group
        Stratum of every item, 0..G−1, shape (n_items,); K is constant in a group.
    K, strata
        Options in every group, shape (G,), and the name of its stratum.
    n_no, has_yes
        Refusals of and whether there is a yes on every item, shape (n_items,).
    certain
        Items all of whose asked options were certain to be asked (propensity 1), shape (n_items,).
    split
        By which numbers every group's samples are conditioned on, see `tallies`.
    mute
        Item and option of every question without an answer.
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

    Raises
    ------
    EstimateError
        If a label is impossible or contradicts another; the message names row and value.
    """

    def __init__(self, arrays: LabelledArrays, split: Conditioning | Literal["auto"]) -> None:
        self.arrays = a = arrays
        self.group, self.K, self.strata = _groups(a)
        n_items, n_groups = a.n_options.size, self.K.size
        rows = np.flatnonzero(a.kind != ABSTAINED)
        keep = slice(None) if rows.size == a.kind.size else rows  # a slice copies nothing
        self.item, self.option, self.yes = a.item[keep], a.option[keep], a.kind[keep] == YES
        n_yes = np.bincount(self.item[self.yes], minlength=n_items)
        self.n_no = np.bincount(self.item[~self.yes], minlength=n_items)
        _check_one_answer(a, rows, self.item, self.option, self.yes)
        _check_one_truth(a, n_yes, self.n_no)
        self.certain = np.zeros(n_items, np.bool_)
        if a.propensity is not None:
            self.certain[self.item] = True
            self.certain[a.item[a.propensity < 1 - _NEAR]] = False
        self.split = _choose_conditioning(split, a, self.group, self.K)
        mute = a.kind == ABSTAINED
        self.mute = a.item[mute], a.option[mute]
        self.has_yes = n_yes > 0
        self.labelled = self.has_yes | (self.n_no > 0)
        self.width = int((self.n_no + n_yes).max()) + 1
        self.cell = self.group.astype(np.int64) * self.width + np.where(self.has_yes, 0, self.n_no)
        self.total = np.bincount(self.cell[self.labelled], minlength=n_groups * self.width)
        self.decisive = self.yes | ~self.has_yes[self.item]
        self.n_labels = [
            np.bincount(self.group, weights=n, minlength=n_groups).astype(np.int64)
            for n in (n_yes, self.n_no)
        ]


@dataclass(frozen=True, slots=True)
class LabelSource:
    """What a design is made of; equal if it is of the same labels, whatever the model.

    Attributes
    ----------
    labels, strata, split
        As in `oversight.harness.estimate.data.tallies.tally`.
    arrays
        The labels gathered, perhaps with a model's predictions, which a design does not look at.
    """

    labels: LabelColumns
    strata: ItemValues | None
    split: Conditioning | Literal["auto"]
    arrays: LabelledArrays = field(compare=False)


@lru_cache(maxsize=2)
def gather_design(source: LabelSource) -> Design:
    """The design of labels, gathered once for several models in turn, with and without strata.

    Raises
    ------
    EstimateError
        If a label contradicts another; the message names row and value.
    """
    return Design(source.arrays, source.split)


def _groups(a: LabelledArrays) -> tuple[AnyIntArray, AnyIntArray, tuple[str, ...]]:
    """Number the groups of equal stratum and K: group of every item, K and stratum of every group."""
    span = int(a.n_options.max()) + 1
    key = a.n_options if a.stratum is None else a.stratum.astype(np.int64) * span + a.n_options
    keys: AnyIntArray = key[:1]
    group: AnyIntArray = np.zeros(key.size, np.int8)
    if key.min() != key.max():
        keys, group = np.unique(key, return_inverse=True)
    if a.stratum is None:
        return group, keys, ("",) * keys.size
    codes = (keys // span).tolist()
    names = codes if a.stratum_names is None else [a.stratum_names[code] for code in codes]
    return group, keys % span, tuple(map(str, names))


def _choose_conditioning(
    split: Conditioning | Literal["auto"], a: LabelledArrays, group: AnyIntArray, K: AnyIntArray
) -> tuple[Conditioning, ...]:
    """Choose for every group; see `tallies` for what the names mean."""
    if split != "auto" or a.propensity is None:
        fixed: Conditioning = "answers" if split == "auto" else split
        return (fixed,) * K.size
    asked = np.bincount(a.item, minlength=group.size)[a.item]
    which = group[a.item]
    chosen: list[Conditioning] = []
    for g, k in enumerate(K.tolist()):
        mine = slice(None) if K.size == 1 else which == g
        uniform = _uniform(a.propensity[mine], a.kind[mine], asked[mine], k)
        chosen.append("answers" if uniform else "questions")
    return tuple(chosen)


def _uniform(p: FloatArray, kind: AnyIntArray, asked: AnyIntArray, K: int) -> bool:
    """Whether the propensities are those of options drawn uniformly.

    m of K drawn: all m/K. A wrong option drawn given the truth: 1/(K−1). The truth given: 1. One
    option asked about for certain (targeted): not uniform, unless all K were asked.
    """
    refused = kind != YES
    no, yes = p[refused], p[~refused]
    near = _NEAR * K
    if not ((np.abs(yes * K - np.rint(yes * K)) < near) | (np.abs(yes * (K - 1) - 1) < near)).all():
        return False
    if no.size == 0 or (np.abs(no * K - asked[refused]) < near).all():
        return True
    first = float(no[0])
    m = round(first * K)
    is_share = abs(first * (K - 1) - 1) < near or (abs(first * K - m) < near and 1 <= m < K)
    return is_share and bool(np.ptp(no) < _NEAR)


def _check_one_answer(
    a: LabelledArrays, rows: AnyIntArray, item: AnyIntArray, option: AnyIntArray, yes: BoolArray
) -> None:
    """Refuse two answers to one question; `rows` says where the answered labels stand in `a`."""
    span = int(a.n_options.max())
    key = item.astype(np.int64) * span + option
    seen = np.zeros(a.n_options.size * span, np.bool_)
    seen[key] = True
    if np.count_nonzero(seen) == key.size:
        return
    order = np.argsort(key, kind="stable")
    again = int(np.flatnonzero(np.diff(key[order]) == 0)[0])
    first, second = order[again : again + 2].tolist()
    what = (
        f"labels[{rows[first]}] and labels[{rows[second]}]: item {a.name(item[first])}, "
        f"option {option[first]}"
    )
    if yes[first] != yes[second]:
        raise EstimateError(f"{what} must have one answer, has both yes and no")
    raise EstimateError(
        f"{what} must have one answer, has two; several experts per question need a noise model"
    )


def _check_one_truth(a: LabelledArrays, n_yes: AnyIntArray, n_no: AnyIntArray) -> None:
    """Refuse two true options, and items without a possible truth."""
    for i in np.flatnonzero(n_yes > 1):
        options = a.option[(a.item == i) & (a.kind == YES)].tolist()
        raise EstimateError(f"labels: item {a.name(i)} must have one true option, has yes for {options}")
    for i in np.flatnonzero(n_no >= a.n_options):
        raise EstimateError(f"labels: item {a.name(i)} has all its {a.n_options[i]} options refused")
