"""A proposer, what it may see of a search, how it draws a parent there, and what it hands in.

By default the parent is the largest of one draw from every candidate's posterior (Thompson 1933, Biometrika
25), at a quarter of its standard deviation: mostly whoever is believed best. What an edit of a parent can be
expected to give is the parent's posterior mean and a step, however little the parent is known; full draws,
which make each as often a parent as it is probably the best, spend half of the proposals on worse ones. The
quarter leaves near-equals their turn, since a parent whose edits are all bad is no good however good it is.
No steepness has to fit the scale and the noise of the score. The published rule (AFlow: Zhang et al. 2025,
ICLR, appendix) is p_i = λ/n + (1 − λ) softmax_i(α s_i) among the start and the three best others, λ = 0.3,
α = 0.2 per percentage point: on raw q at K = 16 nearly uniform, on the transform nearly greedy.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from oversight.agents.runtime import Replay
from oversight.agents.search.fitness import Board
from oversight.agents.search.policies.optimizer import Conversation
from oversight.harness import FloatArray
from oversight.harness.types import Candidate, Item, Program

DOUBT = 0.25
"""Share of a posterior's standard deviation in the draw of a parent."""
POOL = 4
UNIFORM = 0.3
STEEPNESS_PER_POINT = 0.2


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
        The archive as far as the slot sees it, scored.
    candidates
        By id.
    start
        Id of the workflow that the user would use without a search.
    published
        Whether parents are selected as published.
    slot, in_flight, planned
        Number of the proposal, from 0; how many are under way at once; how many there will be.
    refused
        Why the last programs were refused.
    judge
        Has a candidate answer feedback items, in random order until so many are refuted, and tells what
        experts said of its answers.
    transcribe
        Tells what a candidate asked and got on a feedback item that it has answered, from stored calls.
    """

    board: Board
    candidates: Mapping[str, Candidate]
    start: str
    published: bool
    slot: int
    in_flight: int
    planned: int
    refused: tuple[str, ...]
    rng: np.random.Generator
    judge: Callable[[str, int], Awaitable[list[JudgedAnswer]]]
    transcribe: Callable[[str, Item], Awaitable[Replay]]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a proposer hands in: a program, or the reason why it has none.

    Attributes
    ----------
    program
        None if the proposer could not come up with one.
    op, parents, note
        As in `oversight.harness.types.program.Candidate`.
    refused
        Why there is no program.
    log
        What happened on the way: repairs, odd replies, refusals.
    tokens
        What the proposer itself spent.
    is_told
        Whether later proposals are told why this one was refused: it is about the program, not about how the
        model was reached.
    talk
        The conversation that it comes from, in which a repair goes on; None without.
    """

    program: Program | None
    op: str
    parents: tuple[str, ...] = ()
    note: str = ""
    refused: str = ""
    log: tuple[str, ...] = ()
    tokens: int = 0
    is_told: bool = False
    talk: Conversation | None = field(default=None, compare=False, repr=False)


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


def draw_parent(view: PolicyView, ids: Sequence[str]) -> Candidate:
    """Draw one of these candidates, by the default rule or, in parity mode, by the published one."""
    if view.published:
        p = published_probabilities(view.board.values(ids))
        return view.candidates[ids[choose(p, view.rng)]]
    shrunk, places = view.board.shrunk, [view.board.places[c] for c in ids]
    likely = shrunk.mean[places] + DOUBT * shrunk.sd[places] * view.rng.standard_normal(len(ids))
    return view.candidates[ids[int(np.argmax(likely))]]


def draw_leader(view: PolicyView) -> Candidate:
    """Draw a parent among all; as published among the start and the three best others."""
    if not view.published:
        return draw_any(view)
    others = [c for c in view.board.ranked() if c != view.start]
    return draw_parent(view, [view.start, *others[: POOL - 1]])


def draw_any(view: PolicyView) -> Candidate:
    """Draw a parent among all candidates."""
    return draw_parent(view, view.board.ranked())


def child_name(parent: Candidate, view: PolicyView) -> str:
    """Its family's name and the number of its proposal."""
    return f"{parent.program.name.split('+')[0]}+{view.slot + 1}"


def published_probabilities(scores: FloatArray) -> FloatArray:
    """Selection by AFlow's formula; `scores` are shares in [0, 1], one per candidate.

    Examples
    --------
    >>> published_probabilities(np.array([0.698, 0.124])).round(2).tolist()
    [0.85, 0.15]
    """
    exponent = STEEPNESS_PER_POINT * 100 * scores
    soft = np.exp(exponent - exponent.max())
    p: FloatArray = UNIFORM / len(soft) + (1 - UNIFORM) * soft / soft.sum()
    return p


def choose(p: FloatArray, rng: np.random.Generator) -> int:
    """Draw one index; by the cumulated probabilities, so that equal p give equal draws."""
    return min(int(np.searchsorted(np.cumsum(p), rng.random(), side="right")), len(p) - 1)
