"""Agreement of annotators: every coefficient of a panel in one call.

The coefficients are Krippendorff's α (module `alpha`), Fleiss' κ, Gwet's AC1, and Cohen's κ of every two
annotators. Fleiss' κ, AC1 and Cohen's κ have the form (p_a − p_e)/(1 − p_e), where p_a is the share of
agreeing pairs of ratings; each has a different p_e, the agreement by chance. If one class dominates, AC1
stays high, while κ and α fall.

Sources: Cohen 1960 (Educ. Psychol. Meas. 20); Fleiss 1971 (Psychol. Bull. 76); Gwet 2008 (Br. J.
Math. Stat. Psychol. 61), and the "Handbook of Inter-Rater Reliability" (4th ed.) for missing ratings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse

from oversight.harness.arrays import FloatArray, IntArray, divide
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.panel.alpha import CELLS, Agreement, category_alphas, krippendorff_alpha
from oversight.harness.panel.ratings import Panel, check_votes
from oversight.harness.panel.weighted_units import CLUSTERS_ARE_DRAWS
from oversight.harness.types import Displayable, HtmlTable, format_number, level_text

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FEW = 8
_COMMON = 10
"""Fewest common items for Cohen's κ: on one, κ is 0 if two annotators differ, and undefined if they agree."""
_MINUS = str.maketrans("−–﹣－", "----")


def parse_number(name: str) -> float | None:
    """Return the number that a label denotes, with a point as decimal separator; None for other labels.

    Examples
    --------
    >>> parse_number("10"), parse_number("−1.5"), parse_number("1 star"), parse_number("1,5")
    (10.0, -1.5, None, None)
    """
    text = name.strip().translate(_MINUS)
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None


def find_class_values(panel: Panel, level: str) -> FloatArray | None:
    """Return the numeric values of the classes, shape (K,); None if the level needs no numbers.

    Raises
    ------
    EstimateError
        If the level needs numbers or an order, and a class is not a number; the message names the class.

    Examples
    --------
    >>> from oversight.harness.panel import make_panel
    >>> from oversight.harness.types import Rating
    >>> panel = make_panel([Rating("a", "ann", "1"), Rating("a", "bob", "3")])
    >>> find_class_values(panel, "interval").tolist()
    [1.0, 3.0]
    """
    if level == "nominal" or (level == "ordinal" and panel.ordered):
        return None
    numbers = [parse_number(name) for name in panel.classes]
    word = next((c for c, x in zip(panel.classes, numbers, strict=True) if x is None), None)
    if word is None:
        return np.array(numbers, dtype=np.float64)
    if level != "ordinal":
        raise EstimateError(f"labels must be numbers; could not convert string to float: {word!r}")
    seen = ", ".join(map(repr, panel.classes[:_FEW])) + " …" * (len(panel.classes) > _FEW)
    raise EstimateError(
        f"labels must be numbers or have a given order; {word!r} is not a number; name all labels from "
        f"lowest to highest, as in --classes low,medium,high (classes=[...] in Python); labels are {seen}"
    )


def pair_agreement(votes: Any) -> FloatArray:
    """Return the share of each item's pairs of votes that agree, shape (N,); nan with fewer than 2 votes.

    It is Σ_c v_nc(v_nc − 1)/(m_n(m_n − 1)), where v_nc of the m_n votes on item n are for class c.
    """
    votes = sparse.csr_array(votes)
    m = votes.sum(axis=1).astype(np.float64)
    pairs = votes.multiply(votes).sum(axis=1) - m
    return divide(pairs, m * (m - 1), where=m >= 2)


def class_shares(votes: Any) -> FloatArray:
    """Return π_c, the mean share of an item's votes for class c, over items with a vote; shape (K,)."""
    votes = sparse.csr_array(votes)
    m = votes.sum(axis=1)
    shares: FloatArray = votes.T @ divide(1.0, m, where=m > 0, empty=0.0) / int((m > 0).sum())
    return shares


def fleiss_kappa(votes: Any) -> float:
    """Return Fleiss' κ = (p_a − p_e)/(1 − p_e), for votes of shape (N, K).

    p_a is the mean of `pair_agreement` over items with two or more ratings, and p_e is the sum of the squared
    `class_shares`. This is Gwet's generalisation to items with different numbers of ratings.

    Raises
    ------
    NotIdentified
        If all ratings are alike, so that κ is 0/0.
    """
    check_votes(votes)
    shares = class_shares(votes)
    return beyond_chance(float(np.nanmean(pair_agreement(votes))), float((shares**2).sum()), "Fleiss' kappa")


def gwet_ac1(votes: Any) -> float:
    """Return Gwet's AC1 = (p_a − p_e)/(1 − p_e) with p_e = Σ_c π_c(1 − π_c)/(K − 1).

    p_a is the mean of `pair_agreement` as in `fleiss_kappa`, and π_c is the `class_shares` of class c. K
    counts all classes, including unused ones. AC1 is 1 if all ratings are alike (p_e = 0).
    """
    check_votes(votes)
    shares = class_shares(votes)
    chance = float((shares * (1 - shares)).sum()) / (votes.shape[1] - 1)
    return beyond_chance(float(np.nanmean(pair_agreement(votes))), chance, "AC1")


def beyond_chance(observed: float, chance: float, name: str) -> float:
    """Return (p_a − p_e)/(1 − p_e), with p_a = `observed` and p_e = `chance`.

    Raises
    ------
    NotIdentified
        If p_e = 1; the message names the coefficient `name`.
    """
    if chance >= 1 - 1e-12:
        raise NotIdentified(f"all ratings are alike: agreement by chance is 1, so {name} is 0/0")
    return (observed - chance) / (1 - chance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairwise:
    """Agreement of every two annotators on their common items; arrays have shape (annotators, annotators).

    Attributes
    ----------
    common
        Number of common items, which both annotators rated.
    agreement
        Share of the common items on which both annotators agree; nan without common items.
    kappa
        Cohen's κ on the common items; nan if undefined.
    """

    annotators: tuple[str, ...]
    common: IntArray
    agreement: FloatArray
    kappa: FloatArray


def pairwise(panel: Panel) -> Pairwise:
    """Compute agreement and Cohen's κ of all pairs of annotators by sparse matrix products.

    Examples
    --------
    >>> from oversight.harness.example_data import example_panel
    >>> panel = example_panel()
    >>> pairwise(panel).agreement.round(2).tolist()
    [[1.0, 0.83, 0.83], [0.83, 1.0, 0.67], [0.83, 0.67, 1.0]]
    """
    A, ones = len(panel.annotators), np.ones(len(panel.item))
    said = np.unique(panel.item * panel.K + panel.label, return_inverse=True)[1]
    rated = sparse.csr_array((ones, (panel.annotator, panel.item)), shape=(A, len(panel.items)))
    alike = sparse.csr_array((ones, (panel.annotator, said)))
    common, agree = (rated @ rated.T).toarray(), (alike @ alike.T).toarray()
    chance = np.zeros_like(common)
    for rows in _split_by_class(panel):
        chance += _chance(panel, rows, rated)
    share = divide(agree, common, where=common > 0)
    p_e = divide(chance, common**2, where=common > 0)
    kappa = divide(share - p_e, 1 - p_e, where=(common > 0) & (p_e < 1 - 1e-12))
    return Pairwise(annotators=panel.annotators, common=common.astype(np.int64), agreement=share, kappa=kappa)


def _split_by_class(panel: Panel) -> Iterator[IntArray]:
    """Split the rows of ratings into groups, so that `_chance` needs little memory.

    All ratings of one class are in the same group. Groups of several classes are made so small that the
    arrays of `_chance` have about `CELLS` cells.
    """
    A, m = len(panel.annotators), np.bincount(panel.item)
    cells = np.minimum(A * A, np.bincount(panel.label, weights=m[panel.item], minlength=panel.K))
    part = (np.cumsum(cells) // CELLS)[panel.label]
    order = np.argsort(part, kind="stable")
    return iter(np.split(order, np.flatnonzero(np.diff(part[order])) + 1))


def _chance(panel: Panel, rows: IntArray, rated: Any) -> FloatArray:
    """Return Σ_c n_ac n_bc for all pairs of annotators a and b, over the classes c of the given rating rows.

    n_ac is the number of ratings of class c that annotator a gave on the items that both annotators rated.
    """
    A, label, annotator = len(panel.annotators), panel.label[rows], panel.annotator[rows]
    kinds, label = np.unique(label, return_inverse=True)
    shape = (A * len(kinds), len(panel.items))
    cells = annotator * len(kinds) + label, panel.item[rows]
    gave = sparse.csr_array((np.ones(len(rows)), cells), shape)
    given = (gave @ rated.T).tocoo()
    a, c = np.divmod(given.coords[0].astype(np.int64), len(kinds))
    b = given.coords[1]
    shape = (A * A, len(kinds))
    first = sparse.csr_array((given.data, (a * A + b, c)), shape)
    second = sparse.csr_array((given.data, (b * A + a, c)), shape)
    total: FloatArray = first.multiply(second).sum(axis=1)
    return total.reshape(A, A)


T = TypeVar("T")

_NAMES = {
    "alpha": "Krippendorff's α",
    "fleiss": "Fleiss' κ",
    "ac1": "Gwet's AC1",
    "mean_cohen": "Cohen's κ, mean of pairs",
    "observed": "agreeing pairs",
}
_SHOWN = 20
"""Largest number of classes that a notebook shows."""
RELIABLE = 0.8
"""Value of α below which a category is not well defined, by rule of thumb (Krippendorff 2004)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorAgreement:
    """Agreement of one annotator with the other annotators.

    Attributes
    ----------
    ratings
        Number of items that the annotator rated.
    agreement
        Share of the other annotators' ratings of these items that equal this annotator's rating; None if
        nobody else rated these items.
    median_kappa
        Median of Cohen's κ with each other annotator with 10 or more common items; None if every κ is
        undefined.
    """

    name: str
    ratings: int
    agreement: float | None
    median_kappa: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AgreementReport(Displayable):
    """All agreement coefficients of a panel.

    Attributes
    ----------
    alpha
        Krippendorff's α at the chosen level of measurement, with its interval; None if undefined.
    observed
        Share of an item's pairs of ratings that agree, averaged over items.
    fleiss, ac1, mean_cohen
        Fleiss' κ, Gwet's AC1, and the mean of Cohen's κ over pairs of annotators with 10 or more common items
        for whom κ is defined; None if undefined.
    categories
        Class → α of this class against all other classes together; None if undefined.
    people
        Agreement of every annotator with the other annotators.
    undefined
        Coefficient → reason why it is None.
    clusters, assumptions
        Number of clusters of items (None if items are independent), and the assumptions of α's interval. If
        clusters exist, the interval treats clusters instead of items as independent.
    unreliable
        Classes with α below 0.8.

    Examples
    --------
    >>> from oversight.harness.example_data import example_panel
    >>> panel = example_panel()
    >>> report = measure_agreement(panel)
    >>> report.unreliable, round(report.observed, 2)
    (('x', 'y'), 0.78)
    """

    items: int
    annotators: int
    ratings: int
    level: str
    alpha: Agreement | None
    observed: float
    fleiss: float | None
    ac1: float | None
    mean_cohen: float | None
    categories: Mapping[str, float | None]
    people: tuple[AnnotatorAgreement, ...]
    undefined: Mapping[str, str]
    unreliable: tuple[str, ...]
    clusters: int | None = None
    assumptions: tuple[str, ...] = ()

    picture: ClassVar[str] = "agreement"

    def __str__(self) -> str:
        """Return Krippendorff's α with its interval, and the numbers of annotators and items."""
        rests = f"{self.annotators} annotators, {self.items:,} items"
        if self.alpha is None:
            return f"Krippendorff's α is undefined: {self.undefined.get('alpha', '')} · {rests}"
        ends = [self.alpha.low, self.alpha.high]
        level = level_text(self.alpha.level)
        interval = "" if None in ends else f" [{', '.join(map(format_number, ends))}], {level}"
        verdict = (
            "" if self.alpha.value >= RELIABLE else f", below {RELIABLE}, the usual bar for reliable labels"
        )
        return f"Krippendorff's α {format_number(self.alpha.value)}{interval}{verdict} · {rests}"

    def records(self) -> list[dict[str, Any]]:
        """Return one row per coefficient, then one row per class with its α against all other classes."""
        ends = (None, None) if self.alpha is None else (self.alpha.low, self.alpha.high)
        value = None if self.alpha is None else self.alpha.value
        found = [{"coefficient": "alpha", "class": "", "value": value, "low": ends[0], "high": ends[1]}]
        others = {
            "fleiss": self.fleiss,
            "ac1": self.ac1,
            "mean_cohen": self.mean_cohen,
            "observed": self.observed,
        }
        found += [{"coefficient": name, "class": "", "value": value} for name, value in others.items()]
        classes = self.categories.items()
        return found + [{"coefficient": "alpha", "class": name, "value": value} for name, value in classes]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the tables that a notebook shows."""
        rows = []
        left = max(0, len(self.categories) - _SHOWN)
        for row in self.records()[: len(_NAMES) + _SHOWN]:
            ends = [row.get("low"), row.get("high")]
            shown = "" if None in ends else " – ".join(map(format_number, ends))
            name = _NAMES[row["coefficient"]] + (f" of {row['class']!r}" if row["class"] else "")
            rows.append((name, format_number(row["value"]), shown))
        low = f"below {RELIABLE}, not reliable by rule of thumb: {', '.join(self.unreliable[:_SHOWN])}"
        low += f" and {len(self.unreliable) - _SHOWN:,} more" if len(self.unreliable) > _SHOWN else ""
        return (
            HtmlTable(
                columns=("coefficient", "value", "interval"),
                rows=rows,
                notes=(
                    *map(str, self.alpha.notes if self.alpha else ()),
                    *(f"{name}: {why}" for name, why in self.undefined.items()),
                    *([low] if self.unreliable else ()),
                    *([f"{left:,} more classes are in records()"] if left else ()),
                    *self.assumptions,
                ),
            ),
        )


def measure_agreement(
    panel: Panel,
    level: str = "nominal",
    *,
    values: FloatArray | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> AgreementReport:
    """Compute α, κ and AC1 of a panel, α of every class, and the agreement of every annotator.

    Parameters
    ----------
    panel
        Panel of at least two annotators, with at least one item that two of them rated.
    values
        Shape (K,): numeric values of the classes; by default the numbers that the class names denote
        (`find_class_values`).
    level, bootstrap, seed, confidence
        As in `krippendorff_alpha`.

    Raises
    ------
    EstimateError
        If there is only one annotator, no item has two ratings, an argument is out of range, or a class is
        not a number at a level that needs numbers or an order.

    Examples
    --------
    >>> from oversight.harness.example_data import example_panel
    >>> panel = example_panel()
    >>> print(round(measure_agreement(panel).alpha.value, 3))
    0.58
    """
    if len(panel.annotators) < 2:
        raise EstimateError(f"agreement needs at least 2 annotators, there is 1: {panel.annotators[0]!r}")
    votes = panel.sparse_votes()
    if values is None:
        values = find_class_values(panel, level)
    undefined: dict[str, str] = {}

    def attempt(name: str, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except NotIdentified as error:
            undefined[name] = str(error)
            return None

    alpha = attempt(
        "alpha",
        lambda: krippendorff_alpha(
            votes,
            level,
            values=values,
            bootstrap=bootstrap,
            seed=seed,
            confidence=confidence,
            cluster=panel.cluster,
        ),
    )
    pairs = pairwise(panel)
    pairs = replace(pairs, kappa=np.where(pairs.common < _COMMON, np.nan, pairs.kappa))
    off = ~np.eye(len(panel.annotators), dtype=bool)
    kappas = pairs.kappa[off & ~np.isnan(pairs.kappa)]
    if not len(kappas):
        undefined["mean_cohen"] = f"no two annotators have {_COMMON} common items and labels that vary"
    categories = {panel.classes[c]: a for c, a in category_alphas(votes).items()}
    return AgreementReport(
        items=len(panel.items),
        annotators=len(panel.annotators),
        ratings=len(panel.item),
        level=level,
        alpha=alpha,
        observed=float(np.nanmean(pair_agreement(votes))),
        fleiss=attempt("fleiss", lambda: fleiss_kappa(votes)),
        ac1=attempt("ac1", lambda: gwet_ac1(votes)),
        mean_cohen=float(kappas.mean()) if len(kappas) else None,
        categories=categories,
        people=tuple(_person(panel, pairs, a) for a in range(len(panel.annotators))),
        undefined=undefined,
        unreliable=tuple(c for c, a in categories.items() if a is not None and a < RELIABLE),
        clusters=panel.clusters,
        assumptions=(CLUSTERS_ARE_DRAWS,) if panel.clusters else (),
    )


def _person(panel: Panel, pairs: Pairwise, a: int) -> AnnotatorAgreement:
    others = np.arange(len(panel.annotators)) != a
    weight = np.where(others, pairs.common[a], 0)
    kappas = pairs.kappa[a][others & ~np.isnan(pairs.kappa[a])]
    agreed = float(np.nansum(weight * pairs.agreement[a]))
    return AnnotatorAgreement(
        name=panel.annotators[a],
        ratings=int(pairs.common[a, a]),
        agreement=agreed / float(weight.sum()) if weight.any() else None,
        median_kappa=float(np.median(kappas)) if len(kappas) else None,
    )
