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

from agents.search.fitness.answer_table import AnswerTable
from harness import IntArray, StoreError
from harness.store import SearchRepository, Store
from harness.types import Candidate, Item, Prediction


@dataclass(slots=True)
class Archive:
    """A search's candidates, answers and decisions.

    Parameters
    ----------
    splits
        Items by split: ``feedback``, ``select``, ``confirm``, ``test``, each in its fixed order.
    candidates, events
        By id; by key.
    table
        What was answered: options, statuses and tokens.
    search, store
        The search's id and where changes are written, unless the archive need not outlive the process.
    """

    splits: Mapping[str, tuple[Item, ...]]
    candidates: dict[str, Candidate] = field(default_factory=dict)
    table: AnswerTable = field(default_factory=AnswerTable)
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
        self.table.put(candidate, replicate, predictions)

    def note(self, key: str, data: Mapping[str, Any]) -> None:
        """Write down a decision; the first one under a key stands."""
        if key not in self.events:
            if self.store:
                self.store.add_event(self.search, key, data)
            self.events[key] = data

    def to_ask(self, candidate: str, replicate: int, items: Sequence[Item]) -> list[Item]:
        """Items without an answer, or with a failed one: those are asked again whenever they come up."""
        there, failed = self.table.is_there, self.table.has_failed
        done = there([candidate], items, replicate)[0] & ~failed([candidate], items, replicate)[0]
        return [items[i] for i in np.flatnonzero(~done)]

    def predictions(self, candidate: str, items: Iterable[Item], replicate: int = 0) -> list[Prediction]:
        """Answers of a candidate to these items, failed ones among them: option and status alone."""
        return self.table.predictions(candidate, items, replicate)

    def count_answers(self, ids: Sequence[str], items: Sequence[Item], replicate: int = 0) -> IntArray:
        """How many of these items each candidate has an answer to, failed ones among them, shape (M,)."""
        found: IntArray = self.table.is_there(ids, items, replicate).sum(axis=1)
        return found

    def matrix(self, ids: Sequence[str], items: Sequence[Item], replicate: int = 0) -> IntArray:
        """Answers as `agents.search.fitness.scores.score_items` takes them, shape (M, n)."""
        return self.table.options(ids, items, replicate)

    def digest(self) -> str:
        """SHA-256 of all that was decided and answered; two equal searches have equal digests."""
        content = {
            "candidates": [
                (c.id, c.program.name, c.slot, c.op, c.parents, c.note) for c in self.candidates.values()
            ],
            "answers": sorted(
                (c, r, p.item_id, p.option, str(p.status))
                for (c, r), found in self.table.all_predictions().items()
                for p in found
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
    candidates = {c.id: c for c in searches.read_candidates(search)}
    table = AnswerTable()
    table.expect(len(candidates), [item for ids in drawn.values() for item in ids])
    for columns in store.candidate_columns.read_answers(search):
        table.put_columns(columns)
    return Archive(
        splits=splits,
        candidates=candidates,
        table=table,
        events=dict(searches.read_events(search)),
        search=search,
        store=searches,
    )
