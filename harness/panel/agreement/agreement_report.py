"""Agreement of annotators: every coefficient of a panel in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from oversight.harness.arrays import FloatArray
from oversight.harness.errors import EstimateError, NotIdentified
from oversight.harness.panel.agreement.alpha import Agreement, category_alphas, krippendorff_alpha
from oversight.harness.panel.agreement.class_values import find_class_values
from oversight.harness.panel.agreement.kappa import Pairwise, fleiss_kappa, gwet_ac1, pair_agreement, pairwise
from oversight.harness.panel.ratings import CLUSTERS_ARE_DRAWS, Panel
from oversight.harness.types import HtmlTable, Shown, format_number

T = TypeVar("T")

_NAMES = {
    "alpha": "Krippendorff's α",
    "fleiss": "Fleiss' κ",
    "ac1": "Gwet's AC1",
    "mean_cohen": "Cohen's κ, mean of pairs",
    "observed": "agreeing pairs",
}
_SHOWN = 20
"""Classes that a notebook shows."""
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
class AgreementReport(Shown):
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

    def records(self) -> list[dict[str, Any]]:
        """A row a coefficient; that of a class is its α against the rest."""
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
        """What a notebook shows."""
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
                title=f"Agreement of {self.annotators} annotators on {self.items:,} items",
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
    """Report α, κ's and AC1, per class and per annotator.

    Parameters
    ----------
    panel
        At least two annotators, at least one item both rated.
    values
        Shape (K,): what the classes measure; by default the numbers that they are (`find_class_values`).
    level, bootstrap, seed, confidence
        As in `krippendorff_alpha`.

    Raises
    ------
    EstimateError
        If there is one annotator, no item with two ratings, an argument is out of range, or a class is a
        word at a level that needs numbers or an order.
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
