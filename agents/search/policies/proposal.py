"""A proposer, what it may see of a search, and what it hands in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from agents.search.fitness import Board
from harness.types import Candidate, Item, Program


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """A candidate's answer to a feedback item, and what experts said of it.

    Attributes
    ----------
    item, option
        The item, and the option chosen; None if no option could be read.
    known
        Whether there is an answer that experts' answers can be held against.
    settled
        Whether an expert named the right option.
    refuted
        Whether experts said no to the choice: by that option, or about the choice itself.
    """

    item: Item
    option: int | None
    known: bool
    settled: bool
    refuted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyView:
    """What a proposer sees: one snapshot of the archive, feedback, and its own random stream.

    Attributes
    ----------
    board
        The archive as scored when the wave began.
    candidates
        By id.
    start
        Id of the workflow that the user would use without a search.
    published
        Whether parents are selected as published.
    slot
        Number of the proposal.
    judge
        Has a candidate answer the feedback items, and tells what experts said of its answers.
    """

    board: Board
    candidates: Mapping[str, Candidate]
    start: str
    published: bool
    slot: int
    rng: np.random.Generator
    judge: Callable[[str], Awaitable[list[JudgedAnswer]]]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a proposer hands in: a program, or the reason why it has none.

    Attributes
    ----------
    program
        None if the proposer could not come up with one.
    op, parents, note
        As in `harness.types.program.Candidate`.
    refused
        Why there is no program.
    log
        What happened on the way: repairs, odd replies, refusals.
    tokens
        What the proposer itself spent.
    """

    program: Program | None
    op: str
    parents: tuple[str, ...] = ()
    note: str = ""
    refused: str = ""
    log: tuple[str, ...] = ()
    tokens: int = 0


class Policy(Protocol):
    """How new candidates come about."""

    @property
    def name(self) -> str:
        """As in study.toml."""
        ...

    async def propose(self, view: PolicyView) -> Proposal:
        """Make a candidate from the snapshot."""
        ...

    async def repair(
        self, view: PolicyView, proposal: Proposal, reason: str, attempt: int
    ) -> Proposal | None:
        """Mend a program that was refused for `reason`; None gives up."""
        ...
