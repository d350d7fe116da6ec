"""How good every candidate is, from stored answers and the labels of the moment: a pure function.

Nothing here is stored. A `Board` is the archive seen through one set of labels; another set gives
another board of the same answers, without one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agents.search.fitness.archive import Archive
from agents.search.fitness.breakthroughs import interval_ends
from agents.search.fitness.empirical_bayes import Paired, ShrunkScores, compare_paired, shrink_scores
from agents.search.fitness.expert_labels import ExpertLabels
from agents.search.fitness.scores import score_items
from harness import UNREADABLE, EstimateError, FloatArray, IntArray
from harness.types import Item, PredictionStatus, Standing

_DRAWS = 2000
"""From the posterior, for how often each candidate is the best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The archive through one set of labels.

    Attributes
    ----------
    ids
        Candidates with at least one scored answer, in archive order.
    scores, cluster
        Per-item scores, shape (M, n), and the items' clusters, shape (n,).
    shrunk
        Their posterior.
    fitness
        How each candidate stands, by id.
    scale, unit
        What scores are, ``"accuracy"`` or ``"q"``, and how large a point of accuracy is: 1/(K − 1) in q.
    avoided
        Share of refused options that each avoided, by id; None without a no. Never a correct rate.
    """

    ids: tuple[str, ...]
    scores: FloatArray
    cluster: IntArray
    shrunk: ShrunkScores
    fitness: dict[str, Standing]
    avoided: dict[str, float | None]
    scale: str = "accuracy"
    unit: float = 1.0

    def accuracy(self, score: float) -> float:
        """A score as an accuracy: (K − 1)q − (K − 2) where scores are q."""
        return 1 - (1 - score) / self.unit

    def ranked(self) -> list[str]:
        """Best first by posterior mean; ties by fewer tokens, then id."""
        return sorted(self.ids, key=lambda c: (rounded(-self.fitness[c].mean), self.fitness[c].tokens, c))

    def compare(self, first: str, second: str) -> Paired:
        """One candidate against another on the items both answered."""
        rows = (self.ids.index(first), self.ids.index(second))
        first_scores, second_scores = (self.scores[row] for row in rows)
        return compare_paired(first_scores, second_scores, self.shrunk.spread, self.cluster)


def rounded(value: float) -> float:
    """Without the last digits, where equal candidates differ by the order of sums alone."""
    return round(value, 9)


def score_candidates(
    archive: Archive,
    items: Sequence[Item],
    labelled: ExpertLabels,
    *,
    estimator: str = "ml",
    replicates: int = 1,
    ids: Sequence[str] | None = None,
) -> Board:
    """Score an archive on labelled items.

    Parameters
    ----------
    items, labelled
        The items and what experts said of them, in the same order.
    estimator
        See `agents.search.fitness.scores`.
    replicates
        How often every candidate was asked; an item's score is the mean over them, and the item stays
        the unit: repeated runs of one item are not independent.
    ids
        Only these candidates; all if None.

    Raises
    ------
    EstimateError
        If nothing is scored, or labels and estimator do not fit.
    """
    runs = range(replicates)
    names = [c for c in (ids or archive.candidates) if any((c, r) in archive.answers for r in runs)]
    if not names:
        raise EstimateError("fitness: no candidate has an answer yet")
    stacks = [archive.matrix(names, items, r) for r in runs]
    scored = np.stack([score_items(y, labelled, estimator) for y in stacks])
    counts = (~np.isnan(scored)).sum(axis=0)
    scores = np.nansum(scored, axis=0) / np.where(counts > 0, counts, np.nan)
    kept = np.flatnonzero(counts.any(axis=1))
    names, scores = [names[j] for j in kept], scores[kept]
    unit = 1.0
    if estimator == "raw":
        unit = float((1 / (labelled.n_options[labelled.answered] - 1)).mean())
    shrunk = shrink_scores(scores, unit, labelled.cluster)
    return Board(
        ids=tuple(names),
        scores=scores,
        cluster=labelled.cluster,
        shrunk=shrunk,
        fitness=_standings(archive, items, names, (scores, labelled.cluster), shrunk),
        unit=unit,
        scale="q" if estimator == "raw" else "accuracy",
        avoided={c: _avoided(stacks[0][j], labelled) for c, j in zip(names, kept, strict=True)},
    )


def _standings(
    archive: Archive,
    items: Sequence[Item],
    names: Sequence[str],
    scored: tuple[FloatArray, IntArray],
    shrunk: ShrunkScores,
) -> dict[str, Standing]:
    scores, cluster = scored
    draws = np.random.default_rng(0).standard_normal((_DRAWS, len(names)))
    best = np.bincount((shrunk.mean + shrunk.sd * draws).argmax(axis=1), minlength=len(names))
    row = {name: j for j, name in enumerate(names)}
    standings = {}
    for j, name in enumerate(names):
        parents = archive.candidates[name].parents
        against = row.get(parents[0]) if parents else None
        compared = None
        if against is not None:
            compared = compare_paired(scores[j], scores[against], shrunk.spread, cluster)
        mean, sd = float(shrunk.mean[j]), float(shrunk.sd[j])
        far = shrunk.breakthroughs
        low, high = interval_ends(
            mean,
            float(np.hypot(sd, shrunk.level_se)),
            float(far.chance[j]),
            float(far.mean[j]),
            float(np.hypot(far.sd[j], shrunk.level_se)),
        )
        answers = archive.predictions(name, items)
        n = max(1, len(answers))
        failed = sum(p.status is PredictionStatus.FAILED for p in answers) / n
        standings[name] = Standing(
            n_items=int((~np.isnan(scores[j])).sum()),
            value=float(np.nanmean(scores[j])),
            mean=mean,
            sd=sd,
            low=(1 - failed) * low,
            high=(1 - failed) * high + failed,
            p_best=float(best[j] / _DRAWS),
            p_better=compared.p_better if compared else None,
            verdict=compared.verdict if compared else None,
            tokens=sum(p.input_tokens + p.output_tokens for p in answers) / n,
            invalid_rate=sum(p.status.no_option for p in answers) / n,
            error_rate=failed,
        )
    return standings


def _avoided(y: IntArray, labelled: ExpertLabels) -> float | None:
    """Share of the items with a no, and an answer, whose refused options were not chosen."""
    refused = labelled.refused & ((labelled.truth < 0) & (y >= UNREADABLE))[:, None]
    hit = refused[np.arange(len(y)), np.maximum(y, 0)] & (y >= 0)
    asked = int(refused.any(axis=1).sum())
    return 1 - float(hit.sum()) / asked if asked else None
