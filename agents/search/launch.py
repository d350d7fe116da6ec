"""Run a prepared search with its models: broker, budget and proposer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import replace

from oversight.agents.runtime import Broker, dry_run_program, name_model, replay_program
from oversight.agents.sandbox import Sandbox, open_sandbox
from oversight.agents.search.answering import open_answering
from oversight.agents.search.checked_settings import optimiser_name
from oversight.agents.search.confirmation import confirm_finalists
from oversight.agents.search.context import SearchContext
from oversight.agents.search.loop import ASK_AGAIN, RAISE, Ended, search
from oversight.agents.search.policies import (
    Adas,
    AFlow,
    Optimizer,
    Policy,
    Recombine,
    Reflect,
    Wordings,
    write_guide,
)
from oversight.agents.search.search_costs import estimate_costs
from oversight.agents.search.setup import model_name
from oversight.harness import BudgetSpent, TransientModelError
from oversight.harness.config import Study
from oversight.harness.llm import DEFAULT_TERMS, RunTerms
from oversight.harness.store import Store
from oversight.harness.types import Item, Program

WORDS = 8
"""Number of words in a row that do not agree by chance."""


async def continue_search(
    study: Study,
    store: Store,
    context: SearchContext,
    progress: Callable[[str], None],
    terms: RunTerms = DEFAULT_TERMS,
) -> Ended:
    """Run a search to its end, or until its budget ends; stored answers are not requested again.

    Raises
    ------
    ConfigError
        If a model, a key or a price that a budget in dollars needs is missing.
    FatalModelError, SandboxError
        If the endpoint or the sandbox fails; stored answers are kept.
    RunHeld
        If another process runs this search.
    """
    if context.section.tokens is None and context.section.usd is None:
        cap = (await estimate_costs(study, context)).default_cap
        progress(
            f"no cap is set: the search stops before it uses {cap:,} tokens; "
            "--set search.tokens=N sets another cap"
        )
        context = replace(context, section=context.section.model_copy(update={"tokens": cap}))
    section = context.section
    name, writer = model_name(study, section.model), optimiser_name(study, section)
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(open_sandbox(section.tier))
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
        ended = _end_as_named(context)
        if ended is None:
            ended = await search(context, make_policy(context, sandbox, answering.writer))
        return await _confirm(context, ended) if ended.is_whole else ended


def _end_as_named(context: SearchContext) -> Ended | None:
    """End the search if a winner was named earlier, because no later proposal could win."""
    events = context.archive.events
    if "winner" not in events or "finalists" in events:
        return None
    return Ended(
        "a winner was named when a cap ended the search, and stays; begin another one with another seed",
        sum(key.startswith("slot/") for key in events),
    )


async def _confirm(context: SearchContext, ended: Ended) -> Ended:
    try:
        await confirm_finalists(context)
    except BudgetSpent as error:
        return replace(ended, reason=f"{error}; {RAISE}")
    except TransientModelError as error:
        return replace(ended, reason=f"{error}; {ASK_AGAIN}")
    return ended


async def check_program(context: SearchContext, sandbox: Sandbox, program: Program) -> str:
    """Return the reason why a program cannot be used: it quotes items on which it is scored.

    Raises
    ------
    ProgramRefused
        If the gate or a free run refuses it.
    """
    splits = context.archive.splits
    judged = [item for name, part in splits.items() if name != "feedback" for item in part]
    reason = find_quotation(program.source, judged)
    if not reason:
        await try_out(context, sandbox, program)
    return reason


def find_quotation(source: str, items: Iterable[Item]) -> str:
    """Return the id of the item that a source quotes; empty if it quotes none.

    A program may learn how to answer, but not the answers.
    """
    grams = _grams(source)
    quoted = (item.id for item in items if not grams.isdisjoint(_grams(item.text)))
    told = (f"it quotes {WORDS} words or more of the item {name!r}, which it is judged on" for name in quoted)
    return next(told, "")


def _grams(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return {tuple(words[j : j + WORDS]) for j in range(len(words) - WORDS + 1)}


async def try_out(context: SearchContext, sandbox: Sandbox, program: Program) -> int:
    """Run a program for free. Returns its calls per item."""
    shape = replace(context.shape, examples=())
    return await dry_run_program(program, sandbox=sandbox, roles=context.roles, shape=shape)


def make_policy(context: SearchContext, sandbox: Sandbox, broker: Broker | None) -> Policy:
    """Create the proposer that the settings name."""
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
    """Describe the items for the optimiser: the study's description, and one item that is not scored."""
    lines = [context.section.task or "Multiple-choice questions; exactly one option is right."]
    for item in context.items("feedback")[:1]:
        lines.append(f"For example (the answer is not known):\n{item.text}")
        lines += [f"- {option}" for option in item.shown_options]
    return "\n".join(lines)
