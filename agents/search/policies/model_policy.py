"""The proposers that ask a model: a reply becomes a proposal, and a refused program is mended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agents.search.policies.optimizer import Conversation, Optimizer, ReplyRefused, render_template
from agents.search.policies.proposal import PolicyView, Proposal
from harness.llm import Message
from harness.types import Program


@dataclass(frozen=True, slots=True)
class ModelPolicy:
    """A proposer whose programs the optimiser writes."""

    optimiser: Optimizer
    name: str = ""

    async def repair(
        self, view: PolicyView, proposal: Proposal, reason: str, attempt: int
    ) -> Proposal | None:
        """Show a refused program with the reason and ask for it mended; None if the reply is of no use."""
        if proposal.program is None:
            return None
        talk = Conversation.begin(self.optimiser, self.name, view.slot, "repair", attempt)
        shown = f"{self.optimiser.guide}\n\n```python\n{proposal.program.source}```"
        talk.messages += [Message("user", shown), Message("assistant", "Understood.")]
        talk.log += proposal.log
        talk.tokens = proposal.tokens
        try:
            found = await talk.ask(render_template("repair", reason=reason), ("thought", "name", "code"))
        except ReplyRefused:
            return None
        talk.log.append(f"repaired: {reason}")
        return proposal_of(found, proposal.op, proposal.parents, proposal.note, talk)

    def refused(self, error: ReplyRefused, parents: tuple[str, ...], talk: Conversation) -> Proposal:
        """A proposal that came to nothing."""
        return Proposal(None, self.name, parents, "", str(error), tuple(talk.log), talk.tokens)


def proposal_of(
    found: Mapping[str, str], op: str, parents: tuple[str, ...], note: str, talk: Conversation
) -> Proposal:
    """Make a proposal from a reply."""
    program = Program(found.get("name", op)[:60], found["code"], found.get("thought", note))
    return Proposal(program, op, parents, note, log=tuple(talk.log), tokens=talk.tokens)
