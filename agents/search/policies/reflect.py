"""Reflective mutation: mend the one cause that explains most of what experts refuted.

After GEPA (Agrawal et al. 2025), with complementary feedback: a "no" about the chosen option is a
certain error and is shown as one; an answer that was not refuted is not thereby right, and is shown as
unknown, with how often it is wrong. No minibatch gate: with such labels a batch of three is perfect by
chance more often than not; children race like all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.search.loop import PolicyView, Proposal
from agents.search.policies.aflow import parent
from agents.search.policies.feedback import describe_cases, describe_standing
from agents.search.policies.optimizer import Conversation, Optimizer, ReplyRefused, render_template
from agents.search.policies.repair import proposal_of, repair_proposal

if TYPE_CHECKING:
    from agents.search.fitness import Fitness

_FIELDS = ("diagnosis", "modification", "code")


@dataclass(frozen=True, slots=True)
class Reflect:
    """The proposer."""

    optimiser: Optimizer
    name: str = "reflect"

    async def propose(self, view: PolicyView) -> Proposal:
        """One diagnosis and one change of one parent."""
        chosen = parent(view)
        fitness = view.board.fitness[chosen.id]
        talk = Conversation.begin(self.optimiser, self.name, view.slot)
        prompt = render_template(
            "reflect",
            task=self.optimiser.task,
            guide=self.optimiser.guide,
            accuracy=describe_standing(fitness),
            source=chosen.program.source.strip(),
            doubt=f"{100 * doubt(fitness):.0f} %",
            cases=await describe_cases(view, chosen),
        )
        try:
            found = await talk.ask(prompt, _FIELDS)
        except ReplyRefused as error:
            refused = str(error)
            return Proposal(None, self.name, (chosen.id,), "", refused, tuple(talk.log), talk.tokens)
        named = {
            **found,
            "name": f"{chosen.program.name.split('+')[0]}+{view.slot + 1}",
            "thought": found["diagnosis"],
        }
        return proposal_of(named, self.name, (chosen.id,), found["modification"], talk)

    async def repair(
        self, view: PolicyView, proposal: Proposal, reason: str, attempt: int
    ) -> Proposal | None:
        """Ask for the program mended."""
        return await repair_proposal(self.optimiser, self.name, view, proposal, reason, attempt)


def doubt(fitness: Fitness) -> float:
    """P(wrong | not refuted) = 1 − A/q, with the candidate's accuracy and the share q it avoided.

    Examples
    --------
    At K = 4 and A = .6: q = (A + K − 2)/(K − 1) = .867, so 31 % of what is not refuted is wrong.
    """
    if not fitness.q_raw:
        return 0.0
    return min(1.0, max(0.0, 1 - fitness.mean / fitness.q_raw))
