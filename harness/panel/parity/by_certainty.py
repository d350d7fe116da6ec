"""Human and model where the truth is a vote: by certainty, each on the same items, by the same votes.

Overall "parity" can be an effect of uncertain items, on which nobody can score. In each bin of
certainty: human and model accuracy with intervals, Δ = human − model with a test, and what an expert
could be expected to score. Precision, recall and F1 of a positive class likewise (`detection`).

Source: "The Illusion of Human–AI Parity Under Uncertainty" (arXiv 2601.05500). There, raters are scored
by a majority that includes them, in bins of their own agreement: with identical raters and model
that shows a human lead of ten points and more in the certain bins. The default here leaves the rater out of
both (`certainty`); the published way is an option.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from oversight.harness.arrays import FloatArray, IntArray
from oversight.harness.errors import EstimateError
from oversight.harness.estimate import check_level, effective_clusters
from oversight.harness.panel.parity.certainty_bins import Parity, ParityBin
from oversight.harness.panel.parity.clustered_shares import Share, estimate_difference, estimate_share
from oversight.harness.panel.parity.detection import measure_detection, probability_at_least
from oversight.harness.panel.ratings import (
    CLUSTERS_ARE_DRAWS,
    EDGES,
    Judgements,
    Panel,
    explain_few_clusters,
    leave_rater_out,
    split_by_certainty,
)
from oversight.harness.types import Note, NoteKind

FEW = 30
"""Below so many items a bin's accuracy of 80 % can be chance (the source: 2 % at p_d = .6)."""
BY_ITEM_ALONE = {"at_least_80": "the chance of 80 % or more takes items as independent"}
"""What is withheld of items in clusters → why."""
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
    """Compare human and model by bins of certainty.

    Parameters
    ----------
    panel
        At least two annotators. Where its items come in clusters, these are what every interval and test
        takes as independent.
    predicted
        Shape (N,): the model's class, negative if unreadable (wrong).
    humans, voters
        Annotators that are judged, and those whose votes make the reference; all by default. Who is
        in both is left out of the votes that judge them.
    circular
        Leave them in, as published.
    edges
        Bins are (…, edges[0]], (edges[0], edges[1]], …
    positive
        Class for precision, recall and F1.
    bootstrap, seed
        Draws of weights of items or clusters for the intervals of precision, recall and F1, at least 1; those
        of accuracies take 2,000. The seed is that of all draws.

    Raises
    ------
    EstimateError
        If a name or class is unknown, there is one annotator, or no item has two voters.
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
    made = partial(
        _bin,
        cluster=panel.cluster,
        size=len(rows.item) / len(np.unique(panel.unit[rows.item])),
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
        stratify=min(overall.human.value, overall.model.value) < RULE,
        method="circular" if circular else "separate voters" if separate else "leave-one-out",
        level=level,
        guessing=guessing,
        humans=judged,
        voters=voting,
        clusters=overall.clusters,
        assumptions=(CLUSTERS_ARE_DRAWS,) if overall.clusters else (),
        undefined=BY_ITEM_ALONE if overall.clusters else {},
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
    """One bin; `size` is the mean number of rows of a unit in all bins.

    A unit may have more rows in a bin than those that are seen there: all raters of an item, or the one who
    dissents.
    """
    human, model = rows.right(rows.human), rows.right(rows.model)
    items = len(np.unique(rows.item))
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
    p_d = float(rows.p_d.mean())

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
        )
    few = NoteKind.FEW_ITEMS if cluster is None else NoteKind.FEW_CLUSTERS
    return ParityBin(
        name=name,
        items=items,
        judgements=len(unit),
        p_d=p_d,
        at_least_80=probability_at_least(p_d, items) if cluster is None else None,
        human=share(human),
        model=share(model),
        delta=delta,
        p_value=p_value,
        detection=detected,
        notes=(Note(few),) if len(counts) < FEW else (),
        clusters=clusters,
    )
