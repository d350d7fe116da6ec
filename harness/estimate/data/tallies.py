"""From predictions and labels to the counts that hold everything the estimators use.

Two ways to condition, both giving independent binomials of the form `component.Component`:

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
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.arrays import FAILED, AnyIntArray
from harness.errors import EstimateError
from harness.estimate.core import BinomialSample
from harness.estimate.data.conditioning import Conditioning
from harness.estimate.data.counting import count_groups
from harness.estimate.data.design import Design, make_design
from harness.estimate.data.labelled_arrays import to_arrays
from harness.types import Label, Prediction


@dataclass(frozen=True, slots=True)
class Tally:
    """Sufficient counts of one model on the items of one stratum with K options.

    Attributes
    ----------
    K
        Options of every item.
    stratum
        Name of the stratum; empty if there are none.
    split
        What the samples are conditioned on.
    hits
        n_o and S_o: items where a label settles whether the (readable) prediction is right.
    misses
        n_c and S_c by effective K': items where options were refused; success: not the prediction.
    n_yes, n_no
        Labels on items that have a prediction, readable or not.
    n_unreadable
        Labelled items whose prediction names no option: wrong.
    n_failed
        Labelled items whose prediction failed: excluded.
    n_abstained
        Questions without an answer: missing.
    """

    K: int
    stratum: str
    split: Conditioning
    hits: BinomialSample
    misses: tuple[BinomialSample, ...]
    n_yes: int
    n_no: int
    n_unreadable: int
    n_failed: int
    n_abstained: int

    @property
    def n_o(self) -> int:
        """Items whose label settles the prediction."""
        return self.hits.n

    @property
    def S_o(self) -> int:  # noqa: N802  the source's name
        """Right predictions among them."""
        return self.hits.S

    @property
    def n_c(self) -> int:
        """Items with refused options only."""
        return sum(m.n for m in self.misses)

    @property
    def S_c(self) -> int:  # noqa: N802  the source's name
        """Items among them none of whose refused options is the predicted one."""
        return sum(m.S for m in self.misses)

    @property
    def n_readable(self) -> int:
        """Labelled items with a readable prediction."""
        return self.n_o + self.n_c

    @property
    def n_labelled(self) -> int:
        """Labelled items whose prediction did not fail."""
        return self.n_readable + self.n_unreadable


@dataclass(frozen=True, slots=True)
class Tallies:
    """The tallies of a model, and how many of its predictions have no label at all."""

    strata: tuple[Tally, ...]
    n_unlabelled: int


def tally_arrays(
    y_hat: AnyIntArray,
    option: AnyIntArray,
    kind: AnyIntArray,
    n_options: AnyIntArray,
    item: AnyIntArray,
    *,
    propensity: NDArray[np.float64] | None = None,
    stratum: AnyIntArray | None = None,
    stratum_names: Sequence[str] | None = None,
    split: Conditioning | Literal["auto"] = "auto",
    names: Sequence[object] | None = None,
) -> tuple[Tallies, ...]:
    """Tally any number of models on the same labels, one `Tallies` each.

    Parameters
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
    split
        See the module.
    names
        What items are called in messages; their index by default.

    Raises
    ------
    EstimateError
        If labels are impossible, contradictory or empty, or a prediction is not one of the item's
        options; names row and value.
    NotIdentified
        If an item's questions were certain not to settle its prediction (see `_counting`).
    """
    rows = _rows(y_hat, n_options.size)
    design = make_design(
        option,
        kind,
        item,
        n_options,
        propensity=propensity,
        stratum=stratum,
        split=split,
        names=names,
    )
    group_names = _group_names(design, stratum, stratum_names)
    touched = np.zeros(n_options.size, np.bool_)
    touched[item] = True
    return tuple(_tally_model(design, row, n_options, touched, group_names) for row in rows)


def _rows(y_hat: AnyIntArray, n_items: int) -> AnyIntArray:
    rows = np.atleast_2d(y_hat)
    if rows.ndim != 2 or rows.shape[1] != n_items:
        raise EstimateError(f"y_hat must have {n_items} columns, one per item, has shape {y_hat.shape}")
    return rows


def _tally_model(
    design: Design,
    y: AnyIntArray,
    n_options: AnyIntArray,
    touched: NDArray[np.bool_],
    group_names: Sequence[str],
) -> Tallies:
    wrong = np.flatnonzero((y < FAILED) | (y >= n_options))
    if wrong.size:
        i = int(wrong[0])
        raise EstimateError(
            f"predictions: option must lie in 0..{n_options[i] - 1} (or -1 unreadable, -2 failed) "
            f"for item {design.names[i]!r}, is {y[i]}"
        )
    counted = count_groups(design, y)
    strata = tuple(
        Tally(
            int(design.K[g]),
            group_names[g],
            design.split[g],
            c.hits,
            c.misses,
            c.n_yes,
            c.n_no,
            c.n_unreadable,
            c.n_failed,
            c.n_abstained,
        )
        for g, c in enumerate(counted)
    )
    return Tallies(strata, int(np.count_nonzero(~touched)))


def _group_names(
    design: Design, stratum: AnyIntArray | None, stratum_names: Sequence[str] | None
) -> tuple[str, ...]:
    if stratum is None:
        return ("",) * design.K.size
    codes = [0] * design.K.size
    _, first = np.unique(design.group, return_index=True)
    for g, i in enumerate(first.tolist()):
        codes[g] = int(stratum[i])
    return tuple(str(c) if stratum_names is None else stratum_names[c] for c in codes)


def tally(
    predictions: Sequence[Prediction],
    labels: Sequence[Label],
    *,
    strata: Mapping[str, str] | None = None,
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
    a = to_arrays(predictions, labels, strata)
    (tallies,) = tally_arrays(
        a.y_hat,
        a.option,
        a.kind,
        a.n_options,
        a.item,
        propensity=a.propensity,
        stratum=a.stratum,
        stratum_names=a.stratum_names,
        split=split,
        names=a.names,
    )
    return Tallies(tallies.strata, a.n_unlabelled)
