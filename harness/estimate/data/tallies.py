"""From predictions and labels to the counts that hold everything the estimators use.

Strata from a model's own confidence, so that labels tell more.

Where a model is surer where it is righter, accuracies differ between strata of confidence, and the
stratified estimate loses that difference from its variance. The strata are a function of the predictions
alone, so the estimate stays unbiased however badly the confidence is calibrated; a useless confidence
costs a little width, nothing else. (Post-stratification, Holt & Smith, 1979, JRSS A 142.)

From predictions and labels to the counts that hold everything the estimators use.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from oversight.harness.arrays import FAILED, UNREADABLE, AnyIntArray, BoolArray, FloatArray, IntArray
from oversight.harness.columns import (
    ABSTAINED,
    NO,
    YES,
    AnyLabels,
    AnyPredictions,
    ItemIndex,
    ItemValues,
    LabelColumns,
    PredictionColumns,
    align,
)
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.estimate.core import BinomialSample, effective_options
from oversight.harness.estimate.data.stratified import Conditioning, Tallies, Tally

CONFIDENCE: Literal["confidence"] = "confidence"
"""In place of strata: by the model's own confidence."""

Strata = Mapping[str, str] | ItemValues | Literal["confidence"] | None
"""Stratum of every item, by id or by place, or `CONFIDENCE`.

Strata are weighted by their share of the predictions, so that they may be labelled at different rates.
"""


MOST_STRATA = 5
LABELS_EACH = 40
"""Strata with fewer labels than about this are estimated too badly to be worth telling apart."""


def stratify_by_confidence(predictions: PredictionColumns, n_labels: int) -> ItemValues:
    """Cut predictions into strata of about equal size by their confidence.

    Parameters
    ----------
    predictions
        All that were made; those without a confidence count as the least sure.
    n_labels
        Number of labels, which limits the number of strata.

    Returns
    -------
    ItemValues
        ``"confidence 1"`` (least sure) to at most ``"confidence 5"``. Equal confidences share a stratum.

    Raises
    ------
    EstimateError
        If no prediction has a confidence.
    """
    if predictions.confidence is None:
        raise EstimateError(
            "strata: no prediction has a confidence; ask with logprobs = true or samples > 1, where offered"
        )
    sure = np.nan_to_num(predictions.confidence[predictions.is_there], nan=-1.0)
    k = max(1, min(MOST_STRATA, n_labels // LABELS_EACH))
    ends = np.quantile(sure, np.arange(1, k) / k, method="inverted_cdf")
    code = np.full(predictions.index.size, -1, dtype=np.int64)
    code[predictions.is_there] = np.searchsorted(np.unique(ends), sure, side="left")
    return ItemValues(code=code, names=[f"confidence {s + 1}" for s in range(k)])


def find_strata(predictions: PredictionColumns, labels: LabelColumns, strata: Strata) -> ItemValues | None:
    """The stratum of every item: as given, or by the model's confidence."""
    if isinstance(strata, str):
        return stratify_by_confidence(predictions, len(labels))
    return ItemValues.of(strata, labels.index) if isinstance(strata, Mapping) else strata


def fill_answers(
    said: AnyIntArray,
    option: AnyIntArray,
    item: AnyIntArray,
    y_hat: AnyIntArray,
    n_options: AnyIntArray,
    *,
    favourable: bool,
) -> AnyIntArray:
    """Answers put in for the missing ones, all for or all against the model.

    For it: yes on its prediction, no elsewhere. Against it: no on its prediction, and one yes
    elsewhere. An item has one truth, so there is no second yes; and where all other options are
    refused, the last one stays open (it must be true).

    Parameters
    ----------
    said, option, item
        Shape (L,): 1 yes, 0 no, −1 missing; the option asked about; the place of its item.
    y_hat, n_options
        Shape (N,): the model's option, negative if it named none; K.
    """
    on_prediction = option == y_hat[item]
    alone = np.bincount(item, minlength=n_options.size)[item] == 1
    kind = np.where(alone & (said == ABSTAINED), np.where(on_prediction == favourable, YES, NO), said)
    has_yes = np.bincount(item[kind == YES], minlength=n_options.size) > 0
    refused = np.bincount(item[kind == NO], minlength=n_options.size)
    for row in np.flatnonzero(kind == ABSTAINED).tolist():
        i = int(item[row])
        if not has_yes[i] and on_prediction[row] == favourable:
            kind[row] = YES
            has_yes[i] = True
        elif refused[i] < n_options[i] - 1:
            kind[row] = NO
            refused[i] += 1
    return kind


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledArrays:
    """Labels on items, and what one or several models predict there.

    Attributes
    ----------
    y_hat
        Predicted options, shape (n_models, n_items) or (n_items,); −1 unreadable, −2 failed.
    option, kind, item
        One entry per label, shape (n_labels,): the option asked about (from 0); 1 yes, 0 no,
        −1 abstained; the index of the item.
    n_options
        K of every item, shape (n_items,).
    propensity
        With which the option was asked, in (0, 1], shape (n_labels,); None: drawn uniformly.
    stratum
        Code ≥ 0 of every item's stratum, shape (n_items,), named by `stratum_names`.
    names
        What items are called in messages; their index by default.
    n_unlabelled
        Predictions on other items, which are left out.
    """

    y_hat: AnyIntArray
    option: AnyIntArray
    kind: AnyIntArray
    n_options: AnyIntArray
    item: AnyIntArray
    propensity: FloatArray | None = None
    stratum: AnyIntArray | None = None
    stratum_names: Sequence[str] | None = None
    names: Sequence[object] | None = None
    n_unlabelled: int = 0

    @property
    def asked_with(self) -> FloatArray:
        """`propensity`, 1/K where it is None."""
        return 1 / self.n_options[self.item] if self.propensity is None else self.propensity

    def name(self, item: np.integer[Any] | int) -> str:
        """What an item is called in a message."""
        return repr(int(item) if self.names is None else self.names[int(item)])

    def check(self) -> None:
        """Refuse impossible labels.

        Raises
        ------
        EstimateError
            Naming the first row and value that break a bound.
        """
        option, kind, item, n_options = self.option, self.kind, self.item, self.n_options
        if option.size == 0:
            raise EstimateError("labels must not be empty: without a label nothing can be estimated")
        if n_options.size == 0:
            raise EstimateError("predictions must not be empty")
        if not option.shape == kind.shape == item.shape:
            raise EstimateError(
                f"option, kind and item must have one shape, have {option.shape}, {kind.shape}, {item.shape}"
            )
        _refuse((item < 0) | (item >= n_options.size), "item", item, f"lie in 0..{n_options.size - 1}")
        for i in np.flatnonzero(n_options < 2):
            raise EstimateError(f"n_options must be at least 2, is {n_options[i]} for item {self.name(i)}")
        _refuse((kind < -1) | (kind > 1), "kind", kind, "be 1 (yes), 0 (no) or -1 (abstained)")
        for r in np.flatnonzero((option < 0) | (option >= n_options[item])):
            raise EstimateError(
                f"labels[{r}]: option must lie in 0..{n_options[item[r]] - 1} for item "
                f"{self.name(item[r])}, is {option[r]}"
            )
        if self.propensity is not None:
            p = self.propensity
            if p.shape != option.shape:
                raise EstimateError(f"propensity must have shape {option.shape}, has {p.shape}")
            _refuse(~((p > 0) & (p <= 1)), "propensity", p, "lie in (0, 1]")


def to_arrays(
    predictions: PredictionColumns, labels: LabelColumns, strata: ItemValues | None
) -> LabelledArrays:
    """The labels with the predictions of their items, over the items that have one.

    Raises
    ------
    EstimateError
        If something is missing or double; names row and value.
    """
    if not len(predictions):
        raise EstimateError("predictions must not be empty")
    if not len(labels):
        raise EstimateError("labels must not be empty: without a label nothing can be estimated")
    for row in np.flatnonzero(~predictions.is_there[labels.item]):
        name = labels.index.ids[labels.item[row]]
        raise EstimateError(f"labels[{row}]: item {name!r} has no prediction")
    return replace(
        label_arrays(labels, strata),
        y_hat=predictions.option[labels.places].astype(np.int64),
        n_unlabelled=len(predictions) - labels.places.size,
    )


@lru_cache(maxsize=2)
def label_arrays(labels: LabelColumns, strata: ItemValues | None) -> LabelledArrays:
    """The labels without predictions; those of several models in turn are gathered once.

    Raises
    ------
    EstimateError
        If labels are impossible, those of an item do not agree on how many options it has, or it has no
        stratum.
    """
    k, first = labels.questions.n_options, labels.n_options[labels.rank]
    for row in np.flatnonzero(first != k):
        name = labels.index.ids[labels.item[row]]
        raise EstimateError(
            f"labels[{row}]: n_options must be {first[row]} as before for item {name!r}, is {k[row]}"
        )
    for row in np.flatnonzero(k < 2):
        raise EstimateError(f"labels[{row}]: n_options must be at least 2, is {k[row]}")
    codes, known = _stratum_codes(labels, strata)
    arrays = LabelledArrays(
        y_hat=np.zeros(0, np.int64),
        option=labels.option,
        kind=labels.kind,
        n_options=labels.n_options,
        item=labels.rank,
        propensity=labels.questions.propensity,
        stratum=codes,
        stratum_names=known,
        names=_Names(labels.index, labels.places),
    )
    arrays.check()
    return arrays


class _Names(Sequence[str]):
    """Ids of some items, looked up when one is shown."""

    def __init__(self, index: ItemIndex, places: IntArray) -> None:
        self._index, self._places = index, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self._index.ids[i] for i in self._places[place].tolist()]
        return self._index.ids[int(self._places[place])]


def _refuse(wrong: BoolArray, name: str, values: NDArray[Any], bound: str) -> None:
    for r in np.flatnonzero(wrong):
        raise EstimateError(f"labels[{r}]: {name} must {bound}, is {values[r]}")


def _stratum_codes(
    labels: LabelColumns, strata: ItemValues | None
) -> tuple[AnyIntArray | None, list[str] | None]:
    if strata is None:
        return None, None
    code = strata.code[labels.places]
    for place in labels.places[code < 0]:
        name = labels.index.ids[place]
        raise EstimateError(f"strata: the labelled item {name!r} has no stratum")
    known, codes = np.unique(code, return_inverse=True)
    return codes, [strata.names[name] for name in known.tolist()]


_NEAR = 1e-6
"""Propensities that differ by less are equal."""


class Design:
    """The labels of a study, checked and gathered by item; made with `split` as the module says.

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
        By which numbers every group's samples are conditioned on, see the module.
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
    """Choose for every group; see the module for what the names mean."""
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
