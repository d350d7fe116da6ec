"""Reflective mutation: mend the one cause that explains most of what experts refuted.

After GEPA (Agrawal et al. 2025), with complementary feedback: a "no" about the chosen option is a
certain error and is shown as one; an answer that was not refuted is not thereby right, and is shown as
unknown, with how often it is wrong. No minibatch gate: with such labels a batch of three is perfect by
chance more often than not; children race like all others.
"""

from __future__ import annotations

from dataclasses import dataclass

from agents.search.policies.feedback import describe_cases, describe_standing
from agents.search.policies.model_policy import ModelPolicy, proposal_of
from agents.search.policies.optimizer import Conversation, ReplyRefused, render_template
from agents.search.policies.proposal import PolicyView, Proposal
from agents.search.policies.selection import child_name, draw_leader


@dataclass(frozen=True, slots=True)
class Reflect(ModelPolicy):
    """The proposer of a cure for what experts refuted."""

    name: str = "reflect"

    async def propose(self, view: PolicyView) -> Proposal:
        """One diagnosis and one change of one parent."""
        parent = draw_leader(view)
        standing = view.board.fitness[parent.id]
        talk = Conversation.begin(self.optimiser, self.name, view.slot)
        prompt = render_template(
            "reflect",
            task=self.optimiser.task,
            guide=self.optimiser.guide,
            accuracy=describe_standing(standing),
            source=parent.program.source.strip(),
            doubt=f"{100 * doubt(standing.mean, view.board.avoided[parent.id]):.0f} %",
            cases=await describe_cases(view, parent.id),
        )
        try:
            found = await talk.ask(prompt, ("diagnosis", "modification", "code"))
        except ReplyRefused as error:
            return self.refused(error, (parent.id,), talk)
        named = {**found, "name": child_name(parent, view), "thought": found["diagnosis"]}
        return proposal_of(named, self.name, (parent.id,), found["modification"], talk)


def doubt(accuracy: float, avoided: float | None) -> float:
    """P(wrong | not refuted) = 1 − A/q, with the candidate's accuracy and the share q it avoided.

    Examples
    --------
    At K = 4 and A = .6: q = (A + K − 2)/(K − 1) = .867, so 31 % of what is not refuted is wrong.
    """
    return min(1.0, max(0.0, 1 - accuracy / avoided)) if avoided else 0.0
