"""The interface of proposers: their view of a search, the draw of a parent, and proposals.

By default, one value is drawn from every candidate's posterior, and the candidate with the largest value is
the parent (Thompson 1933, Biometrika 25). The draws use a quarter of the posterior standard deviation, so the
parent is mostly the candidate with the highest posterior mean. Draws with the full standard deviation would
spend half of the proposals on worse parents, because the expected accuracy of an edited program is its
parent's posterior mean plus a step. But nearly equal candidates should also be drawn, because all edits of a
good parent may be bad. This default rule needs no tuning to the scale or noise of scores. The published rule
(AFlow: Zhang et al. 2025, ICLR, appendix) draws among n programs: the start workflow and the three best other
candidates. A program with score s_i has the probability p_i = λ/n + (1 − λ) softmax_i(α s_i), with λ = 0.3
and α = 0.2 per percentage point. For items with 16 options, the published rule is nearly uniform if the
scores are shares q of avoided options. It is nearly greedy if the scores are the accuracies computed from q.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy.special import softmax

from oversight.agents.runtime import Replay
from oversight.agents.search.fitness.board import Board
from oversight.agents.search.policies.optimizer import Conversation
from oversight.harness import FloatArray
from oversight.harness.types import Candidate, Item, Program

DOUBT = 0.25
"""Factor on the posterior standard deviation in the draw of a parent."""
POOL = 4
UNIFORM = 0.3
STEEPNESS_PER_POINT = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """A candidate's answer to a feedback item, compared with the experts' answers about this item.

    Attributes
    ----------
    item, option
        The item, and the index of the chosen option; None if no option could be read.
    known
        Whether a comparison is possible: the item has an expert's answer, and the candidate's answer did not
        fail.
    settled
        Whether the right option is known from an expert's yes.
    refuted
        Whether the choice is wrong: another option has a yes, the choice has a no, or there is no choice.
    """

    item: Item
    option: int | None
    known: bool
    settled: bool
    refuted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyView:
    """The data that a proposer may use: a snapshot of the archive, feedback, and a random generator.

    Attributes
    ----------
    board
        The scored candidates that this slot may use.
    candidates
        Candidates by id.
    start
        Id of the workflow that the user would use without a search.
    published
        Whether parents are drawn by AFlow's published rule instead of the default rule.
    slot, in_flight, planned
        Number of this proposal, from 0; number of concurrent proposals; planned number of proposals.
    refused
        Reasons why the last programs were refused.
    judge
        Function that runs a candidate on feedback items until the given number of answers is refuted. It
        returns the answers, each compared with the experts' labels.
    transcribe
        Function that returns a candidate's stored calls on a feedback item that it has answered.
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
    """A proposal: a program, or the reason why there is no program.

    Attributes
    ----------
    program
        The program; None if the proposer made none.
    op, parents, note
        As in `oversight.harness.types.program.Candidate`.
    refused
        Reason why there is no program; empty if there is one.
    log
        Messages about repairs, unusable replies and refusals while the proposal was made.
    tokens
        Number of tokens that the proposer itself used.
    is_told
        Whether the optimiser sees in later proposals why this proposal was refused. False if the reason was
        the connection to the model, not the program.
    talk
        The conversation that a repair continues; None without a conversation.
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
        """Return a proposal made from the view."""
        ...

    async def repair(
        self, view: PolicyView, proposal: Proposal, reason: str, attempt: int
    ) -> Proposal | None:
        """Repair a proposal whose program was refused for `reason`; None if the proposer gives up."""
        ...


def draw_parent(view: PolicyView, ids: Sequence[str]) -> Candidate:
    """Draw one of these candidates by the default rule or, if `view.published`, by the published rule."""
    if view.published:
        p = published_probabilities(view.board.values(ids))
        return view.candidates[ids[choose(p, view.rng)]]
    shrunk, places = view.board.shrunk, [view.board.places[c] for c in ids]
    likely = shrunk.mean[places] + DOUBT * shrunk.sd[places] * view.rng.standard_normal(len(ids))
    return view.candidates[ids[int(np.argmax(likely))]]


def draw_leader(view: PolicyView) -> Candidate:
    """Draw a parent by the view's rule.

    The default rule draws it from all candidates, and the published rule from the start workflow and the best
    three other candidates.
    """
    if not view.published:
        return draw_any(view)
    others = [c for c in view.board.ranked() if c != view.start]
    return draw_parent(view, [view.start, *others[: POOL - 1]])


def draw_any(view: PolicyView) -> Candidate:
    """Draw a parent among all candidates."""
    return draw_parent(view, view.board.ranked())


def child_name(parent: Candidate, view: PolicyView) -> str:
    """Return a child's name: the name of the start program it descends from, and the proposal's number."""
    return f"{parent.program.name.split('+')[0]}+{view.slot + 1}"


def published_probabilities(scores: FloatArray) -> FloatArray:
    """Return selection probabilities by AFlow's formula, from scores in [0, 1], one per candidate.

    Examples
    --------
    >>> published_probabilities(np.array([0.698, 0.124])).round(2).tolist()
    [0.85, 0.15]
    """
    p: FloatArray = UNIFORM / len(scores) + (1 - UNIFORM) * softmax(STEEPNESS_PER_POINT * 100 * scores)
    return p


def choose(p: FloatArray, rng: np.random.Generator) -> int:
    """Draw one index with probabilities p, using one random number from `rng`."""
    return min(int(np.searchsorted(np.cumsum(p), rng.random(), side="right")), len(p) - 1)
