"""Proposers that call a model: a reply becomes a proposal, and a refused program is repaired."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from oversight.agents.search.policies import feedback
from oversight.agents.search.policies.optimizer import (
    Conversation,
    Optimizer,
    ReplyRefused,
    quote_data,
    render_template,
)
from oversight.agents.search.policies.proposal import PolicyView, Proposal, child_name, draw_leader
from oversight.harness.types import Program

FAILURES = 3
ERROR_CHARACTERS = 600
"""Characters of the reason for a refusal that the program's writer gets."""
_WHOLE = ("thought", "name", "code")
_CHANGE = ("modification", "code")

Fields = dict[str, str]
"""Texts by name: of a reply, or of a template."""


@dataclass(frozen=True, slots=True)
class ModelPolicy:
    """A proposer whose programs the optimiser writes."""

    optimiser: Optimizer
    name: str = ""

    async def repair(
        self,
        view: PolicyView,  # noqa: ARG002  used by recombination to draw again
        proposal: Proposal,
        reason: str,
        attempt: int,  # noqa: ARG002  the conversation counts its turns
    ) -> Proposal | None:
        """Report in its conversation why a program is refused; None if the reply is unusable."""
        if proposal.program is None or proposal.talk is None:
            return None
        talk, source = proposal.talk, proposal.program.source
        # a later reply may have been unusable, so the program may differ from the refused one
        which = "" if talk.found.get("code") == source else f", which is\n\n```python\n{source}```\n\n"
        told = {"which": which, "reason": quote_data(reason, ERROR_CHARACTERS)}
        try:
            found = await talk.ask(render_template("repair", **told), _WHOLE)
        except ReplyRefused:
            return None
        talk.log.append(f"repaired: {reason}")
        return proposal_of(found, proposal.op, proposal.parents, proposal.note, talk)

    def refused(self, error: ReplyRefused, parents: tuple[str, ...], talk: Conversation) -> Proposal:
        """Make a proposal without a program."""
        return Proposal(
            None,
            self.name,
            parents,
            refused=str(error),
            log=tuple(talk.log),
            tokens=talk.tokens,
            is_told=True,
        )


@dataclass(frozen=True, slots=True)
class Adas(ModelPolicy):
    """Meta Agent Search: a model writes whole new workflows from the archive of those before.

    After "Automated Design of Agentic Systems" (Hu, Lu & Clune 2025, ICLR): per proposal one call for an
    idea, one to reflect on it beside the last member of the archive, one against a list of usual
    mistakes; up to this number of repairs of a program that does not run. Unlike the original, a repair is
    run before anything is scored, the archive in the prompt is bounded, and its numbers carry their noise.
    """

    name: str = "adas"

    async def propose(self, view: PolicyView) -> Proposal:
        """Idea, reflection, check: three calls; a later one that fails leaves the earlier program."""
        talk = Conversation.begin(self.optimiser, self.name, view.slot)
        told = {
            "task": self.optimiser.task,
            "guide": self.optimiser.guide,
            "scale": feedback.describe_scale(view),
            "archive": feedback.describe_archive(view),
            **feedback.describe_slot(view),
        }
        try:
            found = await talk.ask(render_template("adas", **told), _WHOLE)
        except ReplyRefused as error:
            return self.refused(error, (), talk)
        last = view.candidates[view.board.ids[-1]]
        meant = last.note or last.program.thought
        previous = f" The last workflow before it was {last.program.name!r}: {meant}"
        for prompt in (render_template("adas_reflect", previous=previous), render_template("adas_check")):
            try:
                found = await talk.ask(prompt, _WHOLE)
            except ReplyRefused as error:
                talk.log.append(f"kept the program as it was: {error}")
        return proposal_of(found, self.name, (), found["thought"], talk)


class _LeaderPolicy(ModelPolicy, ABC):
    """A proposer of one change to one parent, drawn by its posterior."""

    async def propose(self, view: PolicyView) -> Proposal:
        """Propose one change to one parent."""
        parent = draw_leader(view)
        talk = Conversation.begin(self.optimiser, self.name, view.slot)
        told = {
            "task": self.optimiser.task,
            "guide": self.optimiser.guide,
            "scale": feedback.describe_scale(view),
            "score": feedback.describe_standing(view, parent.id),
            "source": parent.program.source.strip(),
            **feedback.describe_slot(view),
        }
        try:
            found = await self.change(view, parent.id, talk, told)
        except ReplyRefused as error:
            return self.refused(error, (parent.id,), talk)
        named = {**found, "name": child_name(parent, view)}
        return proposal_of(named, self.name, (parent.id,), found["modification"], talk)

    @abstractmethod
    async def change(self, view: PolicyView, parent: str, talk: Conversation, told: Fields) -> Fields:
        """Ask for a changed program; `told` are the fields of all its templates."""


@dataclass(frozen=True, slots=True)
class AFlow(_LeaderPolicy):
    """Tree search over small changes of a workflow, with the experience of what was tried before.

    After "AFlow: Automating Agentic Workflow Generation" (Zhang et al. 2025, ICLR): one change of a parent is
    asked for, knowing what was tried on it and where it failed. Unlike the original, experience has three
    states, since most differences at a hundred labels are noise; only what is probably worse is discouraged,
    failures show what experts refuted and never the right answer, and an unusable reply costs a slot, not a
    round of evaluation.
    """

    name: str = "aflow"

    async def change(self, view: PolicyView, parent: str, talk: Conversation, told: Fields) -> Fields:
        """Ask for a change; a repeated change is asked to be different, once."""
        board = [view.candidates[c] for c in view.board.ids]
        prompt = render_template(
            "aflow",
            **told,
            experience=feedback.describe_experience(view, parent),
            failures=await feedback.describe_cases(view, parent, FAILURES, refuted_only=True),
        )
        found = await talk.ask(prompt, _CHANGE)
        if found["modification"] in {c.note for c in board if parent in c.parents}:
            talk.log.append("asked for another change: this one was tried")
            found = await talk.ask(render_template("aflow_again"), _CHANGE)
        return found


@dataclass(frozen=True, slots=True)
class Reflect(_LeaderPolicy):
    """Reflective mutation: repair the one cause that explains most refuted answers.

    After GEPA (Agrawal et al. 2025), with complementary feedback: a "no" about the chosen option is a
    certain error and is shown as one; an answer that was not refuted may still be wrong, and is shown as
    unknown with the share of wrong ones. No minibatch gate: with such labels a batch of three is perfect by
    chance more often than not; children race like all others. For a refuted answer it also sees each call's
    question and reply, as causes show there.
    """

    name: str = "reflect"

    async def change(self, view: PolicyView, parent: str, talk: Conversation, told: Fields) -> Fields:
        """Ask for one diagnosis and one change."""
        wrong = doubt(view.board.accuracy(view.board.standing(parent).mean), view.board.avoided(parent))
        cases = await feedback.describe_cases(view, parent, with_calls=True)
        prompt = render_template("reflect", **told, doubt=f"{100 * wrong:.0f} %", cases=cases)
        found = await talk.ask(prompt, ("diagnosis", *_CHANGE))
        return {**found, "thought": found["diagnosis"]}


def doubt(accuracy: float, avoided: float | None) -> float:
    """P(wrong | not refuted) = 1 − A/q, with the candidate's accuracy and the share q it avoided.

    Examples
    --------
    At K = 4 and A = .6: q = (A + K − 2)/(K − 1) = .867, so 31 % of what is not refuted is wrong.
    """
    return min(1.0, max(0.0, 1 - accuracy / avoided)) if avoided else 0.0


def proposal_of(found: Fields, op: str, parents: tuple[str, ...], note: str, talk: Conversation) -> Proposal:
    """Make a proposal from a reply."""
    program = Program(found.get("name", op)[:60], found["code"], found.get("thought", note))
    return Proposal(program, op, parents, note, log=tuple(talk.log), tokens=talk.tokens, talk=talk)
