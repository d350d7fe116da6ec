"""Agreement of annotators: every coefficient of a panel in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from harness.arrays import FloatArray
from harness.errors import EstimateError, NotIdentified
from harness.panel.agreement.alpha import Agreement, category_alphas, krippendorff_alpha
from harness.panel.agreement.kappa import Pairwise, fleiss_kappa, gwet_ac1, pair_agreement, pairwise
from harness.panel.ratings import CLUSTERS_ARE_DRAWS, Panel

T = TypeVar("T")

RELIABLE = 0.8
"""Rule of thumb of content analysis (Krippendorff 2004): below it a category is not well defined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorAgreement:
    """One annotator against the others: mean over their common items of the share that agrees."""

    name: str
    ratings: int
    agreement: float | None
    median_kappa: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementReport:
    """Every coefficient of a panel.

    Attributes
    ----------
    alpha
        Krippendorff's α at the level asked for, with its interval; None if undefined.
    observed
        Mean share of agreeing pairs.
    fleiss, ac1, mean_cohen
        None where undefined; mean Cohen's κ is over pairs where it is defined.
    categories
        Class → α of it against the rest; None where all ratings of it are alike.
    undefined
        Coefficient → why it is None.
    clusters, assumptions
        Clusters that the items come in, the independent units of the interval, None if items are independent;
        and what it then assumes.
    unreliable
        Classes with α below 0.8.
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


def measure_agreement(
    panel: Panel,
    level: str = "nominal",
    *,
    values: FloatArray | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> AgreementReport:
    """Report α, κ's and AC1, per class and per annotator.

    Parameters
    ----------
    panel
        At least two annotators, at least one item both rated.
    level, values, bootstrap, seed, confidence
        As in `krippendorff_alpha`.

    Raises
    ------
    EstimateError
        If there is one annotator, no item with two ratings, or an argument is out of range.
    """
    if len(panel.annotators) < 2:
        raise EstimateError(f"agreement needs at least 2 annotators, there is 1: {panel.annotators[0]!r}")
    votes = panel.votes()
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
    off = ~np.eye(len(panel.annotators), dtype=bool)
    kappas = pairs.kappa[off & ~np.isnan(pairs.kappa)]
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
