"""How good every candidate is, from stored answers and the labels of the moment: a pure function.

Nothing here is stored. A `Board` is the archive seen through one set of labels; another set gives
another board of the same answers, without one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oversight.agents.search.fitness.archive import Archive
from oversight.agents.search.fitness.empirical_bayes import Paired, ShrunkScores, shrink_scores
from oversight.agents.search.fitness.expert_labels import ExpertLabels
from oversight.agents.search.fitness.lineage import relate
from oversight.agents.search.fitness.scored_rows import ScoredRows
from oversight.agents.search.fitness.standings import LazyValues, Standings
from oversight.harness import UNREADABLE, BoolArray, EstimateError, FloatArray, IntArray
from oversight.harness.types import Item, Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The archive through one set of labels.

    Attributes
    ----------
    ids
        Candidates with at least one scored answer, in archive order.
    shrunk
        Their posterior.
    fitness
        How each candidate stands, by id; worked out when it is asked for.
    avoided
        Share of refused options that each avoided, by id; None without a no. Never a correct rate.
    scale, unit
        What scores are, ``"accuracy"`` or ``"q"``, and how large a point of accuracy is: 1/(K − 1) in q.
    """

    ids: tuple[str, ...]
    shrunk: ShrunkScores
    standings: Standings
    fitness: Mapping[str, Standing]
    avoided: Mapping[str, float | None]
    scale: str = "accuracy"
    unit: float = 1.0

    @property
    def scores(self) -> FloatArray:
        """Per-item scores, shape (M, n)."""
        return self.standings.scores

    def accuracy(self, score: float) -> float:
        """A score as an accuracy: (K − 1)q − (K − 2) where scores are q."""
        return 1 - (1 - score) / self.unit

    def place(self, candidate: str) -> int:
        """Row of a candidate in all arrays."""
        return self.standings.places[candidate]

    def values(self, ids: Sequence[str]) -> FloatArray:
        """Estimates of candidates as measured."""
        return np.array([self.standings.value(self.place(c)) for c in ids])

    def ranked(self) -> list[str]:
        """Best first by posterior mean; ties by fewer tokens, then id."""
        mean = [rounded(value) for value in (-self.shrunk.mean).tolist()]
        if len(set(mean)) == len(mean):  # mostly: nobody's tokens need be summed up
            return [c for _, c in sorted(zip(mean, self.ids, strict=True))]
        return [c for *_, c in sorted(zip(mean, self.standings.tokens_each.tolist(), self.ids, strict=True))]

    def compare(self, first: str, second: str) -> Paired:
        """One candidate against another on the items both answered."""
        return self.standings.compare(self.place(first), self.place(second))


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
    kept: ScoredRows | None = None,
    by_parents: bool = False,
) -> Board:
    """Score an archive on labelled items.

    Parameters
    ----------
    items, labelled
        The items and what experts said of them, in the same order.
    estimator
        See `oversight.agents.search.fitness.scores`.
    replicates
        How often every candidate was asked; an item's score is the mean over them, and the item stays
        the unit: repeated runs of one item are not independent.
    ids
        Only these candidates; all if None.
    kept
        Where scores are found that were worked out before, and kept.
    by_parents
        Whether a child is taken to be about as good as its parents
        (`oversight.agents.search.fitness.lineage`), else all candidates for draws around one mean.

    Raises
    ------
    EstimateError
        If nothing is scored, or labels and estimator do not fit.
    """
    table, runs, kept = archive.table, range(replicates), kept or ScoredRows()
    answered = {c for c, run in table.rows if run in runs}
    names = [c for c in (ids or archive.candidates) if c in answered]
    if not names:
        raise EstimateError("fitness: no candidate has an answer yet")
    kept.begin(items, labelled)
    key = table.version, estimator, replicates, tuple(names), by_parents
    if kept.last is None or kept.last[0] != key:
        parents = {c: archive.candidates[c].parents for c in names} if by_parents else {}
        kept.last = key, _make_board(archive, items, labelled, names, estimator, runs, kept, parents)
    board: Board = kept.last[1]
    return board


def _make_board(
    archive: Archive,
    items: Sequence[Item],
    labelled: ExpertLabels,
    names: list[str],
    estimator: str,
    runs: range,
    kept: ScoredRows,
    parents: Mapping[str, Sequence[str]],
) -> Board:
    table = archive.table
    scores = _mean_over_runs(
        [kept.score(table, names, items, labelled, estimator=estimator, replicate=r) for r in runs]
    )
    has_score: BoolArray = np.asarray((~np.isnan(scores)).any(axis=1))
    if not has_score.all():
        names, scores = [c for c, has in zip(names, has_score, strict=True) if has], scores[has_score]
    unit = 1.0
    if estimator == "raw":
        unit = float((1 / (labelled.n_options[labelled.answered] - 1)).mean())
    shrunk = shrink_scores(scores, unit, labelled.cluster, relate(names, parents))
    standings = Standings(
        ids=names,
        candidates=archive.candidates,
        scores=scores,
        cluster=labelled.cluster,
        shrunk=shrunk,
        count=lambda: table.count(names, items),
    )
    return Board(
        ids=tuple(names),
        shrunk=shrunk,
        standings=standings,
        fitness=LazyValues(names, standings.make),
        avoided=LazyValues(names, lambda j: _avoided(table.options(names[j : j + 1], items)[0], labelled)),
        unit=unit,
        scale="q" if estimator == "raw" else "accuracy",
    )


def _mean_over_runs(scored: Sequence[FloatArray]) -> FloatArray:
    if len(scored) == 1:
        return scored[0]
    runs = np.stack(scored)
    counts = (~np.isnan(runs)).sum(axis=0)
    mean: FloatArray = np.nansum(runs, axis=0) / np.where(counts > 0, counts, np.nan)
    return mean


def _avoided(y: IntArray, labelled: ExpertLabels) -> float | None:
    """Share of the items with a no, and an answer, whose refused options were not chosen; weighted."""
    refused = labelled.refused & ((labelled.truth < 0) & (y >= UNREADABLE))[:, None]
    hit = refused[np.arange(len(y)), np.maximum(y, 0)] & (y >= 0)
    asked = float(labelled.weight @ refused.any(axis=1))
    return 1 - float(labelled.weight @ hit) / asked if asked else None
