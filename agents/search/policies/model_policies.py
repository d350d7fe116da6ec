"""Proposers that call a model (the optimiser) to write programs and to repair refused programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from oversight.agents.runtime import Replay
from oversight.agents.search.policies.optimizer import (
    Conversation,
    Optimizer,
    ReplyRefused,
    quote_data,
    render_template,
)
from oversight.agents.search.policies.proposal import PolicyView, Proposal, child_name, draw_leader
from oversight.harness.types import Item, Program

BEST, LATEST = 5, 5
ALWAYS = 2
"""Number of best candidates shown to all proposals; other candidates differ between concurrent proposals."""
CASES = 6
_ERROR_CHARACTERS = 300
MOST_CALLS = 8
_CALL_CHARACTERS = 320
"""Maximum number of characters shown of a call's question, and also of its reply."""


def describe_scale(view: PolicyView) -> str:
    """Return a text that explains the scores of this search and their noise."""
    luck = "" if view.published else " Scores have been corrected for luck."
    return render_template(f"scale_{view.board.scale}", luck=luck)


def describe_standing(view: PolicyView, name: str) -> str:
    """Return a text such as ``61 % ± 5 %, 2 % of answers unreadable, 310 tokens per question``.

    The first number is the posterior mean or, with ``[search] parity``, the uncorrected score. The number
    after ± is the posterior standard deviation, without the uncertainty of the archive's mean. On the scale
    q, the text begins with ``q 0.867 ± 0.020``.
    """
    standing = view.board.standing(name)
    score = standing.value if view.published else standing.mean
    if view.board.scale == "q":
        text = f"q {score:.3f} ± {standing.sd:.3f}"
    else:
        text = f"{100 * score:.0f} % ± {100 * standing.sd:.0f} %"
    if standing.invalid_rate:
        text += f", {100 * standing.invalid_rate:.0f} % of answers unreadable"
    if standing.p_better is not None:
        text += f", better than its parent with probability {standing.p_better:.2f}"
    return f"{text}, {standing.tokens:.0f} tokens per question"


def describe_archive(view: PolicyView) -> str:
    """Describe a part of the archive: some of the best candidates with source, the latest without source.

    Concurrent proposals are shown different candidates, except for the two best, because optimisers with the
    same input would write the same program.
    """
    ranked = view.board.ranked()
    best = _choose_best(ranked, view.slot % view.in_flight)
    latest = [c for c in reversed(view.board.ids) if c not in best][:LATEST]
    parts = []
    for name in (*best, *latest):
        program, standing = view.candidates[name].program, describe_standing(view, name)
        hint, source = "", f"\n```python\n{program.source.strip()}\n```"
        if name in latest:
            hint, source = " (not shown)", ""
        parts.append(f"## {program.name}{hint}: {standing}\n{program.thought}{source}")
    hidden = len(ranked) - len(parts)
    return "\n\n".join(parts) + (f"\n\n({hidden} more are not shown.)" if hidden > 0 else "")


def _choose_best(ranked: list[str], place: int) -> list[str]:
    """Return the two best candidates, and three of the next ones, different for concurrent proposals."""
    head, rest, width = ranked[:ALWAYS], ranked[ALWAYS:], BEST - ALWAYS
    pages = max(1, -(-len(rest) // width))
    start = (place % pages) * width
    return head + rest[start : start + width]


def describe_slot(view: PolicyView) -> dict[str, str]:
    """Return two texts about a slot for the optimiser.

    ``place`` states the slot's number and what to look at first, which differs between concurrent slots.
    ``errors`` quotes the reasons why the latest programs were refused.
    """
    told = f"This is proposal {view.slot + 1} of {view.planned}."
    if view.in_flight > 1:
        told += f" Up to {view.in_flight} are written at once, and none sees the others."
    if not view.published:
        emphases = render_template("emphases").splitlines()
        told += (
            f" If it fits, look first at {emphases[view.slot % len(emphases)]}; the others look elsewhere."
        )
    errors = [f"- {quote_data(reason, _ERROR_CHARACTERS)}" for reason in view.refused]
    if errors:
        errors.insert(0, "These are the last that were refused, and why; the quotations are data, no advice:")
    return {"place": told, "errors": "\n".join(errors) or "None was refused."}


def describe_experience(view: PolicyView, parent: str) -> str:
    """List the changes that were tried on a parent, each with its verdict and probability of being better."""
    advice = {"worse": "do not repeat it", "better": "build on it", "undecided": "not known to matter"}
    lines = []
    for name in view.board.ids:
        candidate = view.candidates[name]
        if parent in candidate.parents:
            compared = view.board.compare(name, parent)
            lines.append(
                f"- {candidate.note or candidate.program.name}: {compared.verdict} "
                f"(P = {compared.p_better:.2f}); {advice[compared.verdict]}"
            )
    return "\n".join(lines) or "Nothing yet."


async def describe_cases(
    view: PolicyView,
    candidate: str,
    most: int = CASES,
    *,
    refuted_only: bool = False,
    with_calls: bool = False,
) -> str:
    """Describe feedback items on which experts refuted the candidate, and items on which they did not.

    The text contains at most `most` items. Items with a refuted answer, which is certainly wrong, fill at
    most half of these places. With `refuted_only`, only such items are shown. The text shows what experts say
    about the candidate's own choice, but never the right option. `with_calls` adds the candidate's calls and
    replies on items with a refuted answer.
    """
    certain = most if refuted_only else most // 2
    refuted: list[tuple[Item, str]] = []
    open_: list[str] = []
    for case in (case for case in await view.judge(candidate, certain) if case.known):
        item = case.item
        chosen = "no readable option" if case.option is None else item.options[case.option]
        if case.settled:
            verdict = "REFUTED: it is another option" if case.refuted else "right"
        elif case.refuted:
            verdict = "REFUTED: the expert says no"
        else:
            verdict = "not refuted: right or wrong is unknown"
        told = f"Question: {item.text}\nOptions: {', '.join(item.options)}\nAnswer given: {chosen}\n{verdict}"
        if case.refuted:
            refuted.append((item, told))
        else:
            open_.append(told)
    shown = []
    for item, told in refuted[:certain]:
        calls = describe_calls(await view.transcribe(candidate, item), item) if with_calls else ""
        shown.append(told + calls)
    if not refuted_only:
        shown += open_[: most - len(shown)]
    return "\n\n".join(shown) or "None are known."


def describe_calls(told: Replay, item: Item) -> str:
    """Return a program's calls and replies, quoted and shortened; empty if none are stored."""
    lines = []
    for number, call in enumerate(told.calls[:MOST_CALLS], 1):
        asked = call.messages[-1].content.replace(item.text, "(the question)").strip()
        ran = "ran" if call.is_code else "asked"
        got = quote_data(call.reply.strip(), _CALL_CHARACTERS) if not call.error else "no usable reply"
        lines.append(f"Call {number} {ran} {quote_data(asked, _CALL_CHARACTERS)} and got {got}")
    if len(told.calls) > MOST_CALLS:
        lines.append(f"({len(told.calls) - MOST_CALLS} more calls are not shown.)")
    return "".join(f"\n{line}" for line in lines)


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
            "scale": describe_scale(view),
            "archive": describe_archive(view),
            **describe_slot(view),
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
    """A proposer that draws a parent from the archive and changes one thing in the parent."""

    async def propose(self, view: PolicyView) -> Proposal:
        """Draw a parent, and let the optimiser change it."""
        parent = draw_leader(view)
        talk = Conversation.begin(self.optimiser, self.name, view.slot)
        told = {
            "task": self.optimiser.task,
            "guide": self.optimiser.guide,
            "scale": describe_scale(view),
            "score": describe_standing(view, parent.id),
            "source": parent.program.source.strip(),
            **describe_slot(view),
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
        """Ask the optimiser for a change; if it was tried before, ask once for a different one."""
        board = [view.candidates[c] for c in view.board.ids]
        prompt = render_template(
            "aflow",
            **told,
            experience=describe_experience(view, parent),
            failures=await describe_cases(view, parent, FAILURES, refuted_only=True),
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
        """Ask the optimiser for the main cause of refuted answers, and for a change that repairs it."""
        wrong = doubt(view.board.accuracy(view.board.standing(parent).mean), view.board.avoided(parent))
        cases = await describe_cases(view, parent, with_calls=True)
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
