"""Proposers that call a model (the optimiser) to write programs and to repair refused programs."""

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
"""Maximum number of characters of the reason of a refusal that the optimiser is shown."""
_WHOLE = ("thought", "name", "code")
_CHANGE = ("modification", "code")

Fields = dict[str, str]
"""Field name → text, in a reply or for a template."""


@dataclass(frozen=True, slots=True)
class ModelPolicy:
    """Base of the proposers whose programs are written by a model, the optimiser."""

    optimiser: Optimizer
    name: str = ""

    async def repair(
        self,
        view: PolicyView,  # noqa: ARG002  used by recombination to draw again
        proposal: Proposal,
        reason: str,
        attempt: int,  # noqa: ARG002  the conversation counts its turns
    ) -> Proposal | None:
        """Ask the optimiser to repair a program that was refused for `reason`; None if that fails."""
        if proposal.program is None or proposal.talk is None:
            return None
        talk, source = proposal.talk, proposal.program.source
        # If the last reply was unusable, it does not contain the refused program, so quote the program.
        which = "" if talk.found.get("code") == source else f", which is\n\n```python\n{source}```\n\n"
        told = {"which": which, "reason": quote_data(reason, ERROR_CHARACTERS)}
        try:
            found = await talk.ask(render_template("repair", **told), _WHOLE)
        except ReplyRefused:
            return None
        talk.log.append(f"repaired: {reason}")
        return proposal_of(found, proposal.op, proposal.parents, proposal.note, talk)

    def refused(self, error: ReplyRefused, parents: tuple[str, ...], talk: Conversation) -> Proposal:
        """Return a proposal without a program, because the optimiser's reply was unusable."""
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
    """Meta Agent Search: a model writes complete new workflows from the archive of earlier ones.

    After "Automated Design of Agentic Systems" (Hu, Lu & Clune 2025, ICLR). A proposal needs three calls: one
    writes a program, one compares it with the latest member of the archive, and one checks it against a list
    of common mistakes. Then a program that does not run is repaired a limited number of times. Unlike in the
    original, programs are repaired before they are scored, the prompt shows only a part of the archive, and
    it shows a standard deviation with each score.
    """

    name: str = "adas"

    async def propose(self, view: PolicyView) -> Proposal:
        """Make three calls: idea, reflection, check. If a later call fails, keep the last program."""
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
    """A proposer that draws a parent by the candidates' posterior and changes one thing in the parent."""

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
        """Ask the optimiser to change the program of `parent`.

        `told` contains the template fields that all subclasses use.
        """


@dataclass(frozen=True, slots=True)
class AFlow(_LeaderPolicy):
    """Tree search over small changes of a workflow, using the results of earlier changes.

    After "AFlow: Automating Agentic Workflow Generation" (Zhang et al. 2025, ICLR): the model is asked for
    one change of a parent, given the parent's failures and the earlier changes of the parent. Unlike in the
    original, an earlier change is described as better, worse or undecided, because with a hundred labels most
    differences are noise. Only changes that are probably worse are discouraged. Failures show which choices
    experts refuted, but never the right answer. An unusable reply uses up a slot but costs no evaluation.
    """

    name: str = "aflow"

    async def change(self, view: PolicyView, parent: str, talk: Conversation, told: Fields) -> Fields:
        """Ask for a change; if the change was tried before, ask once for a different one."""
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

    After GEPA (Agrawal et al. 2025), with complementary feedback: if an expert says no to the chosen option,
    the answer is certainly wrong and is shown as wrong. An answer that was not refuted may still be wrong; it
    is shown as unknown, with the estimated share of wrong answers among unknown ones. Unlike in GEPA, a child
    need not first win on a minibatch, because with complementary labels more than half of all batches of
    three contain no refuted answer. For a refuted answer, the model is also shown each call's question and
    reply, which reveal the cause.
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
    """Return the probability that an answer that was not refuted is wrong, 1 − A/q.

    A is the candidate's accuracy, and q the share of items on which it avoided the refused options. The
    result is 0 if q is unknown (None) or 0.

    Examples
    --------
    At K = 4 and A = .6: q = (A + K − 2)/(K − 1) = .867, so 31 % of the answers that are not refuted are
    wrong.
    """
    return min(1.0, max(0.0, 1 - accuracy / avoided)) if avoided else 0.0


def proposal_of(found: Fields, op: str, parents: tuple[str, ...], note: str, talk: Conversation) -> Proposal:
    """Return a proposal whose program is read from the fields of the optimiser's reply."""
    program = Program(found.get("name", op)[:60], found["code"], found.get("thought", note))
    return Proposal(program, op, parents, note, log=tuple(talk.log), tokens=talk.tokens, talk=talk)
