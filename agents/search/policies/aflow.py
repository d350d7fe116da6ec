"""Tree search over small changes of a workflow, with the experience of what was tried before.

After "AFlow: Automating Agentic Workflow Generation" (Zhang et al. 2025, ICLR): a parent is drawn among
the start and the three best (`agents.search.policies.selection`), one change is asked for, knowing what was
tried on this parent and where it failed. Unlike the original, experience has three states, since most
differences at a hundred labels are noise; only what is probably worse is discouraged, failures show what
experts refuted and never the right answer, and an unusable reply costs a slot, not a round of evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.search.loop import PolicyView, Proposal
from agents.search.policies.feedback import describe_cases, describe_experience, describe_standing
from agents.search.policies.optimizer import Conversation, Optimizer, ReplyRefused, render_template
from agents.search.policies.parents import draw_parent
from agents.search.policies.repair import proposal_of, repair_proposal

if TYPE_CHECKING:
    from agents.search.archive import Candidate

POOL = 4
FAILURES = 3
_FIELDS = ("modification", "code")


@dataclass(frozen=True, slots=True)
class AFlow:
    """The proposer."""

    optimiser: Optimizer
    name: str = "aflow"

    async def propose(self, view: PolicyView) -> Proposal:
        """One change of one parent; the same change again is asked to be another, once."""
        chosen = parent(view)
        tried = {view.candidate(c).note for c in view.board.ids if chosen.id in view.candidate(c).parents}
        talk = Conversation.begin(self.optimiser, self.name, view.slot)
        prompt = render_template(
            "aflow",
            task=self.optimiser.task,
            guide=self.optimiser.guide,
            accuracy=describe_standing(view.board.fitness[chosen.id]),
            source=chosen.program.source.strip(),
            experience=describe_experience(view, chosen.id),
            failures=await describe_cases(view, chosen, FAILURES, refuted_only=True),
        )
        try:
            found = await talk.ask(prompt, _FIELDS)
            if found["modification"] in tried:
                talk.log.append("asked for another change: this one was tried")
                found = await talk.ask(render_template("aflow_again"), _FIELDS)
        except ReplyRefused as error:
            refused = str(error)
            return Proposal(None, self.name, (chosen.id,), "", refused, tuple(talk.log), talk.tokens)
        named = {**found, "name": f"{chosen.program.name.split('+')[0]}+{view.slot + 1}"}
        return proposal_of(named, self.name, (chosen.id,), found["modification"], talk)

    async def repair(
        self, view: PolicyView, proposal: Proposal, reason: str, attempt: int
    ) -> Proposal | None:
        """Ask for the program mended."""
        return await repair_proposal(self.optimiser, self.name, view, proposal, reason, attempt)


def parent(view: PolicyView) -> Candidate:
    """Draw among the start and the three best others."""
    others = [c for c in view.board.ranked() if c != view.state.start]
    return draw_parent(view, [view.state.start, *others[: POOL - 1]])
