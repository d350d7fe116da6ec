"""Compare human and model accuracy on the same items and votes, in bins of the vote's certainty p_d.

Overall "parity" can be caused by uncertain items, on which nobody can score well. For each bin of certainty
this module reports human and model accuracy with intervals, Δ = human − model with a test, and the expected
score of an expert. It also reports precision, recall and F1 of a positive class (`Detection`).

Source: "The Illusion of Human–AI Parity Under Uncertainty" (arXiv 2601.05500). The paper compares raters with
a majority that includes their own vote. Its bins are also computed with this vote. Even if raters and model
behave identically, this scoring shows a human lead of ten points or more in the certain bins. By default this
module leaves the rater's own vote out of the majority and the bins; ``circular=True`` computes the published
form.

Precision, recall and F1 are reported with the expected scores of an expert who gives the majority label with
probability p_d (equations 1, 2, 7–9).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import ceil
from typing import Any, ClassVar

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import (
    FEWEST_EFFECTIVE,
    binomial_at_least,
    check_least,
    check_level,
    check_unit,
    count_effective,
    effective_clusters,
)
from oversight.harness.panel.certainty import EDGES, Judgements, leave_rater_out, split_by_certainty
from oversight.harness.panel.ratings import Panel
from oversight.harness.panel.weighted_units import (
    CLUSTERS_ARE_DRAWS,
    Share,
    WeightedUnits,
    estimate_difference,
    estimate_share,
    explain_few_clusters,
    make_share,
)
from oversight.harness.types import (
    Displayable,
    HtmlTable,
    Note,
    NoteKind,
    ResultWithNotes,
    level_text,
    percent,
    span,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Expected scores of an expert who gives the majority label with probability p_d (`expected_scores`)."""

    accuracy: float
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Precision, recall and F1; a score is None if it is undefined or withheld.

    Attributes
    ----------
    undefined
        Name of a score → reason why it is None.
    """

    precision: Share | None
    recall: Share | None
    f1: Share | None
    undefined: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """Precision, recall and F1 of human and model on the same rows.

    Attributes
    ----------
    positive
        Share of rows whose reference is the positive class, in [0, 1].
    expected
        Expected scores of an expert (`Expected`), computed from the mean certainty and `positive`; None if
        no certainty is measured.
    delta_f1
        F1 of the human minus F1 of the model; None if either F1 is undefined, or if the difference is
        withheld.
    undefined
        ``"delta_f1"`` → reason why `delta_f1` is None; empty if `delta_f1` is given.
    """

    positive: float
    expected: Expected | None
    human: Scores
    model: Scores
    delta_f1: Share | None
    undefined: Mapping[str, str] = field(default_factory=dict)

    @property
    def remarks(self) -> tuple[str, ...]:
        """One sentence per score that is None, with the reason."""
        found = [
            (f"{who}'s {name}", why)
            for who in ("human", "model")
            for name, why in getattr(self, who).undefined.items()
        ]
        found += [("difference of F1", why) for why in self.undefined.values()]
        return tuple(f"no {name}: {why}" for name, why in found)


_ONE = {"precision": ((1, 0, 0), (1, 1, 0)), "recall": ((1, 0, 0), (1, 0, 1)), "f1": ((2, 0, 0), (2, 1, 1))}
"""Score → weights of (TP, FP, FN) in its numerator, and in its denominator."""
_NOTHING = {
    "precision": "the class was given to no item",
    "recall": "no item has the class by vote",
    "f1": "the class was given to no item, and no item has it by vote",
}
_ROWS = np.array(
    [
        [h * true, h * (1 - true), (1 - h) * true, m * true, m * (1 - true), (1 - m) * true]
        for true, h, m in product((0.0, 1.0), repeat=3)
    ]
)
"""All possible contributions of one row to (TP, FP, FN) of the human, followed by those of the model."""


def measure_detection(
    rows: Judgements,
    unit: IntArray,
    target: int,
    *,
    clustered: bool,
    size: float,
    level: float,
    bootstrap: int,
    seed: int,
    p_d: float | None,
) -> Detection:
    """Estimate precision, recall and F1 of class `target`, with intervals from randomly weighted units.

    Parameters
    ----------
    unit
        Shape (rows,): index (0..k−1) of the row's independent unit, which is its item or cluster.
    target
        Position of the positive class.
    clustered
        Whether units are clusters of items.
    size
        Number of rows of the invented unit (`_bin`).
    bootstrap
        Number of draws of random weights.
    p_d
        Mean certainty of the rows; None if no certainty is measured.
    """
    reference = rows.reference[:, target]
    sums: FloatArray = np.stack(
        [
            np.bincount(unit, weights=w)
            for said in (rows.human == target, rows.model == target)
            for w in (said * reference, said * (1 - reference), ~said * reference)
        ],
        axis=1,
    )
    estimate = partial(
        _estimate,
        sums,
        WeightedUnits.draw(sums, bootstrap, seed),
        clustered=clustered,
        size=size,
        seen=len(unit) / len(sums),
        level=level,
    )

    def make_scores(who: int) -> Scores:
        made = {name: estimate([(who, name)], _NOTHING[name]) for name in _ONE}
        found = {name: share for name, share in made.items() if isinstance(share, Share)}
        undefined = {name: why for name, why in made.items() if isinstance(why, str)}
        return Scores(**{name: found.get(name) for name in _ONE}, undefined=undefined)

    delta = estimate([(0, "f1"), (1, "f1")], _NOTHING["f1"])
    positive = float(reference.mean())
    return Detection(
        positive=positive,
        expected=None if p_d is None else expected_scores(p_d, positive),
        human=make_scores(0),
        model=make_scores(1),
        delta_f1=None if isinstance(delta, str) else delta,
        undefined={"delta_f1": delta} if isinstance(delta, str) else {},
    )


def _estimate(
    sums: FloatArray,
    weighted: WeightedUnits,
    parts: list[tuple[int, str]],
    nothing: str,
    *,
    clustered: bool,
    size: float,
    seen: float,
    level: float,
) -> Share | str:
    """Return a score, or the difference of two scores, with its interval; or the reason why it is undefined.

    Parameters
    ----------
    parts
        For one score, a list with one pair: 0 for the human or 1 for the model, and the name of the score.
        For a difference, a list with two pairs.
    nothing
        Reason to return if the score's denominator is 0.
    size, seen
        Number of rows of the invented unit (`_bin`), and mean number of rows per independent unit in the bin.
    """
    over, under = np.zeros((2, len(parts), 6))
    for j, (who, name) in enumerate(parts):
        over[j, 3 * who : 3 * who + 3], under[j, 3 * who : 3 * who + 3] = _ONE[name]

    def score(of: FloatArray) -> FloatArray:
        ratios = (of @ over.T) / (of @ under.T)
        return ratios[..., 0] - ratios[..., 1] if len(parts) == 2 else ratios[..., 0]

    if (weighted.total @ under.T == 0).any():
        return nothing
    effective = None
    if clustered:
        counted = sums @ (under > 0).any(axis=0)
        size, effective = size * float(counted[counted > 0].mean()) / seen, count_effective(counted)
        if effective < FEWEST_EFFECTIVE:
            return (
                f"the rows it counts are worth {effective:.1f} clusters of equal size; an interval "
                f"needs at least {FEWEST_EFFECTIVE:g}"
            )
    return make_share(weighted, score, size * _ROWS, level=level, effective=effective)


def expected_scores(p_d: float, positive: float) -> Expected:
    """Return the scores that are expected of an expert who gives the majority label with probability `p_d`.

    With p = `p_d` and m = `positive`, accuracy and recall are p, precision is m p/(m p + (1 − m)(1 − p)), and
    F1 follows from precision and recall.

    Parameters
    ----------
    p_d
        Probability of the majority label, in [0, 1].
    positive
        Share of positive items, in [0, 1].

    Raises
    ------
    EstimateError
        If an argument lies outside [0, 1].

    Examples
    --------
    >>> round(expected_scores(0.9, 0.01).f1, 4)
    0.1525
    """
    check_unit("p_d", p_d)
    check_unit("positive", positive)
    found = positive * p_d
    claimed = found + (1 - positive) * (1 - p_d)
    precision = found / claimed if claimed > 0 else 0.0
    f1 = 2 * precision * p_d / (precision + p_d) if precision + p_d > 0 else 0.0
    return Expected(accuracy=p_d, precision=precision, recall=p_d, f1=f1)


def probability_at_least(p_d: float, n: int, threshold: float = 0.8) -> float:
    """Return P(accuracy on n items ≥ threshold) = P(Bin(n, p_d) ≥ ⌈threshold · n⌉).

    Raises
    ------
    EstimateError
        If n < 1, or p_d or the threshold lies outside [0, 1].
    """
    check_least("n", n, 1)
    check_unit("p_d", p_d)
    check_unit("threshold", threshold)
    return binomial_at_least(ceil(threshold * n - 1e-9), n, p_d)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityBin(ResultWithNotes):
    """Results in one bin of the vote's certainty.

    Attributes
    ----------
    items, judgements
        Number of items, and number of rows (one per item and rater).
    clusters
        Number of clusters of these items; every interval and test treats the clusters as independent. None if
        items are independent.
    p_d
        Mean certainty over the rows, which is the expected accuracy of an expert who gives the majority label
        with this probability. Rows that are compared with a single vote have no certainty; None if all are.
    at_least_80
        Probability that an expert with accuracy p_d scores at least 80 % on the items with a certainty; None
        if p_d is None, and for items in clusters, because it assumes independent items.
    human, model
        Accuracy against the reference, on the same rows.
    delta, p_value
        Human accuracy minus model accuracy on the same items, and the two-sided p-value of "no difference".
    detection
        Precision, recall and F1 of the positive class; None if no positive class was given.
    notes
        ``NoteKind.FEW_ITEMS`` below 30 items, or ``NoteKind.FEW_CLUSTERS`` below 30 clusters.
        ``NoteKind.SINGLE_VOTE`` if rows without certainty are in no bin.
    """

    name: str
    items: int
    judgements: int
    p_d: float | None
    at_least_80: float | None
    human: Share
    model: Share
    delta: Share
    p_value: float
    detection: Detection | None
    notes: tuple[Note, ...]
    clusters: int | None = None

    @property
    def doubts(self) -> tuple[str, ...]:
        """Sentences with the reasons why intervals may not be valid, and why scores are None."""
        shares = (self.human, self.model, self.delta)
        found = dict.fromkeys(f"the intervals may not hold: {s.why}" for s in shares if s.why)
        return (*found, *(() if self.detection is None else self.detection.remarks))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Parity(Displayable):
    """Comparison of human and model in every bin of certainty, and over all items.

    Attributes
    ----------
    stratify
        Whether the accuracy of human or model over all items is below 80 %. Then the comparison within bins
        counts, because the comparison over all items can mislead. False if there are no bins.
    method
        ``"leave-one-out"``, ``"separate voters"`` or ``"circular"``.
    guessing
        Accuracy of guessing a class uniformly.
    clusters, assumptions
        Number of clusters (None if items are independent), and the assumptions about clusters that the
        intervals need.
    undefined
        Name of a result → reason why it is withheld, if items are in clusters or no certainty is measured.

    Examples
    --------
    >>> from oversight.harness.example_data import example_panel
    >>> panel = example_panel()
    >>> found = measure_parity(panel, np.array([0, 1, 0, 1, 0, 1]), bootstrap=100)
    >>> found.method, found.stratify
    ('leave-one-out', True)
    """

    overall: ParityBin
    bins: tuple[ParityBin, ...]
    stratify: bool
    method: str
    level: float
    guessing: float
    humans: tuple[str, ...]
    voters: tuple[str, ...]
    clusters: int | None = None
    assumptions: tuple[str, ...] = ()
    undefined: Mapping[str, str] = field(default_factory=dict)

    picture: ClassVar[str] = "parity"

    def __str__(self) -> str:
        """Return a sentence on whether human or model is closer to the vote overall, and by how much."""
        delta = self.overall.delta
        verdict = "human and model cannot be told apart"
        if delta.low > 0 or delta.high < 0:
            verdict = f"{'the human' if delta.low > 0 else 'the model'} is closer to the vote"
        low, high = (f"{100 * end:+.1f}" for end in (delta.low, delta.high))
        return (
            f"{'' if delta.holds else '(!) '}{verdict}: human − model {100 * delta.value:+.1f} points "
            f"[{low}, {high}], {level_text(self.level)} · {self.overall.items:,} items"
            + "\nhuman or model is below 80 %: compare them within bins, not in total"
            * self.stratify
        )

    def records(self) -> list[dict[str, Any]]:
        """Return one row per bin, then one row for all items."""
        return [
            {"bin": b.name, "items": b.items, "judgements": b.judgements, "p_d": b.p_d}
            | {
                f"{who}{end}": getattr(getattr(b, who), end.removeprefix("_") or "value")
                for who in ("human", "model", "delta")
                for end in ("", "_low", "_high")
            }
            | {"p_value": b.p_value, "holds": b.delta.holds, "flags": ", ".join(b.flags)}
            for b in (*self.bins, self.overall)
        ]

    def html_tables(self) -> tuple[HtmlTable, ...]:
        """Return the tables that a notebook shows."""
        rows = [
            (
                b.name,
                f"{b.items:,}",
                "–" if b.p_d is None else percent(b.p_d),
                *map(_share_text, (b.human, b.model, b.delta)),
                f"{b.p_value:.2g}",
            )
            for b in (*self.bins, self.overall)
        ]
        noted = [f"{b.name}: {note}" for b in (*self.bins, self.overall) for note in (*b.notes, *b.doubts)]
        rule = "human or model is below 80 % over all items: compare them within bins, not over all items"
        return (
            HtmlTable(
                title=f"Agreement with the majority vote of annotators ({self.method}), with "
                f"{level_text(self.level)} confidence intervals",
                columns=("vote", "items", "expected", "human", "model", "human − model", "p"),
                rows=rows,
                notes=(*([rule] if self.stratify else ()), *noted, *self.assumptions),
            ),
        )


def _share_text(share: Share) -> str:
    return f"{percent(share.value)} [{span(share.low, share.high)}]" + ("" if share.holds else " (!)")


FEW = 30
"""Number of items below which 80 % accuracy in a bin can be chance: with 30 items, P is 2 % at p_d = 0.6."""
BY_ITEM_ALONE = {"at_least_80": "the chance of 80 % or more takes items as independent"}
"""Name of each result that is withheld for items in clusters → reason."""
_ONE_VOTE = "every choice is compared with one other vote, whose certainty cannot be measured"
BY_CERTAINTY = dict.fromkeys(("p_d", "at_least_80", "bins"), _ONE_VOTE)
"""Name of each result that is withheld if no certainty is measured → reason."""
RULE = 0.8


def measure_parity(
    panel: Panel,
    predicted: IntArray,
    *,
    humans: Sequence[str] | None = None,
    voters: Sequence[str] | None = None,
    circular: bool = False,
    edges: tuple[float, ...] = EDGES,
    positive: str | None = None,
    level: float = 0.95,
    bootstrap: int = 1000,
    seed: int = 0,
) -> Parity:
    """Compare the accuracy of humans and the model within bins of the vote's certainty.

    Parameters
    ----------
    panel
        Panel of at least two annotators. If its items are in clusters, clusters are the independent units
        of every interval and test.
    predicted
        Shape (N,): the model's class; negative if its answer is unreadable, which counts as wrong.
    humans, voters
        Annotators who are judged, and annotators whose votes form the reference; both default to all
        annotators. The vote of an annotator in both groups is left out of the reference for this annotator.
    circular
        Whether the reference includes the judged annotator's own vote, as in the paper.
    edges
        Edges of the bins of certainty: (…, edges[0]], (edges[0], edges[1]], …
    positive
        Class for precision, recall and F1.
    bootstrap, seed
        Number of draws of random weights (at least 1) for the intervals of precision, recall and F1, and
        seed of all draws. Intervals of accuracies always use 2,000 draws.

    Raises
    ------
    EstimateError
        If a name or class is unknown, there is only one annotator, or no item has two voters.

    Examples
    --------
    >>> from oversight.harness.example_data import example_panel
    >>> panel = example_panel()
    >>> found = measure_parity(panel, np.array([0, 1, 0, 1, 0, 1]), bootstrap=100)
    >>> print(found)
    human and model cannot be told apart: human − model -11.1 points [-54.8, +38.2], 95% · 6 items
    human or model is below 80 %: compare them within bins, not in total
    """
    check_level(level)
    _check(panel, predicted, positive)
    judged = tuple(humans or panel.annotators)
    voting, guessing = tuple(voters or panel.annotators), 1 / panel.K
    if positive is None:
        panel, (predicted,) = panel.numbered_within_items(predicted)
    rows = leave_rater_out(
        panel, predicted, judged=panel.positions(judged), voters=panel.positions(voting), circular=circular
    )
    target = None if positive is None else panel.classes.index(positive)
    units = effective_clusters(rows.item) if panel.cluster is None else len(np.unique(panel.unit[rows.item]))
    made = partial(
        _bin,
        cluster=panel.cluster,
        size=len(rows.item) / units,
        level=level,
        target=target,
        bootstrap=bootstrap,
        seed=seed,
    )
    bins = split_by_certainty(rows.p_d, edges)
    overall = made("all", rows)
    separate = not set(judged) & set(voting)
    return Parity(
        overall=overall,
        bins=tuple(made(name, rows.select(within)) for name, within in bins.items()),
        stratify=bool(bins) and min(overall.human.value, overall.model.value) < RULE,
        method="circular" if circular else "separate voters" if separate else "leave-one-out",
        level=level,
        guessing=guessing,
        humans=judged,
        voters=voting,
        clusters=overall.clusters,
        assumptions=(CLUSTERS_ARE_DRAWS,) if overall.clusters else (),
        undefined=BY_CERTAINTY if overall.p_d is None else BY_ITEM_ALONE if overall.clusters else {},
    )


def _check(panel: Panel, predicted: IntArray, positive: str | None) -> None:
    if len(panel.annotators) < 2:
        raise EstimateError(f"parity needs at least 2 annotators, there is 1: {panel.annotators[0]!r}")
    if predicted.shape != (len(panel.items),):
        raise EstimateError(f"predicted must have shape ({len(panel.items)},), has {predicted.shape}")
    if positive is not None and positive not in panel.classes:
        raise EstimateError(f"positive must be one of {', '.join(panel.classes)}, is {positive!r}")


def _bin(
    name: str,
    rows: Judgements,
    *,
    cluster: IntArray | None,
    size: float,
    level: float,
    target: int | None,
    bootstrap: int,
    seed: int,
) -> ParityBin:
    """Compare human and model in one bin of certainty.

    Each interval adds one invented unit of `size` rows to the sample. `size` is the same for all bins,
    because one bin can contain only some rows of a unit. For clusters, it is their mean number of rows, and
    unequal clusters widen the tails instead. For items, it is the mean over all rows of the number of rows
    of the row's item, so items with many ratings count more.
    """
    human, model = rows.right(rows.human), rows.right(rows.model)
    _, unit = np.unique(rows.item if cluster is None else cluster[rows.item], return_inverse=True)
    counts = np.bincount(unit).astype(np.float64)
    effective = None if cluster is None else effective_clusters(unit)
    why = "" if cluster is None else explain_few_clusters(unit)
    delta, p_value = estimate_difference(
        np.bincount(unit, human - model).astype(np.float64),
        counts,
        level,
        size=size,
        effective=effective,
        why=why,
    )
    p_d, at_least_80 = _expect(rows)

    def share(right: FloatArray) -> Share:
        sums = np.bincount(unit, right).astype(np.float64)
        return estimate_share(sums, counts, level, size=size, effective=effective, seed=seed, why=why)

    clusters = None if cluster is None else len(counts)
    detected = None
    if target is not None:
        detected = measure_detection(
            rows,
            unit,
            target,
            clustered=cluster is not None,
            size=size,
            level=level,
            bootstrap=bootstrap,
            seed=seed,
            p_d=p_d,
        )
    return ParityBin(
        name=name,
        items=len(np.unique(rows.item)),
        judgements=len(unit),
        p_d=p_d,
        at_least_80=at_least_80 if cluster is None else None,
        human=share(human),
        model=share(model),
        delta=delta,
        p_value=p_value,
        detection=detected,
        notes=_note(rows, len(counts), clustered=cluster is not None),
        clusters=clusters,
    )


def _expect(rows: Judgements) -> tuple[float | None, float | None]:
    """Return the mean certainty p_d, and `ParityBin.at_least_80`; None if no row has a certainty."""
    known = rows.select(~np.isnan(rows.p_d))
    if not known.p_d.size:
        return None, None
    p_d = float(known.p_d.mean())
    return p_d, probability_at_least(p_d, len(np.unique(known.item)))


def _note(rows: Judgements, units: int, *, clustered: bool) -> tuple[Note, ...]:
    few = NoteKind.FEW_CLUSTERS if clustered else NoteKind.FEW_ITEMS
    notes = (Note(few),) if units < FEW else ()
    single = int(np.isnan(rows.p_d).sum())
    counts = {"single": single, "of": len(rows.p_d)}
    return (*notes, Note(NoteKind.SINGLE_VOTE, counts)) if single else notes
