"""What every step of a search has at hand: archive, labels, settings, and a way to get answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from agents.programs import Program
from agents.search.archive import Archive, Candidate
from agents.search.fitness import Board, ExpertLabels, score_candidates
from harness import ConfigError, derive_seed
from harness.types import Item, Prediction

Evaluate = Callable[[Program, Sequence[Item], int], Awaitable[Sequence[Prediction]]]
"""``evaluate(program, items, replicate)``: one prediction per item, in order."""

CheckProgram = Callable[[Program], Awaitable[str]]
"""Why a program cannot be evaluated, in words for its author; empty if it can."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search.

    Attributes
    ----------
    seed
        Of all draws.
    candidates
        Proposals to make.
    in_flight
        Proposals made at once, from the same snapshot of the archive.
    rungs, keep
        A proposal is answered on so many items first; the stated shares of each wave go on.
    estimator
        Fitness, see `agents.search.fitness.scores`.
    parity
        Score and parent selection as published, on raw q or on its transform.
    replicates
        Runs per item.
    finalists
        Candidates that are answered again on the confirmation items.
    debug_tries
        Repairs that a proposer may try on a program that does not run.
    patience
        Stop when the best three stayed the same for so many proposals; 0 never stops early.
    """

    seed: int = 0
    candidates: int = 16
    in_flight: int = 4
    rungs: tuple[int, ...] = (30, 60, 120)
    keep: tuple[float, ...] = (0.5, 0.25)
    estimator: str = "ml"
    parity: Literal["raw", "transformed"] | None = None
    replicates: int = 1
    finalists: int = 5
    debug_tries: int = 3
    patience: int = 0

    def __post_init__(self) -> None:
        for name, least in (("candidates", 0), ("in_flight", 1), ("replicates", 1), ("finalists", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"search: {name} must be at least {least}, is {getattr(self, name)}")
        if not self.rungs or list(self.rungs) != sorted(set(self.rungs)) or self.rungs[0] < 2:
            raise ConfigError(f"search: rungs must be rising numbers of items, 2 or more, are {self.rungs}")
        if len(self.keep) < len(self.rungs) - 1 or not all(0 < share <= 1 for share in self.keep):
            raise ConfigError(
                f"search: keep needs a share in (0, 1] after every rung but the last, is {self.keep}"
            )

    @property
    def fitness(self) -> str:
        """The estimator in force."""
        return self.parity or self.estimator


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a proposer hands in: a program, or the reason why it has none.

    Attributes
    ----------
    program
        None if the proposer could not come up with one.
    op, parents, note
        As in `agents.search.archive.archive.Candidate`.
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


@dataclass(frozen=True, slots=True)
class SearchContext:
    """A running search.

    Attributes
    ----------
    archive, settings
        What is known, and how to go on.
    labels
        By split, in the order of the split's items.
    start
        Id of the workflow the user would use without a search.
    evaluate, check
        How programs are answered and tried.
    progress
        Told in words what goes on.
    """

    archive: Archive
    settings: Settings
    labels: Mapping[str, ExpertLabels]
    start: str
    evaluate: Evaluate
    check: CheckProgram
    progress: Callable[[str], None] = field(default=lambda _: None)

    def items(self, split: str) -> tuple[Item, ...]:
        """Items of a split in their order."""
        return self.archive.splits.get(split, ())

    def board(self, ids: Sequence[str] | None = None) -> Board:
        """The archive on the selection items."""
        return score_candidates(
            self.archive,
            self.items("select"),
            self.labels["select"],
            estimator=self.settings.fitness,
            replicates=self.settings.replicates,
            ids=ids,
        )

    async def answer(self, candidate: Candidate, items: Sequence[Item], replicate: int | None = None) -> None:
        """Have a candidate answer what it has not answered yet, in all replicates or in one."""
        runs = range(self.settings.replicates) if replicate is None else (replicate,)
        for run in runs:
            todo = self.archive.to_ask(candidate.id, run, items)
            if todo:
                found = await self.evaluate(candidate.program, todo, run)
                self.archive.record(candidate.id, run, found)

    def rng(self, *names: object) -> np.random.Generator:
        """Random stream of a step, by its name: the same step draws the same, resumed or not."""
        return np.random.default_rng(derive_seed(self.settings.seed, *map(str, names)))


@dataclass(frozen=True, slots=True)
class PolicyView:
    """What a proposer sees: one snapshot of the archive, and its own random stream.

    Attributes
    ----------
    state, board
        The search, and its archive as scored when the wave began.
    slot
        Number of the proposal.
    """

    state: SearchContext
    board: Board
    slot: int
    rng: np.random.Generator

    def candidate(self, name: str) -> Candidate:
        """Look a candidate up by id."""
        return self.state.archive.candidates[name]


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


async def gather_all(*jobs: Awaitable[T]) -> list[T]:
    """Await all; if one fails the others still finish, so that nothing paid for is thrown away."""
    results: list[Any] = await asyncio.gather(*jobs, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results
