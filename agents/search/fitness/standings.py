"""How each candidate of a board stands: worked out for whom it is asked, as a search asks about few."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from oversight.agents.search.fitness.answer_table import AnswerCounts
from oversight.agents.search.fitness.breakthroughs import interval_ends
from oversight.agents.search.fitness.empirical_bayes import Paired, ShrunkScores, compare_paired
from oversight.harness import FloatArray, IntArray
from oversight.harness.types import Candidate, Standing

_DRAWS = 2000
"""From the posterior, for how often each candidate is the best."""
_AT_ONCE = 100
V = TypeVar("V")


class LazyValues(Mapping[str, V]):
    """Values by id, each made when it is first asked for.

    Parameters
    ----------
    ids
        All there are.
    make
        Given the place of an id among them.
    """

    def __init__(self, ids: Sequence[str], make: Callable[[int], V]) -> None:
        self._places = {name: place for place, name in enumerate(ids)}
        self._make = make
        self._made: dict[str, V] = {}

    def __getitem__(self, name: str) -> V:
        if name not in self._made:
            self._made[name] = self._make(self._places[name])
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@dataclass(frozen=True, kw_only=True)
class Standings:
    """What standings are made of; arrays have a row, or an entry, per candidate.

    Attributes
    ----------
    scores, cluster
        Per-item scores, shape (M, n), and the items' clusters, shape (n,).
    count
        Sums up the answers of each candidate's first replicate.
    """

    ids: Sequence[str]
    candidates: Mapping[str, Candidate]
    scores: FloatArray
    cluster: IntArray
    shrunk: ShrunkScores
    count: Callable[[], AnswerCounts]

    @cached_property
    def places(self) -> dict[str, int]:
        """Row of every candidate."""
        return {name: place for place, name in enumerate(self.ids)}

    @cached_property
    def counts(self) -> AnswerCounts:
        """Numbers of each candidate's answers."""
        return self.count()

    @cached_property
    def wins(self) -> IntArray:
        """How often each is the best in draws from the posterior."""
        rng, M = np.random.default_rng(0), len(self.ids)
        best = [
            (self.shrunk.mean + self.shrunk.sd * rng.standard_normal((_AT_ONCE, M))).argmax(axis=1)
            for _ in range(_DRAWS // _AT_ONCE)
        ]
        return np.bincount(np.concatenate(best), minlength=M)

    @cached_property
    def tokens_each(self) -> FloatArray:
        """Tokens of each candidate per answer."""
        each: FloatArray = self.counts.tokens / np.maximum(1, self.counts.answers)
        return each

    def value(self, j: int) -> float:
        """A candidate's estimate as measured."""
        return float(np.nanmean(self.scores[j]))

    def compare(self, first: int, second: int) -> Paired:
        """One candidate against another on the items both answered."""
        return compare_paired(self.scores[first], self.scores[second], self.shrunk.spread, self.cluster)

    def make(self, j: int) -> Standing:
        """How a candidate stands."""
        parents = self.candidates[self.ids[j]].parents
        against = self.places.get(parents[0]) if parents else None
        compared = None if against is None else self.compare(j, against)
        mean, sd, far = float(self.shrunk.mean[j]), float(self.shrunk.sd[j]), self.shrunk.breakthroughs
        low, high = interval_ends(
            mean,
            float(np.hypot(sd, self.shrunk.level_se)),
            float(far.chance[j]),
            float(far.mean[j]),
            float(np.hypot(far.sd[j], self.shrunk.level_se)),
        )
        n = max(1, int(self.counts.answers[j]))
        failed = int(self.counts.failed[j]) / n
        return Standing(
            n_items=int((~np.isnan(self.scores[j])).sum()),
            value=self.value(j),
            mean=mean,
            sd=sd,
            low=(1 - failed) * low,
            high=(1 - failed) * high + failed,
            p_best=float(self.wins[j] / _DRAWS),
            p_better=compared.p_better if compared else None,
            verdict=compared.verdict if compared else None,
            tokens=float(self.tokens_each[j]),
            invalid_rate=int(self.counts.no_option[j]) / n,
            error_rate=failed,
        )
