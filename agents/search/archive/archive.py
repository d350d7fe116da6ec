"""Everything a search knows: programs, where they come from, what they answered. No score is kept.

Scores follow from answers and labels (`agents.search.fitness.fitness`), so that new labels re-score an
archive without one call. Every change goes to a journal first; an archive is what its journal says, which
is how a search goes on after it was killed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from agents.programs import Program
from harness import FAILED, UNREADABLE, IntArray, StoreError
from harness.types import Item, Prediction, PredictionStatus


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program with its place in the archive.

    Attributes
    ----------
    program
        What it is.
    slot
        Number of the proposal it came from; negative for the workflows the search started from.
    op
        How it was made: ``"library"``, ``"adas"``, ``"aflow"``, ``"reflect"``, ``"mutate"``….
    parents
        Ids of the candidates it was made from.
    note
        What was changed, in its author's words.
    """

    program: Program
    slot: int
    op: str
    parents: tuple[str, ...] = ()
    note: str = ""

    @property
    def id(self) -> str:
        """The program's id."""
        return self.program.id


class Journal(Protocol):
    """Where an archive is written down; every write may be repeated."""

    def add_candidate(self, candidate: Candidate) -> None:
        """Write a candidate with its parents."""
        ...

    def add_answers(self, candidate: str, replicate: int, predictions: Sequence[Prediction]) -> None:
        """Write what a candidate answered."""
        ...

    def add_event(self, key: str, data: Mapping[str, Any]) -> None:
        """Write a decision; the first one under a key stands."""
        ...


class NoJournal:
    """For archives that need not outlive the process, such as simulated ones."""

    def add_candidate(self, candidate: Candidate) -> None:
        """Write nothing."""

    def add_answers(self, candidate: str, replicate: int, predictions: Sequence[Prediction]) -> None:
        """Write nothing."""

    def add_event(self, key: str, data: Mapping[str, Any]) -> None:
        """Write nothing."""


@dataclass(slots=True)
class Archive:
    """A search's candidates, answers and decisions.

    Parameters
    ----------
    splits
        Items by split: ``feedback``, ``select``, ``confirm``, ``test``, each in its fixed order.
    journal
        Where changes are written before they count.
    """

    splits: Mapping[str, tuple[Item, ...]]
    journal: Journal = field(default_factory=NoJournal)
    candidates: dict[str, Candidate] = field(default_factory=dict)
    answers: dict[tuple[str, int], dict[str, Prediction]] = field(default_factory=dict)
    events: dict[str, Mapping[str, Any]] = field(default_factory=dict)

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
            self.journal.add_candidate(candidate)
            self.candidates[candidate.id] = candidate

    def record(self, candidate: str, replicate: int, predictions: Sequence[Prediction]) -> None:
        """Take in what a candidate answered in one of its replicates."""
        self.journal.add_answers(candidate, replicate, predictions)
        self.answers.setdefault((candidate, replicate), {}).update({p.item_id: p for p in predictions})

    def note(self, key: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Write down a decision and return the one that stands: the first under its key."""
        if key not in self.events:
            self.journal.add_event(key, data)
            self.events[key] = data
        return self.events[key]

    def missing(self, candidate: str, replicate: int, items: Iterable[Item]) -> list[Item]:
        """Items that a candidate has no answer to, not even a failed one."""
        have = self.answers.get((candidate, replicate), {})
        return [item for item in items if item.id not in have]

    def to_ask(self, candidate: str, replicate: int, items: Iterable[Item]) -> list[Item]:
        """Items without an answer, or with a failed one: those are asked again whenever they come up."""
        have = self.answers.get((candidate, replicate), {})
        failed = PredictionStatus.FAILED
        return [item for item in items if item.id not in have or have[item.id].status is failed]

    def predictions(self, candidate: str, items: Iterable[Item], replicate: int = 0) -> list[Prediction]:
        """Stored answers of a candidate to these items."""
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


def _code(prediction: Prediction | None) -> int:
    if prediction is None or prediction.status is PredictionStatus.FAILED:
        return FAILED
    return UNREADABLE if prediction.option is None else prediction.option
