"""The interface of proposers: their view of a search, the draw of a parent, and proposals.

By default the parent is the largest of one draw from every candidate's posterior (Thompson 1933, Biometrika
25), with a quarter of its standard deviation, so it is mostly the candidate with the highest posterior mean.
The expected accuracy of an edit is the parent's posterior mean plus a step, even for a parent with few
answers. Full draws, with which each candidate is a parent as often as it is probably the best, spend half of
the proposals on worse parents. With the quarter, nearly equal candidates are also drawn, because a parent may
be good although all its edits are bad. No parameter depends on the scale and the noise of the score. The
published rule (AFlow: Zhang et al. 2025, ICLR, appendix) is p_i = λ/n + (1 − λ) softmax_i(α s_i) among the
start and the three best others, λ = 0.3, α = 0.2 per percentage point. On raw q at K = 16 it is nearly
uniform, on the transform nearly greedy.
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
"""Share of a posterior's standard deviation that is used in the draw of a parent."""
POOL = 4
UNIFORM = 0.3
STEEPNESS_PER_POINT = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """A candidate's answer to a feedback item, with the experts' answers about it.

    Attributes
    ----------
    item, option
        The item, and the chosen option; None if no option could be read.
    known
        Whether the answer can be compared with experts' answers.
    settled
        Whether an expert named the right option.
    refuted
        Whether experts refuted the choice, by naming the right option or with a no about the choice.
    """

    item: Item
    option: int | None
    known: bool
    settled: bool
    refuted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyView:
    """A proposer's view: a snapshot of the archive, feedback, and a separate random stream.

    Attributes
    ----------
    board
        The scored archive that the slot sees.
    candidates
        Candidates by id.
    start
        Id of the workflow that the user would use without a search.
    published
        Whether parents are selected as in the publication.
    slot, in_flight, planned
        Number of the proposal, from 0; number of concurrent proposals; planned number.
    refused
        Reasons why the last programs were refused.
    judge
        Answers feedback items with a candidate in random order until the requested number is refuted, and
        returns the comparison with the experts.
    transcribe
        Returns a candidate's stored calls on a feedback item that it has answered.
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
    """A proposal: a program, or the reason why it could not be made.

    Attributes
    ----------
    program
        The program; None if the proposer made none.
    op, parents, note
        As in `oversight.harness.types.program.Candidate`.
    refused
        Reason why there is no program.
    log
        Events while the proposal was made: repairs, odd replies, refusals.
    tokens
        Tokens that the proposer itself used.
    is_told
        Whether later proposals learn why this one was refused, because the reason concerns the program and
        not the connection to the model.
    talk
        The conversation in which a repair continues; None without a conversation.
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
    """A proposer of new candidates."""

    @property
    def name(self) -> str:
        """Name of the policy in study.toml."""
        ...

    async def propose(self, view: PolicyView) -> Proposal:
        """Make a candidate from the snapshot."""
        ...

    async def repair(
        self, view: PolicyView, proposal: Proposal, reason: str, attempt: int
    ) -> Proposal | None:
        """Repair a program that was refused for `reason`; None gives up."""
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
    """Draw a parent among all candidates; in parity mode among the start and the three best others."""
    if not view.published:
        return draw_any(view)
    others = [c for c in view.board.ranked() if c != view.start]
    return draw_parent(view, [view.start, *others[: POOL - 1]])


def draw_any(view: PolicyView) -> Candidate:
    """Draw a parent among all candidates."""
    return draw_parent(view, view.board.ranked())


def child_name(parent: Candidate, view: PolicyView) -> str:
    """Return a name made of the family's name and the number of the proposal."""
    return f"{parent.program.name.split('+')[0]}+{view.slot + 1}"


def published_probabilities(scores: FloatArray) -> FloatArray:
    """Return selection probabilities by AFlow's formula, from scores in [0, 1], one per candidate.

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
    """Draw one index by cumulated probabilities, so that equal p give equal draws."""
    return min(int(np.searchsorted(np.cumsum(p), rng.random(), side="right")), len(p) - 1)
