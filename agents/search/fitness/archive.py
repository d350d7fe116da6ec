"""Everything a search knows: programs, where they come from, what they answered. No score is kept.

Scores follow from answers and labels (`agents.search.fitness.board`), so that new labels re-score an
archive without one call. Every change is stored before it counts; an archive is what the database says,
which is how a search goes on after it was killed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness import FAILED, UNREADABLE, IntArray, StoreError
from harness.store import SearchRepository, Store
from harness.types import Candidate, Item, Prediction, PredictionStatus


@dataclass(slots=True)
class Archive:
    """A search's candidates, answers and decisions.

    Parameters
    ----------
    splits
        Items by split: ``feedback``, ``select``, ``confirm``, ``test``, each in its fixed order.
    candidates, answers, events
        By id; by id and replicate, then by item; by key.
    search, store
        The search's id and where changes are written, unless the archive need not outlive the process.
    """

    splits: Mapping[str, tuple[Item, ...]]
    candidates: dict[str, Candidate] = field(default_factory=dict)
    answers: dict[tuple[str, int], dict[str, Prediction]] = field(default_factory=dict)
    events: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    search: str = ""
    store: SearchRepository | None = None

    def add(self, candidate: Candidate) -> None:
        """Take a candidate in, unless its program is there already.

        Raises
        ------
        StoreError
            If a parent is not in the archive.
        """
        for parent in candidate.parents:
            if parent not in self.candidates:
                raise StoreError(f"candidate {candidate.id}: its parent {parent} is not in the archive")
        if candidate.id not in self.candidates:
            if self.store:
                self.store.add_candidate(self.search, candidate)
            self.candidates[candidate.id] = candidate

    def record(self, candidate: str, replicate: int, predictions: Sequence[Prediction]) -> None:
        """Take in what a candidate answered in one of its replicates."""
        if self.store:
            self.store.add_answers(self.search, candidate, replicate, predictions)
        self.answers.setdefault((candidate, replicate), {}).update({p.item_id: p for p in predictions})

    def note(self, key: str, data: Mapping[str, Any]) -> None:
        """Write down a decision; the first one under a key stands."""
        if key not in self.events:
            if self.store:
                self.store.add_event(self.search, key, data)
            self.events[key] = data

    def to_ask(self, candidate: str, replicate: int, items: Iterable[Item]) -> list[Item]:
        """Items without an answer, or with a failed one: those are asked again whenever they come up."""
        have = self.answers.get((candidate, replicate), {})
        failed = PredictionStatus.FAILED
        return [item for item in items if item.id not in have or have[item.id].status is failed]

    def predictions(self, candidate: str, items: Iterable[Item], replicate: int = 0) -> list[Prediction]:
        """Stored answers of a candidate to these items, failed ones among them."""
        have = self.answers.get((candidate, replicate), {})
        return [have[item.id] for item in items if item.id in have]

    def matrix(self, ids: Sequence[str], items: Sequence[Item], replicate: int = 0) -> IntArray:
        """Answers as `agents.search.fitness.scores.score_items` takes them, shape (M, n)."""
        return np.array([[_code(self.answers.get((c, replicate), {}).get(i.id)) for i in items] for c in ids])

    def digest(self) -> str:
        """SHA-256 of all that was decided and answered; two equal searches have equal digests."""
        content = {
            "candidates": [
                (c.id, c.program.name, c.slot, c.op, c.parents, c.note) for c in self.candidates.values()
            ],
            "answers": sorted(
                (c, r, p.item_id, p.option, str(p.status))
                for (c, r), found in self.answers.items()
                for p in found.values()
            ),
            "events": self.events,
        }
        text = json.dumps(content, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def load_archive(store: Store, search: str) -> Archive:
    """Rebuild a search's archive from the database.

    Raises
    ------
    StoreError
        If there is no such search, or one of its items is gone.
    """
    searches = store.searches
    drawn = searches.read_splits(search)
    items = store.content.find_items([i for ids in drawn.values() for i in ids])
    splits = {}
    for split, ids in drawn.items():
        missing = [i for i in ids if i not in items]
        if missing:
            raise StoreError(f"search {search}: the item {missing[0]!r} is not in the study any more")
        splits[split] = tuple(items[i] for i in ids)
    if not splits:
        raise StoreError(f"there is no search {search}; see: oversight search show")
    return Archive(
        splits=splits,
        candidates={c.id: c for c in searches.read_candidates(search)},
        answers={key: {p.item_id: p for p in found} for key, found in searches.read_answers(search).items()},
        events=dict(searches.read_events(search)),
        search=search,
        store=searches,
    )


def _code(prediction: Prediction | None) -> int:
    if prediction is None or prediction.status is PredictionStatus.FAILED:
        return FAILED
    return UNREADABLE if prediction.option is None else prediction.option
