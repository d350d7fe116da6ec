"""A model's reply as a proposal, and a refused program shown to it to be mended."""

from __future__ import annotations

from collections.abc import Mapping

from agents.programs import Program
from agents.search.loop import PolicyView, Proposal
from agents.search.policies.optimizer import Conversation, Optimizer, ReplyRefused, render_template
from harness.llm import Message

_FIELDS = ("thought", "name", "code")


async def repair_proposal(
    optimiser: Optimizer, name: str, view: PolicyView, proposal: Proposal, reason: str, attempt: int
) -> Proposal | None:
    """Show a refused program with the reason and ask for it mended; None if the reply is of no use."""
    if proposal.program is None:
        return None
    talk = Conversation.begin(optimiser, name, view.slot, "repair", attempt)
    talk.messages.append(Message("user", f"{optimiser.guide}\n\n```python\n{proposal.program.source}```"))
    talk.messages.append(Message("assistant", "Understood."))
    talk.log += proposal.log
    talk.tokens = proposal.tokens
    try:
        found = await talk.ask(render_template("repair", reason=reason), _FIELDS)
    except ReplyRefused:
        return None
    talk.log.append(f"repaired: {reason}")
    return proposal_of(found, proposal.op, proposal.parents, proposal.note, talk)


def proposal_of(
    found: Mapping[str, str], op: str, parents: tuple[str, ...], note: str, talk: Conversation
) -> Proposal:
    """Make a proposal from a reply."""
    name = found.get("name", op)[:60]
    program = Program(name, found["code"], found.get("thought", note))
    return Proposal(program, op, parents, note, log=tuple(talk.log), tokens=talk.tokens)
