"""The data of a search: programs, their origin and their answers, without scores.

Scores are computed from answers and labels (`oversight.agents.search.fitness.board`). So an archive can be
scored again with new labels, without any model call. Every change is stored before it takes effect, and an
archive can be rebuilt from the database. So a killed search can be continued.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from oversight.agents.runtime import read_failure_time, stamp_failure
from oversight.agents.search.fitness.answer_table import AnswerTable
from oversight.harness import StoreError
from oversight.harness.store import SearchRepository, Store
from oversight.harness.types import Candidate, Item, Prediction, PredictionStatus

_FAILURES = "failed/"
"""Prefix of the keys of events that contain the times of failed answers."""


@dataclass(slots=True)
class Archive:
    """A search's candidates, answers and decisions.

    Parameters
    ----------
    splits
        Items by split: ``feedback``, ``select``, ``confirm``, ``test``, each in its fixed order.
    candidates, events
        Candidates by id; events (recorded decisions) by key.
    search, store
        Id of the search, and the store for changes; the store is None for an archive in memory.

    Attributes
    ----------
    table
        The candidates' answers: options, statuses and tokens.
    """

    splits: Mapping[str, tuple[Item, ...]]
    candidates: dict[str, Candidate] = field(default_factory=dict)
    table: AnswerTable = field(init=False)
    events: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    search: str = ""
    store: SearchRepository | None = None

    def __post_init__(self) -> None:
        self.table = AnswerTable(item.id for part in self.splits.values() for item in part)
        for candidate in self.candidates.values():
            self._join_family(candidate)

    @property
    def slots(self) -> list[Mapping[str, Any]]:
        """The recorded outcomes of proposals."""
        return [event for key, event in self.events.items() if key.startswith("slot/")]

    def add_candidate(self, candidate: Candidate) -> None:
        """Add a candidate, unless its program is already in the archive.

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
            self._join_family(candidate)

    def _join_family(self, candidate: Candidate) -> None:
        """Record a candidate's lineage: the candidate, and those ancestors that are not start programs."""
        families = self.table.failures.families
        made = [p for p in candidate.parents if self.candidates[p].slot >= 0]
        families[candidate.id] = frozenset((candidate.id,)).union(*(families[p] for p in made))

    def record(self, candidate: str, replicate: int, predictions: Sequence[Prediction]) -> None:
        """Store a candidate's answers in one replicate, and the times at which answers failed."""
        predictions, failed = _stamp(predictions)
        if failed:
            number = sum(key.startswith(f"{_FAILURES}{candidate}/{replicate}/") for key in self.events)
            noted = {"candidate": candidate, "replicate": replicate, "times": failed}
            self.record_decision(f"{_FAILURES}{candidate}/{replicate}/{number}", noted)
            self.table.add_failures((candidate, replicate), failed)
        if self.store:
            self.store.add_answers(self.search, candidate, replicate, predictions)
        self.table.put_answers(candidate, replicate, predictions)

    def record_decision(self, key: str, data: Mapping[str, Any]) -> None:
        """Record a decision, unless one with the same key is recorded already."""
        if key not in self.events:
            if self.store:
                self.store.add_event(self.search, key, data)
            self.events[key] = data

    def to_ask(self, candidate: str, replicate: int, items: Sequence[Item]) -> list[Item]:
        """Return the items to answer: those without an answer, and those whose answer failed."""
        there, failed = self.table.is_there, self.table.has_failed
        done = there([candidate], items, replicate)[0] & ~failed([candidate], items, replicate)[0]
        return [items[i] for i in np.flatnonzero(~done)]

    def digest(self) -> str:
        """Return the SHA-256 of all decisions and answers, without times, so that equal searches agree."""
        content = {
            "candidates": [
                (c.id, c.program.name, c.slot, c.op, c.parents, c.note) for c in self.candidates.values()
            ],
            "answers": sorted(
                (c, r, p.item_id, p.option, str(p.status))
                for (c, r), found in self.table.all_predictions().items()
                for p in found
            ),
            "events": {k: v for k, v in self.events.items() if not k.startswith(_FAILURES)},
        }
        text = json.dumps(content, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def _stamp(predictions: Sequence[Prediction]) -> tuple[list[Prediction], dict[str, str]]:
    """Add a time to the reason of each failed prediction. Returns the predictions, and the times by item."""
    failed = PredictionStatus.FAILED
    stamped = [replace(p, reason=stamp_failure(p.reason)) if p.status is failed else p for p in predictions]
    return stamped, {p.item_id: read_failure_time(p.reason) for p in stamped if p.status is failed}


def load_archive(store: Store, search: str) -> Archive:
    """Rebuild a search's archive from the database.

    Raises
    ------
    StoreError
        If the search does not exist, or one of its items is missing.
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
    events: dict[str, Mapping[str, Any]] = dict(searches.read_events(search))
    archive = Archive(splits=splits, candidates=candidates, events=events, search=search, store=searches)
    for columns in searches.read_columns(search):
        archive.table.put_columns(columns)
    for key, noted in events.items():
        if key.startswith(_FAILURES):
            archive.table.add_failures((noted["candidate"], noted["replicate"]), noted["times"])
    return archive
