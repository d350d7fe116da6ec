"""Meta Agent Search: a model writes whole new workflows from the archive of those before.

After "Automated Design of Agentic Systems" (Hu, Lu & Clune 2025, ICLR): per proposal one call for an
idea, one to reflect on it beside the last member of the archive, one against a list of usual
mistakes; up to so many repairs of a program that does not run. Unlike the original, a repair is run
before anything is scored, the archive in the prompt is bounded, and its numbers carry their noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.brief import archive_text
from agents.meta import Conversation, Optimiser, ReplyRefused, render
from agents.program import Program
from agents.state import Proposal, View
from harness.llm.model import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

_FIELDS = ("thought", "name", "code")


@dataclass(frozen=True, slots=True)
class Adas:
    """The proposer."""

    optimiser: Optimiser
    name: str = "adas"

    async def propose(self, view: View) -> Proposal:
        """Idea, reflection, check: three calls; a later one that fails leaves the earlier program."""
        talk = Conversation.begin(self.optimiser, self.name, view.slot)
        told = {"task": self.optimiser.task, "guide": self.optimiser.guide, "archive": archive_text(view)}
        try:
            found = await talk.ask(render("adas", **told), _FIELDS)
        except ReplyRefused as error:
            return Proposal(None, self.name, refused=str(error), log=tuple(talk.log), tokens=talk.tokens)
        last = view.candidate(view.board.ids[-1])
        meant = last.note or last.program.thought
        previous = f" The last workflow before it was {last.program.name!r}: {meant}"
        for prompt in (render("adas_reflect", previous=previous), render("adas_check")):
            try:
                found = await talk.ask(prompt, _FIELDS)
            except ReplyRefused as error:
                talk.log.append(f"kept the program as it was: {error}")
        return proposal_of(found, self.name, (), found["thought"], talk)

    async def repair(self, view: View, proposal: Proposal, reason: str, attempt: int) -> Proposal | None:
        """Ask for the program mended."""
        return await mended(self.optimiser, self.name, view, proposal, reason, attempt)


async def mended(
    optimiser: Optimiser, name: str, view: View, proposal: Proposal, reason: str, attempt: int
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
        found = await talk.ask(render("repair", reason=reason), _FIELDS)
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
