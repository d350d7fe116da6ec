"""An archive's journal in the study's database, and the archive as the journal has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.programs import Program
from agents.search.archive.archive import Archive, Candidate
from harness import StoreError
from harness.store import SearchRepository, Store, StoredCandidate
from harness.types import Item, Prediction


@dataclass(frozen=True, slots=True)
class StoredJournal:
    """The journal of one search."""

    store: SearchRepository
    search: str

    def add_candidate(self, candidate: Candidate) -> None:
        """Write a candidate with its parents."""
        program = candidate.program
        self.store.add_candidate(
            self.search,
            StoredCandidate(
                candidate.id,
                candidate.slot,
                candidate.op,
                program.name,
                program.source,
                program.thought,
                candidate.note,
                candidate.parents,
            ),
        )

    def add_answers(self, candidate: str, replicate: int, predictions: Sequence[Prediction]) -> None:
        """Write what a candidate answered."""
        self.store.add_answers(self.search, candidate, replicate, predictions)

    def add_event(self, key: str, data: Mapping[str, Any]) -> None:
        """Write a decision."""
        self.store.add_event(self.search, key, data)


def load_archive(repository: Store, search: str) -> Archive:
    """Rebuild a search's archive from the database.

    Raises
    ------
    StoreError
        If there is no such search, or one of its items is gone.
    """
    store = repository.searches
    items: dict[str, Item] = {item.id: item for item in repository.content.read_items()}
    splits = {}
    for split, ids in store.read_splits(search).items():
        missing = [i for i in ids if i not in items]
        if missing:
            raise StoreError(f"search {search}: the item {missing[0]!r} is not in the study any more")
        splits[split] = tuple(items[i] for i in ids)
    if not splits:
        raise StoreError(f"there is no search {search}; see: oversight search show")
    candidates = {
        c.id: Candidate(Program(c.name, c.source, c.thought), c.slot, c.op, c.parents, c.note)
        for c in store.read_candidates(search)
    }
    answers = {key: {p.item_id: p for p in found} for key, found in store.read_answers(search).items()}
    return Archive(splits, StoredJournal(store, search), candidates, answers, dict(store.read_events(search)))
