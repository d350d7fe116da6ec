"""Score all candidates of an archive with one set of labels.

Nothing in this module is stored in the database. Other labels result in another `Board` of the same answers,
without any model call. Scores of unchanged answers are cached in memory, so that a search does not score
each answer again in every slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from oversight.agents.search.fitness.answer_table import AnswerCounts, AnswerTable
from oversight.agents.search.fitness.archive import Archive
from oversight.agents.search.fitness.breakthroughs import interval_ends
from oversight.agents.search.fitness.empirical_bayes import (
    Paired,
    ShrunkScores,
    compare_paired,
    relate,
    shrink_scores,
)
from oversight.agents.search.fitness.expert_labels import ExpertLabels
from oversight.agents.search.fitness.scores import score_items
from oversight.harness import FAILED, UNREADABLE, BoolArray, EstimateError, FloatArray, IntArray
from oversight.harness.estimate import clopper_pearson
from oversight.harness.store import split_into_batches
from oversight.harness.types import Candidate, Item, Standing

_ROWS_AT_ONCE = 128
"""Number of rows that are scored together; with more rows, scoring needs more memory but is not faster."""


@dataclass(slots=True)
class ScoredRows:
    """Cache of the rows of `score_items`, valid while answers, items and labels stay the same."""

    _items: Sequence[Item] | None = None
    _labelled: ExpertLabels | None = None
    _rows: dict[tuple[str, str, int], tuple[int, FloatArray]] = field(default_factory=dict)
    _votes: dict[int, bytes] = field(default_factory=dict)

    def score(
        self,
        table: AnswerTable,
        ids: Sequence[str],
        items: Sequence[Item],
        labelled: ExpertLabels,
        *,
        estimator: str,
        replicate: int,
    ) -> FloatArray:
        """Return the candidates' scores on the items in one replicate, shape (candidates, items)."""
        if self._items is not items or self._labelled is not labelled:
            self._items, self._labelled = items, labelled
            self._rows.clear()
            self._votes.clear()
        voters = None
        # Scores of routed items depend on the votes of the candidates that answered every routed item.
        if labelled.routed.any():
            voters = table.options(ids, items, replicate)
            votes = voters[(voters[:, labelled.routed] != FAILED).all(axis=1)].tobytes()
            if self._votes.get(replicate) != votes:
                self._votes[replicate] = votes
                self._rows = {key: kept for key, kept in self._rows.items() if key[2] != replicate}
        changes = [table.changes.get((c, replicate), 0) for c in ids]
        keys = [(estimator, c, replicate) for c in ids]
        new = [j for j, key in enumerate(keys) if key not in self._rows or self._rows[key][0] != changes[j]]
        for some in split_into_batches(new, _ROWS_AT_ONCE):
            # Score at least two rows: NumPy sums a single row in another order, which alters the last digits.
            rows = [ids[j] for j in (some * 2 if len(some) == 1 else some)]
            found = score_items(table.options(rows, items, replicate), labelled, estimator, voters)
            for j, row in zip(some, found, strict=False):
                self._rows[keys[j]] = changes[j], row.copy()
        return np.stack([self._rows[key][1] for key in keys])


_DRAWS = 2000
"""Number of posterior draws from which the probability that a candidate is the best is estimated."""
_AT_ONCE = 100


@dataclass(frozen=True, kw_only=True)
class Board:
    """The archive scored with one set of labels; arrays have one row or entry per candidate.

    Attributes
    ----------
    ids
        Candidates with at least one scored answer, in archive order.
    candidates
        All candidates of the archive, by id.
    scores
        Per-item scores, shape (M, n).
    labelled
        Experts' labels of the n items.
    shrunk
        Posterior of the candidates.
    table, items
        The answers of all candidates, and the n items.
    scale, unit
        Scale of the scores, and the factor that converts a difference of accuracies to this scale: 1 for
        ``"accuracy"``, 1/(K − 1) for ``"q"`` and items with K options.
    """

    ids: tuple[str, ...]
    candidates: Mapping[str, Candidate]
    scores: FloatArray
    labelled: ExpertLabels
    shrunk: ShrunkScores
    table: AnswerTable
    items: Sequence[Item]
    scale: str = "accuracy"
    unit: float = 1.0

    def avoided(self, name: str) -> float | None:
        """Return the weighted share of items on which a candidate avoided all refused options.

        An item counts if it has a no but no yes, and the candidate answered it. So the share is not an
        accuracy. None if no item counts.
        """
        y, labelled = self.table.options([name], self.items)[0], self.labelled
        refused = labelled.refused & ((labelled.truth < 0) & (y >= UNREADABLE))[:, None]
        hit = refused[np.arange(len(y)), np.maximum(y, 0)] & (y >= 0)
        asked = float(labelled.weight @ refused.any(axis=1))
        return 1 - float(labelled.weight @ hit) / asked if asked else None

    @cached_property
    def places(self) -> dict[str, int]:
        """Candidate's id → its row in all arrays."""
        return {name: place for place, name in enumerate(self.ids)}

    @cached_property
    def counts(self) -> AnswerCounts:
        """Counts of the answers in each candidate's first replicate."""
        return self.table.count(self.ids, self.items)

    def accuracy(self, score: float) -> float:
        """Convert a score to an accuracy. On the scale "q" with K options, it is (K − 1)·score − (K − 2)."""
        return 1 - (1 - score) / self.unit

    def values(self, ids: Sequence[str]) -> FloatArray:
        """Return the mean scores of candidates, without shrinkage."""
        return np.array([float(np.nanmean(self.scores[self.places[c]])) for c in ids])

    def ranked(self) -> list[str]:
        """Return the candidates by posterior mean, best first; ties are broken by fewer tokens, then id."""
        mean = [rounded(value) for value in (-self.shrunk.mean).tolist()]
        # Tokens are summed only if there are ties to break.
        if len(set(mean)) == len(mean):
            return [c for _, c in sorted(zip(mean, self.ids, strict=True))]
        return [c for *_, c in sorted(zip(mean, self.tokens_each.tolist(), self.ids, strict=True))]

    def compare(self, first: str, second: str) -> Paired:
        """Compare two candidates on the items that both answered."""
        rows = self.scores[self.places[first]], self.scores[self.places[second]]
        return compare_paired(*rows, self.shrunk.spread, self.labelled.cluster)

    @cached_property
    def wins(self) -> IntArray:
        """Number of draws from the posterior in which each candidate is the best."""
        rng, M = np.random.default_rng(0), len(self.ids)
        best = [
            (self.shrunk.mean + self.shrunk.sd * rng.standard_normal((_AT_ONCE, M))).argmax(axis=1)
            for _ in range(_DRAWS // _AT_ONCE)
        ]
        return np.bincount(np.concatenate(best), minlength=M)

    @cached_property
    def tokens_each(self) -> FloatArray:
        """Tokens per answer of each candidate."""
        each: FloatArray = self.counts.tokens / np.maximum(1, self.counts.answers)
        return each

    def standing(self, name: str) -> Standing:
        """Return a candidate's scores, computed on demand because a search needs few candidates' scores."""
        j, parents = self.places[name], self.candidates[name].parents
        compared = self.compare(name, parents[0]) if parents and parents[0] in self.places else None
        mean, sd, far = float(self.shrunk.mean[j]), float(self.shrunk.sd[j]), self.shrunk.breakthroughs
        low, high = interval_ends(
            mean,
            float(np.hypot(sd, self.shrunk.level_se)),
            float(far.chance[j]),
            float(far.mean[j]),
            float(np.hypot(far.sd[j], self.shrunk.level_se)),
        )
        n = max(1, int(self.counts.answers[j]))
        failed, bad = int(self.counts.failed[j]) / n, int(self.counts.no_option[j])
        # Answers without an option are wrong, so no accuracy exceeds the share of answers with an option.
        shares = 1 - bad / n, clopper_pearson(n - bad, n, 0.95)[1]
        readable, most = (1 - self.unit * (1 - share) for share in shares)
        return Standing(
            n_items=int((~np.isnan(self.scores[j])).sum()),
            value=float(np.nanmean(self.scores[j])),
            mean=min(mean, readable),
            sd=sd,
            low=min((1 - failed) * low, readable),
            high=min((1 - failed) * high + failed, most),
            p_best=float(self.wins[j] / _DRAWS),
            p_better=compared.p_better if compared else None,
            verdict=compared.verdict if compared else None,
            tokens=float(self.tokens_each[j]),
            invalid_rate=bad / n,
            error_rate=failed,
        )


def rounded(value: float) -> float:
    """Round to 9 digits, because the order of summation can change the last digits of equal scores."""
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
        The items and experts' labels of them, in the same order.
    estimator
        See `oversight.agents.search.fitness.scores`.
    replicates
        Number of runs of every candidate. An item's score is the mean over the runs, which are not counted
        as separate observations, because repeated runs on one item are not independent.
    ids
        Candidates to score; None scores all.
    kept
        Cache of scores.
    by_parents
        Whether the prior assumes that a child is about as good as its parents
        (`oversight.agents.search.fitness.empirical_bayes`). If not, all candidates are draws around one mean.

    Raises
    ------
    EstimateError
        If no candidate has a scored answer, or the estimator cannot use the labels.
    """
    table, runs, kept = archive.table, range(replicates), kept or ScoredRows()
    answered = {c for c, run in table.rows if run in runs}
    names = [c for c in (ids or archive.candidates) if c in answered]
    if not names:
        raise EstimateError("fitness: no candidate has an answer yet")
    scores = _mean_over_runs(
        [kept.score(table, names, items, labelled, estimator=estimator, replicate=r) for r in runs]
    )
    has_score: BoolArray = np.asarray((~np.isnan(scores)).any(axis=1))
    if not has_score.all():
        names, scores = [c for c, has in zip(names, has_score, strict=True) if has], scores[has_score]
    unit = 1.0
    if estimator == "raw":
        unit = float((1 / (labelled.n_options[labelled.answered] - 1)).mean())
    parents = {c: archive.candidates[c].parents for c in names} if by_parents else {}
    shrunk = shrink_scores(scores, unit, labelled.cluster, relate(names, parents))
    return Board(
        ids=tuple(names),
        candidates=archive.candidates,
        scores=scores,
        labelled=labelled,
        shrunk=shrunk,
        table=table,
        items=items,
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
