"""Running a prepared search against its models: broker, budget, proposer; and pricing it beforehand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from agents.runtime import ALONE, Broker, SharedTerms, dry_run_program, name_model, replay_program
from agents.sandbox import Sandbox, open_sandbox
from agents.search.answering import open_answering, price_of
from agents.search.confirmation import confirm_finalists
from agents.search.context import SearchContext
from agents.search.loop import Ended, search
from agents.search.policies import Adas, AFlow, Optimizer, Policy, Recombine, Reflect, Wordings, write_guide
from agents.search.setup import model_name
from harness import BudgetSpent, ConfigError
from harness.config import SearchSection, Study
from harness.store import Store
from harness.types import Item, Program

META_CALLS = {"recombine": 0, "reflect": 1, "aflow": 1, "adas": 3}
META_TOKENS = 6_000
"""One of the optimiser's calls takes about so many: the guide, a few programs and the reply."""
_CALL_TOKENS = 150
"""A workflow's call takes about so many beside the item's text: role, format, instruction and answer."""
_CHARACTERS_PER_TOKEN = 4
WORDS = 8
"""So many words in a row do not agree by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a search would take, from free runs of its library; proposals are taken to be as large.

    Attributes
    ----------
    calls, tokens
        Those of answers, for library, proposals, confirmation and test together.
    meta_tokens
        The optimiser's.
    usd
        None if a price is unknown.
    affordable
        Proposals that the cap on tokens or dollars allows for, about; None without a cap.
    """

    calls: int
    tokens: int
    meta_tokens: int
    usd: float | None
    affordable: int | None

    def lines(self) -> list[str]:
        """In words."""
        price = "price unknown" if self.usd is None else f"about ${self.usd:.2f}"
        lines = [
            f"about {self.calls:,} calls with {self.tokens:,} tokens, and {self.meta_tokens:,} tokens of the "
            f"optimiser: {price}"
        ]
        if self.affordable is not None:
            lines.append(f"the budget allows for about {self.affordable} proposals")
        return lines


async def continue_search(
    study: Study,
    store: Store,
    context: SearchContext,
    progress: Callable[[str], None],
    terms: SharedTerms = ALONE,
) -> Ended:
    """Run a search to its end, or until its budget ends; what was answered before is not asked again.

    In a database on a server other processes may help to run programs; all is decided here.

    Raises
    ------
    ConfigError
        If a model, a key or a price that a budget in dollars needs is missing.
    FatalModelError, SandboxError
        What was answered is kept.
    RunHeld
        If another process makes this search.
    """
    section = context.section
    name, writer = model_name(study, section.model), _optimiser_name(study, section)
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(open_sandbox(section.tier))
        context.check_settings()
        opening = open_answering(study, store, context, sandbox, terms, name, writer)
        answering = await stack.enter_async_context(opening)
        progress(f"sandbox: {sandbox.name}")
        context = replace(
            context,
            evaluate=answering.evaluate,
            check=lambda program: check_program(context, sandbox, program),
            retell=lambda program, item: replay_program(
                program,
                item,
                name_model(study.model(name)),
                store,
                sandbox=sandbox,
                roles=context.roles,
                shape=context.shape,
            ),
            progress=progress,
        )
        ended = await search(context, make_policy(context, sandbox, answering.writer))
        if not context.complete(context.start):
            return ended
        try:
            await confirm_finalists(context)
        except BudgetSpent as error:
            return Ended(f"{error}; no winner was confirmed: raise the cap, then resume", ended.proposals)
        return ended


async def check_program(context: SearchContext, sandbox: Sandbox, program: Program) -> str:
    """Why a program cannot be used: it quotes items it is judged on.

    Raises
    ------
    ProgramRefused
        If the gate or a free run refuses it.
    """
    splits = context.archive.splits
    judged = [item for name, part in splits.items() if name != "feedback" for item in part]
    reason = find_quotation(program.source, judged)
    if not reason:
        await _try_out(context, sandbox, program)
    return reason


def find_quotation(source: str, items: Iterable[Item]) -> str:
    """Say which item a source quotes, by its id alone; empty if none.

    A program may learn how to answer, never what.
    """
    grams = _grams(source)
    quoted = (item.id for item in items if not grams.isdisjoint(_grams(item.text)))
    told = (f"it quotes {WORDS} words or more of the item {name!r}, which it is judged on" for name in quoted)
    return next(told, "")


def _grams(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return {tuple(words[j : j + WORDS]) for j in range(len(words) - WORDS + 1)}


async def _try_out(context: SearchContext, sandbox: Sandbox, program: Program) -> int:
    """Run a program for free, and return its calls per item; what is shown is no matter here."""
    shape = replace(context.shape, examples=())
    return await dry_run_program(program, sandbox=sandbox, roles=context.roles, shape=shape)


def make_policy(context: SearchContext, sandbox: Sandbox, broker: Broker | None) -> Policy:
    """Make the proposer that the settings name."""
    if context.section.policy == "recombine" or broker is None:
        return Recombine(Wordings.bundled().with_roles(role.text for role in context.roles))
    policies: dict[str, Callable[[Optimizer], Policy]] = {"adas": Adas, "aflow": AFlow, "reflect": Reflect}
    section = context.section
    optimiser = Optimizer(
        broker.ask,
        task_text(context),
        write_guide(sandbox.restrictions(), context.roles, context.shape),
        section.optimiser_temperature,
        section.optimiser_tokens,
    )
    return policies[context.section.policy](optimiser)


def task_text(context: SearchContext) -> str:
    """What the optimiser is told of the items: the study's words, and one item that is not judged on."""
    lines = [context.section.task or "Multiple-choice questions; exactly one option is right."]
    for item in context.items("feedback")[:1]:
        lines.append(f"For example (the answer is not known):\n{item.text}")
        lines += [f"- {option}" for option in item.shown_options]
    return "\n".join(lines)


async def estimate_costs(study: Study, context: SearchContext) -> Costs:
    """Price a search by running its library for free; a call's tokens are guessed from the items' texts."""
    context.check_settings()
    section, select = context.section, context.items("select")
    async with open_sandbox(section.tier) as sandbox:
        calls = [await _try_out(context, sandbox, program) for program in context.programs]
    n, typical = len(select), sum(calls) / len(calls)
    rungs = [r for r in section.rungs if r < n] + [n]
    steps = [after - before for before, after in zip((0, *rungs), rungs, strict=False)]
    each = typical * sum(step * share for step, share in zip(steps, (1.0, *section.keep), strict=False))
    runs, test = section.replicates, len(context.items("test"))
    after = section.finalists * len(context.items("confirm")) * runs
    after += test * (len(calls) if section.parity else 2)
    each = each * runs + (typical * test if section.parity else 0)
    fixed = (sum(calls) * runs + calls[0]) * n + typical * after
    per_call = _CALL_TOKENS + sum(len(item.text) for item in select) / n / _CHARACTERS_PER_TOKEN
    meta = META_CALLS[section.policy] * META_TOKENS
    total = fixed + each * section.candidates
    tokens, optimiser = round(total * per_call), meta * section.candidates
    price = price_of(study, model_name(study, section.model))
    usd = None if price is None else price.dollars(tokens + optimiser, 0)
    caps = [section.tokens] if section.tokens is not None else []
    if section.usd is not None and usd:
        caps.append(round(section.usd / usd * (tokens + optimiser)))
    affordable = max(0, int((min(caps) - fixed * per_call) / (each * per_call + meta))) if caps else None
    return Costs(calls=round(total), tokens=tokens, meta_tokens=optimiser, usd=usd, affordable=affordable)


def _optimiser_name(study: Study, section: SearchSection) -> str:
    if section.policy == "recombine":
        return ""
    if not section.optimiser:
        raise ConfigError(
            f"search: the policy {section.policy!r} needs a model that writes programs: optimiser = NAME of "
            f"[models]; there are: {', '.join(study.models)}"
        )
    study.model(section.optimiser)
    return section.optimiser
