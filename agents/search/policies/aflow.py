"""Tree search over small changes of a workflow, with the experience of what was tried before.

After "AFlow: Automating Agentic Workflow Generation" (Zhang et al. 2025, ICLR): a parent is drawn among
the start and the three best (`agents.search.policies.selection`), one change is asked for, knowing what was
tried on this parent and where it failed. Unlike the original, experience has three states, since most
differences at a hundred labels are noise; only what is probably worse is discouraged, failures show what
experts refuted and never the right answer, and an unusable reply costs a slot, not a round of evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass

from agents.search.policies.feedback import describe_cases, describe_experience, describe_standing
from agents.search.policies.model_policy import ModelPolicy, proposal_of
from agents.search.policies.optimizer import Conversation, ReplyRefused, render_template
from agents.search.policies.proposal import PolicyView, Proposal
from agents.search.policies.selection import child_name, draw_leader

FAILURES = 3
_FIELDS = ("modification", "code")


@dataclass(frozen=True, slots=True)
class AFlow(ModelPolicy):
    """The proposer of one change that was not tried before."""

    name: str = "aflow"

    async def propose(self, view: PolicyView) -> Proposal:
        """One change of one parent; the same change again is asked to be another, once."""
        parent = draw_leader(view)
        board = [view.candidates[c] for c in view.board.ids]
        tried = {c.note for c in board if parent.id in c.parents}
        talk = Conversation.begin(self.optimiser, self.name, view.slot)
        prompt = render_template(
            "aflow",
            task=self.optimiser.task,
            guide=self.optimiser.guide,
            accuracy=describe_standing(view.board.fitness[parent.id]),
            source=parent.program.source.strip(),
            experience=describe_experience(view, parent.id),
            failures=await describe_cases(view, parent.id, FAILURES, refuted_only=True),
        )
        try:
            found = await talk.ask(prompt, _FIELDS)
            if found["modification"] in tried:
                talk.log.append("asked for another change: this one was tried")
                found = await talk.ask(render_template("aflow_again"), _FIELDS)
        except ReplyRefused as error:
            return self.refused(error, (parent.id,), talk)
        named = {**found, "name": child_name(parent, view)}
        return proposal_of(named, self.name, (parent.id,), found["modification"], talk)
