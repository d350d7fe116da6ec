"""Does a model beat the average annotator, with no truth at hand? One call from labels or from counts.

Source: "Humanly Certifying Superhuman Classifiers" (ICLR 2023). What it publishes is computed as it is
published (`hms`, `oms`); the confidence that decides is the rigorous one of `certificate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import takewhile

import numpy as np

from oversight.harness.arrays import NO_LABEL, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import check_known, check_level, check_unit
from oversight.harness.panel.ratings import CLUSTERS_ARE_DRAWS, Panel, aggregate_votes, agreement_with
from oversight.harness.panel.superhuman.assumptions import AssumptionCheck, check_assumptions
from oversight.harness.panel.superhuman.betting_test import (
    Tangent,
    betting_confidence,
    itself,
    pool_tangent,
    root,
)
from oversight.harness.panel.superhuman.ceiling import Ceiling, ceilings
from oversight.harness.panel.superhuman.certificate import (
    CEILING_ASSUMPTIONS,
    CEILINGS,
    ITEMS_ARE_DRAWS,
    WHOLE,
    Certainty,
    Evidence,
    certify,
    lower_bound,
)
from oversight.harness.panel.superhuman.condition import list_conditions
from oversight.harness.panel.superhuman.direct_comparison import DirectPlan, direct_plan, disagreement_rate
from oversight.harness.panel.superhuman.independent_units import Units, count_units
from oversight.harness.panel.superhuman.margin import heuristic_score, optimal_score, published_score
from oversight.harness.panel.superhuman.verdict import Superhuman, list_valid_ceilings
from oversight.harness.types import Note, NoteKind

SUPERHUMAN_TESTS = ("split", "paired")
WIN_SHARES = (0.6, 0.7, 0.8, 0.9)
MOST_ITEMS = 10**7
BY_ITEM_ALONE = {
    **dict.fromkeys(("hms", "oms", "oms_exact"), "the published scores take items as independent"),
    "direct": "the cost of the sign test takes items as independent",
}
"""What is withheld of items in clusters → why."""


def assess_superhuman_from_counts(
    L: float,
    U_e: float,
    N: int,
    annotators: int,
    classes: int,
    *,
    disagreement: float | None = None,
    level: float = 0.95,
) -> Superhuman:
    """Certify from published numbers alone.

    Parameters
    ----------
    L, U_e
        In [0, 1], as published; counts are recovered by rounding, so the digits matter.
    N, annotators, classes
        Items, annotators of each (≥ 2), classes offered (≥ 2).
    disagreement
        P(model ≠ random annotator), if known, for the cost of the direct route.

    Raises
    ------
    EstimateError
        Naming the argument that is out of range.
    """
    check_unit("U_e", U_e)
    if annotators < 2:
        raise EstimateError(
            f"annotators must be at least 2, is {annotators}: one annotator agrees with nobody"
        )
    e = Evidence(L=L, x=U_e * U_e, N=N, m=annotators, C=classes)
    check_level(level)
    return _decide(e, certify(e, level=level), level, disagreement, None, (), fixed=False)


def assess_superhuman(
    panel: Panel,
    predicted: IntArray,
    *,
    aggregate: str = "plurality",
    weights: Mapping[str, float] | None = None,
    oracle: IntArray | None = None,
    pool: bool | None = None,
    test: str = "split",
    seed: int = 0,
    level: float = 0.95,
) -> Superhuman:
    """Certify from every label.

    Parameters
    ----------
    panel
        At least two annotators; numbers of labels may differ between items. Where its items come in clusters,
        these are the independent units of every bound and confidence.
    predicted
        Shape (N,): the model's class of every item, negative if unreadable (agrees with nothing).
    aggregate
        ``"plurality"`` (ties fractional), ``"weighted"`` (give `weights`), ``"dawid-skene"`` (needs the
        extra ``crowd``). A learned aggregate ties items together, so its tail is approximate and flagged.
    oracle
        Shape (N,): truth where known, negative elsewhere; checks the assumptions.
    pool
        Whether an item's annotators were drawn from a pool (then U_e and U_star hold, of the pool's
        average). By default only if no annotator set is the same for every item.
    test
        ``"split"`` (`certificate`) or ``"paired"`` (`betting_test`; on items of two labels or more, taken in
        an order drawn with `seed`). Choose before looking: whichever is better errs more often.

    Raises
    ------
    EstimateError
        If an argument is out of range, a shape wrong, or no item has two labels.
    """
    if len(panel.annotators) < 2:
        raise EstimateError(f"annotators must be at least 2; the only one is {panel.annotators[0]!r}")
    if predicted.shape != (len(panel.items),):
        raise EstimateError(f"predicted must have shape ({len(panel.items)},), has {predicted.shape}")
    C = panel.K
    if aggregate != "dawid-skene":  # which learns how people confuse classes
        unknown = np.full(len(panel.items), NO_LABEL)
        panel, (predicted, true) = panel.numbered_within_items(
            predicted, unknown if oracle is None else oracle
        )
        oracle = None if oracle is None else true
    votes = panel.votes()
    winners = aggregate_votes(panel, aggregate, weights)
    hits = agreement_with(winners, predicted)
    bounds = ceilings(votes, C)
    m = votes.sum(axis=1)
    check_known("test", test, SUPERHUMAN_TESTS)
    check_level(level)
    evidence = _gather(panel, hits, bounds, m, C)
    against = certify(evidence, level=level)
    if test == "paired":
        test_one = partial(betting_confidence, hits[m >= 2], seed=seed, level=level, unit=panel.unit[m >= 2])
        against = _paired(against, bounds, C, test_one)
    notes = []
    if (m < 2).any():
        notes.append(Note(NoteKind.SINGLE_LABEL_ITEMS, {"items": int((m < 2).sum())}))
    if aggregate == "dawid-skene":
        notes.append(Note(NoteKind.LEARNED_AGGREGATE))
    fixed = bool((m == len(panel.annotators)).all()) if pool is None else not pool
    check = None
    if oracle is not None:
        check = check_assumptions(votes, winners, predicted, oracle, cluster=panel.cluster)
    rate = disagreement_rate(votes, predicted)
    return _decide(evidence, against, level, rate, check, tuple(notes), fixed=fixed)


def _gather(panel: Panel, hits: FloatArray, bounds: Ceiling, m: IntArray, C: int) -> Evidence:
    """What the certificates rest on, from agreements and the numbers of labels `m` of every item."""
    dependent = panel.cluster is not None
    return Evidence(
        L=float(hits.mean()),
        x=float(bounds.pairs.mean()),
        N=len(hits),
        m=int(m[0]) if (m == m[0]).all() and m[0] >= 2 else 0,
        C=C,
        whole=bool((np.abs(hits - np.round(hits)) < WHOLE).all()),
        x_t=float(bounds.pairs_t.mean()),
        largest=bounds.U_panel,
        N_x=len(bounds.pairs),
        clusters=count_units(panel.unit) if dependent else None,
        clusters_x=count_units(panel.unit[m >= 2]) if dependent else None,
    )


def _paired(
    against: Mapping[str, Certainty], bounds: Ceiling, C: int, test: Callable[[FloatArray, Tangent], float]
) -> dict[str, Certainty]:
    """Every ceiling by the test of one mean."""
    how: dict[str, tuple[FloatArray, Tangent]] = {
        "U_e": (bounds.pairs, root),
        "U_t": (bounds.pairs_t, root),
        "U_star": (bounds.pairs, pool_tangent(C)),
        "U_panel": (bounds.largest, itself),
    }
    found = {}
    for name, (x, tangent) in how.items():
        found[name] = replace(
            against[name], confidence=test(x, tangent), split=None, tails=("betting", "betting")
        )
    return found


def _decide(
    e: Evidence,
    against: Mapping[str, Certainty],
    level: float,
    disagreement: float | None,
    check: AssumptionCheck | None,
    notes: tuple[Note, ...],
    *,
    fixed: bool,
) -> Superhuman:
    valid, why_not = list_valid_ceilings(check, fixed=fixed)
    notes = (*why_not, *notes)
    # One after the other in a fixed order, to the first that fails: so all of them keep the level together.
    certified = tuple(takewhile(lambda name: against[name].confidence >= level, valid))
    bounds = {name: against[name].bound for name in CEILINGS}
    scores = (heuristic_score, published_score, optimal_score)
    hms, oms, oms_exact = (None if e.clusters else score(e.L, bounds["U_e"], e.N) for score in scores)
    L_low = lower_bound(e, level)
    margin = L_low - min((against[name].high for name in certified), default=1.0)
    conditions = list_conditions(certified, check, level, margin)
    plans: tuple[DirectPlan, ...] = ()
    if disagreement and not e.clusters and (conditions or not certified):
        plans = tuple(direct_plan(disagreement, w, level=level) for w in WIN_SHARES)
    return Superhuman(
        L=e.L,
        L_low=L_low,
        **bounds,
        N=e.N,
        annotators=e.m,
        classes=e.C,
        level=level,
        hms=hms,
        oms=oms,
        oms_exact=oms_exact,
        confidence=against["U_e"].confidence,
        against=against,
        fixed=fixed,
        certified=certified,
        valid=valid,
        items_needed=e.N if certified else items_needed(e, level, valid[0]) if valid else None,
        disagreement=disagreement,
        direct=plans,
        check=check,
        assumptions=(_sampling(e), *CEILING_ASSUMPTIONS),
        conditions=conditions,
        notes=notes,
        clusters=e.clusters.number if e.clusters else None,
        undefined=BY_ITEM_ALONE if e.clusters else {},
    )


def _sampling(e: Evidence) -> str:
    """What is assumed of how the items were drawn."""
    if e.clusters is None:
        return ITEMS_ARE_DRAWS
    alike = e.clusters.fullness == 1
    return CLUSTERS_ARE_DRAWS + ("" if alike else ", and none has more items than the largest here")


def items_needed(e: Evidence, level: float, ceiling: str) -> int | None:
    """Fewest items (to a percent) at which this L and agreement would certify against a ceiling."""
    if certify(e, (ceiling,))[ceiling].bound >= e.L:
        return None

    def enough(n: int) -> bool:
        share = n / e.N
        grown = replace(
            e,
            N=n,
            N_x=None if e.N_x is None else max(1, round(e.N_x * share)),
            clusters=_scale(e.clusters, share),
            clusters_x=_scale(e.clusters_x, share),
        )
        return certify(grown, (ceiling,))[ceiling].confidence >= level

    high = e.N
    while not enough(high):
        high *= 2
        if high > MOST_ITEMS:
            return None
    low = high // 2
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _scale(units: Units | None, share: float) -> Units | None:
    """As many times more clusters, of the same sizes."""
    return None if units is None else replace(units, number=max(1, round(units.number * share)))
