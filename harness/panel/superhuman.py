"""Certify, without ground truth, that a model is better than the average annotator.

A model's agreement with an aggregate of the annotators is a lower bound of its accuracy only if the model
does not share the aggregate's errors. The annotators' labels cannot show whether the model shares errors: a
model that copies the annotators' plurality agrees with it on every item, but is not more often right. Only
ground truth on items on which the aggregate is wrong can show whether the model shares its errors
(`check_assumptions`). A certificate lists its untested assumptions (`Condition`).

Source: "Humanly Certifying Superhuman Classifiers" (ICLR 2023); Table 1 and Appendix B for the check. The
paper's scores are computed as published (`hms`, `oms`), but the decision uses the valid confidence of the
module `certificate`.
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
from oversight.harness.types import (
    Displayable,
    HtmlTable,
    Note,
    NoteKind,
    ResultWithNotes,
    level_text,
    percent,
)

LEAST = 1e-6
"""Two-sided level of the interval in `AssumptionCheck.overstated` if the one-sided level is at most ½."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumptionCheck:
    """Both assumptions of the certificate, tested on the items with an oracle label.

    Attributes
    ----------
    oracle_items
        Number of items with an oracle label.
    right_given_right, right
        P(ℓ_i = ℓ* | ℓ_j = ℓ*) over pairs of different annotators i and j, and P(ℓ_i = ℓ*), where ℓ_i is
        annotator i's label of an item, and ℓ* is the oracle label. Theorem 1 assumes that `right_given_right`
        ≥ `right`; its bound U(e) needs this assumption, its bound U(t) does not. A fixed panel of annotators
        with unequal skill can violate the assumption although their errors are independent.
        `right_given_right` is None if no item has two labels.
    model_right, model_repeats, model_wrong
        On items on which the aggregate is wrong: P(model = ℓ*), P(model = the aggregate's wrong label), and
        P(model = any wrong label). The paper compares `model_right` with `model_wrong`. Theorem 3 needs
        `model_right` ≥ `model_repeats`. None if the aggregate is never wrong.
    wrong_items
        Number of items where the aggregate is wrong; a tie counts with the share of its wrong classes.
    human_accuracy, model_accuracy, aggregate_accuracy
        Accuracies against the oracle.
    units
        Independent units if items are in clusters; None if items are independent.

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
        """Whether assumption 1 (Theorem 1) holds on the items with oracle labels; None if untested."""
        return None if self.right_given_right is None else self.right_given_right >= self.right

    @property
    def second_holds(self) -> bool | None:
        """Whether `model_right` ≥ `model_repeats`, as Theorem 3's proof needs; None if one is unknown."""
        if self.model_right is None or self.model_repeats is None:
            return None
        return self.model_right >= self.model_repeats

    def overstated(self, level: float) -> float:
        """Return an upper confidence bound on the model's agreement with the aggregate minus its accuracy.

        This difference is P(the model repeats an error of the aggregate) − P(the model is right and the
        aggregate is wrong), over all items with an oracle label. Theorem 3 assumes that it is at most 0. The
        bound is one-sided at `level`.
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
    """Test both assumptions of a certificate on the items with an oracle label, as in Table 1 of the paper.

    Parameters
    ----------
    votes
        Shape (N, K): number of annotators who gave the item each class.
    winners
        Shape (N, K): classes that the aggregate chooses (`plurality`); tied classes share the item's weight.
    predicted, oracle
        Shape (N,): classes. A negative oracle label is unknown, and a negative prediction is unreadable.
    cluster
        Shape (N,): index of the item's cluster (`Panel.cluster`); None if items are independent.

    Raises
    ------
    EstimateError
        If no oracle label is known.
    """
    known = oracle >= 0
    if not known.any():
        raise EstimateError("no item with 2 labels has an oracle label, so the assumptions cannot be checked")
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
"""Ceilings that assume nothing on the annotators' errors or on how annotators were chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One assumption of a certificate.

    Attributes
    ----------
    assumed
        The assumption, worded to follow "if".
    unseen
        Reason why the assumption is not known to hold here.
    refuted_by
        Observation that would refute the assumption.
    """

    assumed: str
    unseen: str
    refuted_by: str


def list_conditions(
    certified: Sequence[str], check: AssumptionCheck | None, level: float, margin: float
) -> tuple[Condition, ...]:
    """List the untested assumptions of a certificate, the most important first.

    Parameters
    ----------
    certified
        Names of the ceilings that the certificate uses.
    check
        Test of the assumptions on oracle labels; None without oracle labels.
    margin
        Lower confidence bound of the model's agreement with the aggregate, minus the upper confidence bound
        of the lowest ceiling. The certificate stays valid if shared errors raise this agreement above the
        model's accuracy by at most `margin`. Oracle labels can test this condition.
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
                refuted_by="an expert's truth on items with a wrong aggregate, if on these the model "
                "gives the aggregate's wrong class more often than the truth; a model that copies the "
                "annotators, or learned from them, does this",
            )
        )
    if not set(certified) & set(ASSUMPTION_FREE) and (check is None or not check.first_holds):
        found.append(
            Condition(
                assumed="every item's annotators were drawn from one pool, and an annotator is right more "
                "often on items where another annotator is right",
                unseen="no oracle label was given" if check is None else "the oracle labels cannot tell",
                refuted_by="annotators who were not drawn from a pool; or oracle labels by which an "
                "annotator is right less often on items where another annotator is right",
            )
        )
    return tuple(found)


def _unseen(check: AssumptionCheck | None, level: float, margin: float) -> str:
    if check is None:
        return "no oracle label was given"
    return (
        f"the {check.oracle_items} items with an oracle label do not contradict it, but are too few: "
        f"agreement may overstate accuracy by up to {100 * check.overstated(level):.1f} points (at "
        f"{level_text(level)}), and the margin is only {100 * max(0.0, margin):.1f} points"
    )


CEILING_NAMES = {
    "U_e": "U(e), pairs of annotators, as published",
    "U_t": "U(t), all pairs, as published",
    "U_star": "U*, annotators from a pool",
    "U_panel": "U(p), these annotators, nothing assumed",
}
"""Ceiling (upper bound of the average annotator's accuracy) → its name in tables."""


def sign_of(ceiling: str) -> str:
    """Return the symbol of a ceiling, with which its name in tables begins.

    >>> sign_of("U_panel")
    'U(p)'
    """
    return CEILING_NAMES[ceiling].split(",")[0]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Superhuman(ResultWithNotes, Displayable):
    """Whether one model is better than the average annotator, with the bounds and scores that decide it.

    Attributes
    ----------
    L
        The model's agreement with the aggregate, which is a lower bound of its accuracy; `L_low` is the
        one-sided lower confidence bound of `L` at `level`.
    U_e, U_t, U_star, U_panel
        Upper bounds (ceilings) of the average annotator's accuracy (see the module `ceiling`).
    N, annotators, classes
        Number of items, annotators per item (0 if it varies) and classes.
    hms, oms, oms_exact
        The published scores HMS and OMS of the model against U_e, and OMS at its true optimum (`oms_exact`).
        All are None if L ≤ U_e.
    confidence
        Valid confidence that the model beats U_e, in [0, 1).
    against
        Ceiling → confidence that the model beats it.
    fixed
        Whether the annotators are a fixed group, not drawn from a pool.
    valid
        Ceilings that a certificate can use (`list_valid_ceilings`), in the order in which they are tested.
    certified
        Valid ceilings that `L` exceeds with confidence ≥ `level`. They are tested in the order of `valid`, up
        to the first that is not exceeded. This order is chosen in advance, so `level` holds for all tests
        together.
    items_needed
        Number of items with which the split test would certify against the first valid ceiling if L and the
        agreement stayed the same; N if the model is certified. None if no number of items up to `MOST_ITEMS`
        suffices, or no ceiling is valid.
    disagreement
        P(model ≠ random annotator); None if unknown.
    direct
        Cost of the direct comparison for several shares of wins; empty for a certificate without conditions,
        for clusters of items, and if `disagreement` is None or 0.
    check
        Test of the assumptions on oracle labels; None without oracle labels.
    conditions
        Untested assumptions of the certificate, the most important first; empty if nothing is certified.
    clusters
        Number of clusters of the N items; bounds and confidences treat the clusters as independent. None if
        items are independent.
    undefined
        Name of a result → reason why it is withheld, if items are in clusters.

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
        """Return the verdict, and the lower bound of the model's accuracy that supports it."""
        bound = (
            f"model = aggregate on {percent(self.L)} of {self.N:,} items; lower bound {percent(self.L_low)}"
        )
        return f"{self.verdict}\n{bound}"

    def records(self) -> list[dict[str, Any]]:
        """Return one row per upper bound of the people's accuracy."""
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
        """Return the tables that a notebook shows."""
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
        at_most = (
            "the average annotator is at most",
            "bound",
            f"at {level_text(self.level)}",
            "confidence",
            "",
        )
        notes = (*str(self).splitlines()[1:], *([self.why] if self.why else ()), *map(str, self.notes))
        return (HtmlTable(columns=at_most, rows=rows, notes=notes),)

    @property
    def holds(self) -> bool:
        """Whether the verdict holds without an untested assumption."""
        return not self.conditions

    @property
    def why(self) -> str:
        """Sentence that names the untested assumptions of the certificate; empty if none exists."""
        if not self.conditions:
            return ""
        named = "; and that ".join(f"{c.assumed} ({c.unseen})" for c in self.conditions)
        return f"it is conditional: it assumes that {named}"

    @property
    def verdict(self) -> str:
        """Sentence on whether the model is certified.

        For a certified model, the sentence names the conditions. Otherwise, it says how many items would be
        needed.
        """
        if self.certified:
            signs = ", ".join(sign_of(ceiling) for ceiling in self.certified)
            found = f"better than the average annotator at {level_text(self.level)}, by {signs}"
            if self.conditions:
                found = f"CONDITIONAL: {found}, only if {' and if '.join(c.assumed for c in self.conditions)}"
            return found
        if self.items_needed is not None:
            shared = "if the model does not share the annotators' errors"
            items = f"{self.items_needed:,} items" + (" in clusters like these" if self.clusters else "")
            return f"not certified; {items} with this margin would suffice, {shared}"
        if not self.valid:
            return "not certified: an assumption fails on the oracle labels, and L is no lower bound"
        ceiling = sign_of(self.valid[0])
        return f"not certified, and more items would not help: L does not exceed {ceiling}"


def list_valid_ceilings(
    check: AssumptionCheck | None, *, fixed: bool
) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    """Return the ceilings that a certificate can use, and notes with the reasons against the other ceilings.

    U_e and U_star are left out if the annotators are fixed instead of drawn from a pool, or if oracle labels
    refute the method's assumption 1. No ceiling is valid if oracle labels refute assumption 2, because the
    model's agreement with the aggregate, L, is then not a lower bound of its accuracy.
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
    **dict.fromkeys(("hms", "oms", "oms_exact"), "the published scores need independent items"),
    "direct": "the cost of the sign test is computed for independent items",
}
"""Name of each result that is withheld for items in clusters → reason."""


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
    """Decide from published numbers whether a model is better than the average annotator.

    Parameters
    ----------
    L, U_e
        The model's agreement with the aggregate, and the ceiling U(e), as published; in [0, 1]. Counts are
        recovered from them by rounding, so give all digits.
    N, annotators, classes
        Number of items, annotators per item (≥ 2) and offered classes (≥ 2).
    disagreement
        P(model ≠ random annotator) if known; used for the cost of the direct comparison.

    Raises
    ------
    EstimateError
        If an argument is out of range; the message names it.

    Examples
    --------
    >>> found = assess_superhuman_from_counts(L=0.9, U_e=0.8, N=1000, annotators=5, classes=3)
    >>> found.certified
    ('U_star', 'U_e', 'U_panel', 'U_t')
    """
    check_unit("U_e", U_e)
    if annotators < 2:
        raise EstimateError(
            f"annotators must be at least 2, is {annotators}: one annotator has nobody to agree with"
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
    """Decide from individual labels whether a model is better than the average annotator.

    Parameters
    ----------
    panel
        Panel of at least two annotators; the number of labels may differ between items. Items with a single
        label are left out. If items are in clusters, clusters are the independent units of every bound and
        confidence.
    predicted
        Shape (N,): the model's class of every item; negative for an unreadable answer, which counts as
        different from the aggregate.
    aggregate
        ``"plurality"`` (tied classes share an item's weight), ``"weighted"`` (needs `weights`), or
        ``"dawid-skene"`` (needs the extra ``crowd``). Dawid–Skene makes items dependent, so its confidence
        is approximate and gets a note.
    weights
        Annotator → weight ≥ 0, for the aggregate ``"weighted"``.
    oracle
        Shape (N,): the truth if known, otherwise negative; used to test the assumptions.
    pool
        Whether the annotators of an item were drawn from a pool. If so, the ceilings U_e and U_star hold for
        the pool's average annotator. The default is false if at least one item was rated by all annotators,
        otherwise true.
    test
        ``"split"`` (module `certificate`) or ``"paired"`` (module `betting_test`, in an order drawn with
        `seed`). Choose the test before seeing results, because the better of
        two results is wrong more often than the result of one test.

    Raises
    ------
    EstimateError
        If an argument is out of range, a shape is wrong, or no item has two labels.

    Examples
    --------
    >>> from oversight.harness.example_data import example_panel
    >>> panel = example_panel()
    >>> found = assess_superhuman(panel, np.array([0, 1, 0, 1, 0, 1]))
    >>> print(found.verdict)
    not certified; 53 items with this margin would suffice, if the model does not share the annotators' errors
    """
    if len(panel.annotators) < 2:
        raise EstimateError(f"annotators must be at least 2; the only one is {panel.annotators[0]!r}")
    if predicted.shape != (len(panel.items),):
        raise EstimateError(f"predicted must have shape ({len(panel.items)},), has {predicted.shape}")
    C = panel.K
    if aggregate != "dawid-skene":  # Dawid and Skene's model needs the same classes in all items
        unknown = np.full(len(panel.items), NO_LABEL)
        panel, (predicted, true) = panel.numbered_within_items(
            predicted, unknown if oracle is None else oracle
        )
        oracle = None if oracle is None else true
    votes = panel.votes()
    winners = aggregate_votes(panel, aggregate, weights)
    bounds = ceilings(votes, C)
    check_known("test", test, SUPERHUMAN_TESTS)
    check_level(level)
    notes = []
    # Items with one label may be easier than the others, so L and the ceilings must be about the same items.
    kept = votes.sum(axis=1) >= 2
    if not kept.all():
        notes.append(Note(NoteKind.SINGLE_LABEL_ITEMS, {"items": int((~kept).sum())}))
    votes, winners, predicted = votes[kept], winners[kept], predicted[kept]
    unit, cluster = panel.unit[kept], None if panel.cluster is None else panel.cluster[kept]
    hits, m = agreement_with(winners, predicted), votes.sum(axis=1)
    evidence = _gather(hits, bounds, m, C, None if cluster is None else count_units(unit))
    against = certify(evidence, level=level)
    if test == "paired":
        test_one = partial(betting_confidence, hits, seed=seed, level=level, unit=unit)
        against = _paired(against, bounds, C, test_one)
    if aggregate == "dawid-skene":
        notes.append(Note(NoteKind.LEARNED_AGGREGATE))
    # Labels may be missing, so one item with labels of all annotators is enough to recognise a fixed panel.
    rated = np.unique(panel.annotator[kept[panel.item]])
    fixed = bool((m == len(rated)).any()) if pool is None else not pool
    check = None
    if oracle is not None:
        check = check_assumptions(votes, winners, predicted, oracle[kept], cluster=cluster)
    rate = disagreement_rate(votes, predicted)
    return _decide(evidence, against, level, rate, check, tuple(notes), fixed=fixed)


def _gather(hits: FloatArray, bounds: Ceiling, m: IntArray, C: int, clusters: Units | None) -> Evidence:
    """Collect the counts and means that `certify` needs; `m` is the number of labels per item, shape (N,)."""
    return Evidence(
        L=float(hits.mean()),
        x=float(bounds.pairs.mean()),
        N=len(hits),
        m=int(m[0]) if (m == m[0]).all() else 0,
        C=C,
        whole=bool((np.abs(hits - np.round(hits)) < WHOLE).all()),
        x_t=float(bounds.pairs_t.mean()),
        largest=bounds.U_panel,
        clusters=clusters,
    )


def _paired(
    against: Mapping[str, Certainty], bounds: Ceiling, C: int, test: Callable[[FloatArray, Tangent], float]
) -> dict[str, Certainty]:
    """Return ceiling → confidence that the model beats this ceiling, by the paired betting test."""
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
    # The tests have a joint level, because they have a fixed order and stop at the first failure.
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
    """Return the assumption on how the items were drawn."""
    if e.clusters is None:
        return ITEMS_ARE_DRAWS
    alike = e.clusters.fullness == 1
    return CLUSTERS_ARE_DRAWS + ("" if alike else ", and none has more items than the largest here")


def items_needed(e: Evidence, level: float, ceiling: str) -> int | None:
    """Return how many items a certificate would need if all agreement stayed the same.

    This includes L, the model's agreement with the aggregate, and the annotators' agreement. The result
    exceeds the smallest sufficient number by at most about 1 %. It is None if L does not exceed the ceiling,
    or if more than `MOST_ITEMS` items would be needed.
    """
    if certify(e, (ceiling,))[ceiling].bound >= e.L:
        return None

    def enough(n: int) -> bool:
        share = n / e.N
        grown = replace(e, N=n, clusters=_scale(e.clusters, share))
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
    """Multiply the number of clusters by `share`; the distribution of their sizes stays the same."""
    return None if units is None else replace(units, number=max(1, round(units.number * share)))
