"""Meta Agent Search: a model writes whole new workflows from the archive of those before.

After "Automated Design of Agentic Systems" (Hu, Lu & Clune 2025, ICLR): per proposal one call for an
idea, one to reflect on it beside the last member of the archive, one against a list of usual
mistakes; up to so many repairs of a program that does not run. Unlike the original, a repair is run
before anything is scored, the archive in the prompt is bounded, and its numbers carry their noise.
"""

from __future__ import annotations

from dataclasses import dataclass

from agents.search.policies.feedback import describe_archive
from agents.search.policies.model_policy import ModelPolicy, proposal_of
from agents.search.policies.optimizer import Conversation, ReplyRefused, render_template
from agents.search.policies.proposal import PolicyView, Proposal

_FIELDS = ("thought", "name", "code")


@dataclass(frozen=True, slots=True)
class Adas(ModelPolicy):
    """The proposer of whole new workflows."""

    name: str = "adas"

    async def propose(self, view: PolicyView) -> Proposal:
        """Idea, reflection, check: three calls; a later one that fails leaves the earlier program."""
        talk = Conversation.begin(self.optimiser, self.name, view.slot)
        told = {"task": self.optimiser.task, "guide": self.optimiser.guide, "archive": describe_archive(view)}
        try:
            found = await talk.ask(render_template("adas", **told), _FIELDS)
        except ReplyRefused as error:
            return self.refused(error, (), talk)
        last = view.candidates[view.board.ids[-1]]
        meant = last.note or last.program.thought
        previous = f" The last workflow before it was {last.program.name!r}: {meant}"
        for prompt in (render_template("adas_reflect", previous=previous), render_template("adas_check")):
            try:
                found = await talk.ask(prompt, _FIELDS)
            except ReplyRefused as error:
                talk.log.append(f"kept the program as it was: {error}")
        return proposal_of(found, self.name, (), found["thought"], talk)
