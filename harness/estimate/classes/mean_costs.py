"""The mean of costs from labels, see `cost_table`: accuracies, put together by squaring and adding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.columns import PredictionColumns
from oversight.harness.errors import NotIdentified
from oversight.harness.estimate.classes.averages import correlate, sum_part
from oversight.harness.estimate.classes.class_names import COST
from oversight.harness.estimate.classes.class_parts import ClassEvidence
from oversight.harness.estimate.classes.cost_table import CostForm, CostTable
from oversight.harness.estimate.classes.influence import ItemTruths
from oversight.harness.estimate.classes.ratios import METHOD, Part
from oversight.harness.estimate.intervals import scale_by_share, share_interval
from oversight.harness.estimate.routed import ROUTED_ASSUMPTIONS
from oversight.harness.types import Estimate

Entry = tuple[float, Part, IntArray, FloatArray]
"""Weight, part, and by item the option whose truth it is of (−1: none) and what is known without (0, 1)."""


def mean_cost(
    evidence: ClassEvidence, models: Sequence[PredictionColumns], signs: Sequence[int], costs: CostTable
) -> Estimate:
    """Mean of the models' costs, each times its sign: (1,) for one model, (1, −1) for one less another.

    Parameters
    ----------
    evidence
        Of predictions of the items that all models answered.

    Raises
    ------
    EstimateError
        If answers do not tell it.
    """
    places = np.flatnonzero(evidence.population)
    predicted = np.stack([m.option[places] for m in models], axis=1)
    form = CostForm.of(costs, np.maximum(predicted, -1), signs)
    least = float(form.base.min(initial=np.inf))
    if not form.weights and form.low == form.high:
        return _all_alike(evidence, form.low, costs, signs, len(places))
    entries = [*_known(evidence, form, places), *_unknown(evidence, form, places)]
    whys = [why for _, why in entries if why]
    parts = [entry for entry, _ in entries]
    rho = _correlate(evidence, models, parts) if len(parts) > 1 else np.ones((len(parts), len(parts)))
    total = sum_part([(weight, part) for weight, part, _, _ in parts], rho)
    spread = form.high - form.low
    if spread > 0 and len(parts) > 1:
        low, value, high = ((least + end - form.low) / spread for end in (total.low, total.value, total.high))
        wide = Part(value=value, low=max(0.0, low), high=min(1.0, high)).widen(evidence.level)
        total = Part(
            value=total.value,
            low=form.low + spread * wide.low - least,
            high=form.low + spread * wide.high - least,
        )
    return Estimate(
        value=least + total.value,
        low=max(form.low, least + total.low),
        high=min(form.high, least + total.high),
        se=None,
        level=evidence.level,
        estimator=COST,
        method=METHOD,
        assumptions=ROUTED_ASSUMPTIONS,
        why=next(iter(whys), ""),
    )


def _all_alike(
    evidence: ClassEvidence, cost: float, costs: CostTable, signs: Sequence[int], n: int
) -> Estimate:
    """Where each of n items costs the same whatever is true; others, which were not seen, may cost more."""
    table = costs.costs if costs.unreadable is None else np.append(costs.costs.ravel(), costs.unreadable)
    most, least = float(table.max()), float(table.min())
    if len(signs) > 1:
        most, least = most - least, least - most
    unseen = share_interval(0, n, evidence.level)[1]
    return Estimate(
        value=cost,
        low=cost - unseen * (cost - least),
        high=cost + unseen * (most - cost),
        se=None,
        level=evidence.level,
        estimator=COST,
        method=METHOD,
        assumptions=ROUTED_ASSUMPTIONS,
    )


def _known(evidence: ClassEvidence, form: CostForm, places: IntArray) -> list[tuple[Entry, str]]:
    """What predictions cost whatever is true, as shares of items that cost more than the cheapest."""
    found = list[tuple[Entry, str]]()
    values = np.unique(form.base)
    for value in values[1:]:
        items = np.zeros(len(evidence.population), np.bool_)
        items[places[form.base == value]] = True
        none = np.full(items.size, -1, dtype=np.int64)
        found.append(((float(value - values[0]), evidence.share(items), none, items.astype(np.float64)), ""))
    return found


def _unknown(evidence: ClassEvidence, form: CostForm, places: IntArray) -> list[tuple[Entry, str]]:
    """What truths add: shares of items, each with the interval of an accuracy."""
    found = list[tuple[Entry, str]]()
    for weight, column in form.weights:
        option = np.full(len(evidence.population), -1)
        option[places] = column
        items = option >= 0
        inner = evidence.find(items, option)
        part = Part.within(inner.clipped, inner.low, inner.high)
        share = evidence.share(items)
        if share.value < 1:
            size, ends = len(places), (part.value, part.low, part.high)
            part = Part.within(*scale_by_share(share.value, size, *ends, evidence.level))
        found.append(((weight, part, option, np.zeros(items.size)), inner.why))
    return found


def _correlate(
    evidence: ClassEvidence, models: Sequence[PredictionColumns], parts: Sequence[Entry]
) -> FloatArray:
    truths = ItemTruths.gather(models, evidence.labels, evidence.classes, evidence.strata)
    try:
        influences = [
            truths.influence(option, np.full(option.size, weight), weight * known)
            for weight, _, option, known in parts
        ]
    except NotIdentified:
        return np.full((len(parts), len(parts)), np.nan)
    return correlate(np.stack(influences, axis=1), truths.cluster)
