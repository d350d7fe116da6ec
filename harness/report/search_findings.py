"""A search's findings: computed in `oversight.agents.search`, rendered as page and text here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oversight.harness.types import Estimate, Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedCandidate:
    """One candidate of an archive.

    Attributes
    ----------
    slot
        Number of its proposal; negative for the library.
    note
        What was changed.
    answers
        On the selection items, failed ones among them.
    standing
        None as long as no answer to a labelled item can be scored.
    on_front
        Whether no other that answered all items is both better and cheaper.
    raced_out
        Whether it was dropped before it had answered all items.
    diff
        Against its parent's source, as unified lines; the source itself for the library.
    test
        Its accuracy on the test items, of members that were tested beside winner and start.
    """

    id: str
    name: str
    slot: int
    op: str
    parents: tuple[str, ...]
    note: str
    answers: int
    standing: Standing | None
    on_front: bool
    raced_out: bool
    diff: tuple[str, ...]
    test: Estimate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedWinner:
    """The winner beside the start.

    Attributes
    ----------
    naive, reported, sd, low, high, confirmed
        As in `oversight.agents.search.confirmation.Winner`.
    test, start_test
        Both on the test items, from experts' answers; None if there are none, or they tell no accuracy.
    untested
        Why they tell none; empty if they do, or there are no test items.
    difference
        The two there compared, paired, with its interval, in words.
    truth, start_truth
        By the opened key.
    unanswered
        How many test items either answered with no option, which is wrong, or failed on, in words.
    why
        Why the interval from selection and confirmation may not hold; empty if no check speaks against it.
    """

    id: str
    name: str
    naive: float
    reported: float
    sd: float
    low: float
    high: float
    confirmed: float | None
    test: Estimate | None
    start_test: Estimate | None
    difference: str
    untested: str = ""
    truth: float | None = None
    start_truth: float | None = None
    unanswered: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchReport:
    """A search as it stands.

    Attributes
    ----------
    model, optimiser
        Names in study.toml of what answers and of what writes programs; empty if no model does.
    splits
        Items by split.
    proposals, planned
        Made so far, of how many.
    refused, duplicates
        Slots that gave no candidate: why, and how many.
    a_a
        The start against itself through the same gate, in words.
    power
        What the labels can show, and whether experts were seen to err, in words.
    spent
        Tokens by stage.
    """

    study: str
    id: str
    created: str
    policy: str
    model: str
    optimiser: str
    seed: int
    fitness: str
    start: str
    splits: Mapping[str, int]
    proposals: int
    planned: int
    candidates: Sequence[SearchedCandidate]
    refused: Sequence[str]
    duplicates: int
    winner: SearchedWinner | None
    a_a: str
    power: Sequence[str]
    spent: Mapping[str, int]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scale(self) -> str:
        """What scores are: ``"accuracy"``, or ``"q"``, the share of refused options that were avoided."""
        return "q" if self.fitness == "raw" else "accuracy"

    def by_id(self, name: str) -> SearchedCandidate:
        """Look a candidate up."""
        return next(c for c in self.candidates if c.id == name)
