"""Certify that a model is better than the average annotator without ground truth.

Agreement with an aggregate is a lower bound of a model's accuracy only if the model does not share the
aggregate's errors. The annotators' labels cannot show that: a model that copies their plurality agrees with
it on every item and is right no more often. Only ground truth on items where the aggregate is wrong can
show it (`check_assumptions`); a certificate lists its untested assumptions (`Condition`).

Source: "Humanly Certifying Superhuman Classifiers" (ICLR 2023); Table 1 and Appendix B for the check. Its
scores are computed as published (`hms`, `oms`); the decision uses the rigorous confidence of `certificate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Any, ClassVar

import numpy as np

from oversight.harness.arrays import NO_LABEL, BoolArray, FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import check_known, check_level, check_unit, paired_proportions
from oversight.harness.panel.betting_test import Tangent, betting_confidence, itself, pool_tangent, root
from oversight.harness.panel.ceiling import Ceiling, ceilings
from oversight.harness.panel.certificate import (
    CEILING_ASSUMPTIONS,
    CEILINGS,
    ITEMS_ARE_DRAWS,
    WHOLE,
    Certainty,
    Evidence,
    Units,
    certify,
    count_units,
    heuristic_score,
    lower_bound,
    optimal_score,
    published_score,
)
from oversight.harness.panel.direct_comparison import DirectPlan, direct_plan, disagreement_rate
from oversight.harness.panel.ratings import Panel, aggregate_votes, agreement_with
from oversight.harness.panel.weighted_units import CLUSTERS_ARE_DRAWS
from oversight.harness.types import Displayable, HtmlTable, Note, NoteKind, ResultWithNotes

LEAST = 1e-6
"""Two-sided level of a bound that need not hold more often than not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumptionCheck:
    """Both assumptions, tested on the items with an oracle label.

    Attributes
    ----------
    right_given_right, right
        P(ℓ_i = ℓ* | ℓ_j = ℓ*) over pairs of different annotators, and P(ℓ_i = ℓ*). Theorem 1
        assumes the first is not below the second; of its bounds U(e) needs it, U(t) does not. A
        fixed panel of unequal skill may fail it although its errors are independent. None without
        an item of two labels.
    model_right, model_repeats, model_wrong
        On items where the aggregate is wrong: P(model = ℓ*), P(model = the aggregate's wrong label), and
        the stricter published comparison P(model = any wrong label). Theorem 3 needs the first to be at
        least the second. None if the aggregate is never wrong.
    wrong_items
        Number of items where the aggregate is wrong (ties count in part).
    units
        Independent units of items in clusters; None if items are independent.
    human_accuracy, model_accuracy, aggregate_accuracy
        Accuracies against the oracle.

    Examples
    --------
    >>> from oversight.harness.example_data import example_panel
    >>> panel = example_panel()
    >>> truth = np.array([0, 1, 0, 0, 0, 1])
    >>> found = assess_superhuman(panel, np.array([0, 1, 0, 1, 0, 1]), oracle=truth)
    >>> found.check.right, found.check.second_holds
    (0.8333333333333334, False)
    """

    oracle_items: int
    right_given_right: float | None
    right: float
    model_right: float | None
    model_repeats: float | None
    model_wrong: float | None
    wrong_items: float
    human_accuracy: float
    model_accuracy: float
    aggregate_accuracy: float
    units: Units | None = None

    @property
    def first_holds(self) -> bool | None:
        """Theorem 1's assumption on these items."""
        return None if self.right_given_right is None else self.right_given_right >= self.right

    @property
    def second_holds(self) -> bool | None:
        """Theorem 3's assumption on these items, in the form that its proof uses."""
        if self.model_right is None or self.model_repeats is None:
            return None
        return self.model_right >= self.model_repeats

    def overstated(self, level: float) -> float:
        """One-sided bound at `level` on how far agreement with the aggregate exceeds the model's accuracy.

        It bounds P(the model repeats an error of the aggregate) − P(it is right where the aggregate is
        wrong), which Theorem 3 assumes to be at most 0, over all items with an oracle label.
        """
        repeats = self.wrong_items * (self.model_repeats or 0.0)
        right = self.wrong_items * (self.model_right or 0.0)
        n = self.oracle_items
        if self.units is not None:
            half = (1 - level) / 2
            return self.units.highest(repeats / n, half) - self.units.lowest(right / n, half)
        return paired_proportions(repeats, right, n, max(0.0, 2 * level - 1) or LEAST)[1]


def check_assumptions(
    votes: IntArray,
    winners: BoolArray,
    predicted: IntArray,
    oracle: IntArray,
    *,
    cluster: IntArray | None = None,
) -> AssumptionCheck:
    """Compute Table 1 on the items with an oracle label.

    Parameters
    ----------
    votes
        Shape (N, K).
    winners
        Shape (N, K): the aggregate (`plurality`); tied classes of an item share its weight.
    predicted, oracle
        Shape (N,); a negative oracle label is unknown, and a negative prediction is unreadable.
    cluster
        Shape (N,): number of the item's cluster, if it has one (`Panel.cluster`).

    Raises
    ------
    EstimateError
        If no oracle label is known.
    """
    known = oracle >= 0
    if not known.any():
        raise EstimateError("no item has an oracle label: the assumptions cannot be looked at")
    v, w, p, o = votes[known], winners[known], predicted[known], oracle[known]
    row = np.arange(len(o))
    m, r = v.sum(axis=1), v[row, o]
    right = float((r / m).mean())
    several = m >= 2
    both = None
    if several.any() and r[several].any():
        n, k = m[several], r[several]
        both = float((k * (k - 1) / (n * (n - 1))).mean() / (k / n).mean())
    weight = w / w.sum(axis=1, keepdims=True)
    wrong, hit = 1 - weight[row, o], p == o
    total = float(wrong.sum())
    repeats = np.where((p >= 0) & ~hit, weight[row, np.maximum(p, 0)], 0.0)
    model_right = float((wrong * hit).sum()) / total if total else None
    return AssumptionCheck(
        oracle_items=len(o),
        right_given_right=both,
        right=right,
        model_right=model_right,
        model_repeats=float(repeats.sum()) / total if total else None,
        model_wrong=None if model_right is None else 1 - model_right,
        wrong_items=total,
        human_accuracy=right,
        model_accuracy=float(hit.mean()),
        aggregate_accuracy=float(1 - wrong.mean()),
        units=None if cluster is None else count_units(cluster[known]),
    )


ASSUMPTION_FREE = ("U_panel", "U_t")
"""Ceilings that need nothing of how annotators err, nor where they come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One assumption of a certificate.

    Attributes
    ----------
    assumed
        The assumption in words that can follow "if".
    unseen
        Why it is not known to hold here.
    refuted_by
        The observation that would show it false.
    """

    assumed: str
    unseen: str
    refuted_by: str


def list_conditions(
    certified: Sequence[str], check: AssumptionCheck | None, level: float, margin: float
) -> tuple[Condition, ...]:
    """List the assumptions that a certificate by these ceilings depends on, the most important first.

    Parameters
    ----------
    margin
        Lower confidence bound of the agreement minus the upper one of the lowest ceiling. Oracle labels
        support the assumption if agreement overstates accuracy by no more than this.
    """
    if not certified:
        return ()
    found = []
    if check is None or check.overstated(level) > max(0.0, margin):
        found.append(
            Condition(
                assumed="the model does not share the annotators' errors: where their aggregate is wrong, it "
                "names the truth at least as often as the aggregate's wrong class",
                unseen=_unseen(check, level, margin),
                refuted_by="an expert's truth on items of which some have a wrong aggregate: there the model "
                "gives the aggregate's wrong class more often than the truth, as one would that copies the "
                "annotators or learned from them",
            )
        )
    if not set(certified) & set(ASSUMPTION_FREE) and (check is None or not check.first_holds):
        found.append(
            Condition(
                assumed="every item's annotators were drawn from the pool that is meant, and one is right "
                "more often where another is",
                unseen="no oracle label was given" if check is None else "the oracle labels cannot tell",
                refuted_by="the way in which annotators were chosen; or an oracle by which an annotator is "
                "right less often where another one is",
            )
        )
    return tuple(found)


def _unseen(check: AssumptionCheck | None, level: float, margin: float) -> str:
    if check is None:
        return "no oracle label was given"
    return (
        f"the {check.oracle_items} items with an oracle label do not contradict it, and are too few: by "
        f"them the agreement may overstate the accuracy by {100 * check.overstated(level):.1f} points at "
        f"{level:.0%}, the margin is {100 * max(0.0, margin):.1f}"
    )


CEILING_NAMES = {
    "U_e": "U(e), pairs of annotators, as published",
    "U_t": "U(t), all pairs, as published",
    "U_star": "U*, annotators from a pool",
    "U_panel": "U(p), these annotators, nothing assumed",
}
"""Names in tables of the upper bounds of the average annotator's accuracy."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Superhuman(ResultWithNotes, Displayable):
    """Bounds, scores and the decision on one model.

    Attributes
    ----------
    L
        Lower bound of the model's accuracy, which is its agreement with the aggregate; `L_low` is its
        one-sided lower confidence bound at `level`.
    U_e, U_t, U_star, U_panel
        Upper bounds of the average annotator's accuracy (`ceiling`).
    hms, oms, oms_exact
        Published scores against U_e, and the optimum of the second; None if L ≤ U_e.
    confidence
        Rigorous confidence that the model beats U_e.
    against
        The same for every ceiling.
    fixed
        Whether the annotators are a fixed group rather than a draw from a pool.
    valid
        Ceilings that may certify (`list_valid_ceilings`), in the order in which they are tested.
    certified
        Valid ceilings that are exceeded with confidence ≥ `level`, up to the first that is not. With a
        fixed order, all tests together keep the level.
    items_needed
        Number of items at which the split test would exceed the first ceiling if L and agreement stayed the
        same; None if no number would do.
    direct
        Cost of the direct comparison by the model's share of wins, if nothing is certified or only under a
        condition.
    conditions
        Untested assumptions of the certificate, the most important first; empty if nothing is certified.
    clusters
        Number of clusters of the N items, which are the independent units of bounds and confidences; None
        if items are independent.
    undefined
        What is withheld for items in clusters → reason.

    Examples
    --------
    >>> found = assess_superhuman_from_counts(L=0.9, U_e=0.8, N=1000, annotators=5, classes=3)
    >>> found.holds, round(found.L_low, 3)
    (False, 0.883)
    """

    L: float
    L_low: float
    U_e: float
    U_t: float
    U_star: float
    U_panel: float
    N: int
    annotators: int
    classes: int
    level: float
    hms: float | None
    oms: float | None
    oms_exact: float | None
    confidence: float
    against: Mapping[str, Certainty]
    fixed: bool
    valid: tuple[str, ...]
    certified: tuple[str, ...]
    items_needed: int | None
    disagreement: float | None
    direct: tuple[DirectPlan, ...]
    check: AssumptionCheck | None
    assumptions: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    notes: tuple[Note, ...] = ()
    clusters: int | None = None
    undefined: Mapping[str, str] = field(default_factory=dict)

    picture: ClassVar[str] = "certificate"

    def __str__(self) -> str:
        """The verdict, and the lower bound that it rests on."""
        bound = f"model = aggregate on {self.L:.4f} of {self.N:,} items, at least {self.L_low:.4f}"
        return f"{self.verdict}\n{bound}"

    def records(self) -> list[dict[str, Any]]:
        """A row a ceiling."""
        return [
            {
                "ceiling": name,
                "bound": c.bound,
                "high": c.high,
                "confidence": c.confidence,
                "valid": name in self.valid,
                "certified": name in self.certified,
                "L": self.L,
                "L_low": self.L_low,
            }
            for name, c in self.against.items()
        ]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """HTML shown in a notebook."""
        marks = dict.fromkeys(self.certified, "certified") | {
            name: "does not hold here" for name in self.against if name not in self.valid
        }
        rows = [
            (
                CEILING_NAMES[name],
                f"{c.bound:.4f}",
                f"{c.high:.4f}",
                f"{c.confidence:.5f}",
                marks.get(name, ""),
            )
            for name, c in self.against.items()
        ]
        at_most = ("the average annotator is at most", "bound", f"at {self.level:.0%}", "confidence", "")
        notes = (*str(self).splitlines()[1:], *([self.why] if self.why else ()), *map(str, self.notes))
        return (HtmlTable(columns=at_most, rows=rows, notes=notes),)

    @property
    def holds(self) -> bool:
        """Whether the verdict holds without an untested assumption."""
        return not self.conditions

    @property
    def why(self) -> str:
        """Why the certificate may be wrong; empty if it holds."""
        if not self.conditions:
            return ""
        named = "; and that ".join(f"{c.assumed} ({c.unseen})" for c in self.conditions)
        return f"it is conditional: it assumes that {named}"

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.certified:
            found = f"better than the average annotator at {self.level:.0%}, by {', '.join(self.certified)}"
            if self.conditions:
                found = f"CONDITIONAL: {found}, only if {' and if '.join(c.assumed for c in self.conditions)}"
            return found
        if self.items_needed is not None:
            shared = "if the model does not share the annotators' errors"
            items = f"{self.items_needed:,} items" + (" in clusters like these" if self.clusters else "")
            return f"not certified; the same margin on {items} would be, {shared}"
        if not self.valid:
            return "not certified: an assumption fails on the oracle labels, and L is no lower bound"
        return f"not certified, and on no number of items would it be: L does not exceed {self.valid[0]}"


def list_valid_ceilings(
    check: AssumptionCheck | None, *, fixed: bool
) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    """Return the ceilings that may certify, and a note for every reason why others may not.

    Fixed annotators are not a draw from a pool, and neither are annotators for whom an oracle refutes
    assumption 1; U_e and U_star are then left out. If an oracle refutes assumption 2, L is not a lower
    bound.
    """
    valid: tuple[str, ...] = ("U_star", "U_e", "U_panel", "U_t")
    notes = []
    if fixed:
        notes.append(Note(NoteKind.FIXED_PANEL))
    if check is not None and check.first_holds is False:
        notes.append(Note(NoteKind.ASSUMPTION_1_FAILS))
    if notes:
        valid = ("U_panel", "U_t")
    if check is not None and check.second_holds is False:
        valid = ()
        notes.append(Note(NoteKind.ASSUMPTION_2_FAILS))
    return valid, tuple(notes)


SUPERHUMAN_TESTS = ("split", "paired")
WIN_SHARES = (0.6, 0.7, 0.8, 0.9)
MOST_ITEMS = 10**7
BY_ITEM_ALONE = {
    **dict.fromkeys(("hms", "oms", "oms_exact"), "the published scores take items as independent"),
    "direct": "the cost of the sign test takes items as independent",
}
"""Results withheld for items in clusters → reason."""


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
    """Certify from published numbers.

    Parameters
    ----------
    L, U_e
        In [0, 1], as published. Counts are recovered by rounding, so give all digits.
    N, annotators, classes
        Number of items, annotators per item (≥ 2) and offered classes (≥ 2).
    disagreement
        P(model ≠ random annotator), if known, for the cost of the direct route.

    Raises
    ------
    EstimateError
        If an argument is out of range; names it.

    Examples
    --------
    >>> found = assess_superhuman_from_counts(L=0.9, U_e=0.8, N=1000, annotators=5, classes=3)
    >>> found.certified
    ('U_star', 'U_e', 'U_panel', 'U_t')
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
    """Certify from individual labels.

    Parameters
    ----------
    panel
        At least two annotators; the number of labels may differ between items. If its items are in
        clusters, these are the independent units of every bound and confidence.
    predicted
        Shape (N,): the model's class of every item, negative if unreadable (agrees with nothing).
    aggregate
        ``"plurality"`` (ties fractional), ``"weighted"`` (give `weights`), ``"dawid-skene"`` (needs the
        extra ``crowd``). A learned aggregate ties items together, so its tail is approximate and flagged.
    oracle
        Shape (N,): the truth if known, otherwise negative; used to test the assumptions.
    pool
        Whether the annotators of an item were drawn from a pool. If so, U_e and U_star hold for the pool's
        average. By default, true unless all items have the same annotators.
    test
        ``"split"`` (`certificate`) or ``"paired"`` (`betting_test`; on items with two or more labels, in an
        order drawn with `seed`). Choose before seeing the results, because the better of the two errs more
        often.

    Raises
    ------
    EstimateError
        If an argument is out of range, a shape wrong, or no item has two labels.

    Examples
    --------
    >>> from oversight.harness.example_data import example_panel
    >>> panel = example_panel()
    >>> found = assess_superhuman(panel, np.array([0, 1, 0, 1, 0, 1]))
    >>> print(found.verdict)
    not certified; the same margin on 53 items would be, if the model does not share the annotators' errors
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
    """Statement of the certificates' assumptions, from agreements and the items' numbers of labels `m`."""
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
    """Confidence against every ceiling by the test of one mean."""
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
    # Tested in a fixed order up to the first failure, so that all of them together keep the level.
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
    """Assumptions on how the items were drawn."""
    if e.clusters is None:
        return ITEMS_ARE_DRAWS
    alike = e.clusters.fullness == 1
    return CLUSTERS_ARE_DRAWS + ("" if alike else ", and none has more items than the largest here")


def items_needed(e: Evidence, level: float, ceiling: str) -> int | None:
    """Smallest number of items (within 1 %) at which the present L and agreement would exceed a ceiling."""
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
    """Return a larger number of clusters with the same sizes."""
    return None if units is None else replace(units, number=max(1, round(units.number * share)))
