"""Estimate the cost of a search, and run a prepared search with its models, budget and proposer."""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from oversight.agents.runtime import (
    Broker,
    DryRunBroker,
    Workbench,
    answer_items,
    dry_run_program,
    find_runner,
    name_model,
    open_broker,
    replay_program,
)
from oversight.agents.sandbox import Sandbox, open_sandbox
from oversight.agents.search.confirmation import confirm_finalists
from oversight.agents.search.context import PORTION, SearchContext
from oversight.agents.search.loop import ASK_AGAIN, RAISE, Ended, search
from oversight.agents.search.policies.model_policies import Adas, AFlow, Reflect
from oversight.agents.search.policies.optimizer import Optimizer, write_guide
from oversight.agents.search.policies.proposal import Policy
from oversight.agents.search.policies.recombine import Recombine, read_wordings
from oversight.agents.search.setup import model_name, optimiser_name, price_of
from oversight.harness import BadInput, BudgetSpent, FloatArray, TransientModelError
from oversight.harness.config import SearchSection, Study
from oversight.harness.llm import DEFAULT_TERMS, Budget, Price, RunTerms
from oversight.harness.output import say
from oversight.harness.store import SEARCHES, Store
from oversight.harness.types import Item, Program

META_CALLS = {"recombine": 0, "reflect": 1, "aflow": 1, "adas": 3}
"""Number of the optimiser's calls per proposal, without repairs, for each policy."""
REFUTED = {"recombine": 0, "reflect": 3, "aflow": 3, "adas": 0}
"""Number of refuted answers that the optimiser is shown per proposal, for each policy."""
_SHOWN = 7
"""Length of an `adas` prompt in lengths of a program: five programs, and texts as long as two programs."""
_CHARACTERS_PER_TOKEN = 4
_THOUGHT = 600
"""Assumed characters of a free text if the study sets no limit: a paragraph of 150 tokens."""
_LINE = 60
"""Assumed characters of a field in the style ``"lines"``."""
_SAMPLE, _DRAWS = 3, 24
"""Number of selection items for dry runs, and of programs derived from the library for dry runs."""
_MANY = 10**9
DEFAULT_CAP = 2
"""Default cap of a search, as a multiple of the estimate, which is accurate within a factor of 1.5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Expected cost of a search, from dry runs of the start programs and of programs derived from them.

    Attributes
    ----------
    calls, tokens
        Number of calls and tokens of all programs: library, proposals, confirmation and test.
    meta_tokens
        Number of the optimiser's tokens.
    usd
        Cost in dollars; None if a price is unknown.
    affordable
        Approximate number of proposals within the cap on tokens or dollars; None without a cap.
    """

    calls: int
    tokens: int
    meta_tokens: int
    usd: float | None
    affordable: int | None

    @property
    def default_cap(self) -> int:
        """Number of tokens that a search without a cap may use."""
        return DEFAULT_CAP * (self.tokens + self.meta_tokens)

    def lines(self) -> list[str]:
        """Return the costs as lines of text."""
        price = "price unknown" if self.usd is None else f"about ${self.usd:.2f}"
        cap = f"the budget allows for about {self.affordable} proposals"
        if self.affordable is None:
            cap = f"no cap is set: the search stops before it uses {self.default_cap:,} tokens"
        return [
            f"about {self.calls:,} calls with {self.tokens:,} tokens, and {self.meta_tokens:,} tokens of the "
            f"optimiser: {price}",
            cap,
        ]


Size: TypeAlias = FloatArray
"""Numbers of calls, tokens sent and tokens received, for example of a program per item."""
Calls = dict[tuple[str, str], tuple[int, int]]
"""Characters that each call sends and receives, by request and path, because programs may share a call."""


async def estimate_costs(study: Study, context: SearchContext) -> Costs:
    """Estimate a search's cost from dry runs of its workflows on a few items, with typical reply lengths."""
    section = context.section
    async with open_sandbox(section.tier) as sandbox:
        sizes = [await _measure(context, sandbox, program) for program in context.programs]
        known = {call: size for calls in sizes for call, size in calls.items()}
        made = [await _measure(context, sandbox, program) for program in _draw_children(context)]
        meta = _measure_meta(context, sandbox)
    new = [{call: size for call, size in child.items() if call not in known} for child in made]
    child = np.mean([_add_up(calls) for calls in new], axis=0)
    fixed = _price_once(context, _add_up(sizes[0]), _add_up(known), child)
    each = child * _count_items(context)
    number = section.candidates
    once = _price(study, section, fixed, np.zeros(3))
    proposal = _price(study, section, each, meta)
    return Costs(
        calls=round(fixed[0] + each[0] * number),
        tokens=round(fixed[1:].sum()) + number * round(each[1:].sum()),
        meta_tokens=round(meta[1:].sum()) * number,
        usd=once[0] + number * proposal[0] if once[0] < math.inf else None,
        affordable=_count_affordable(section, once, proposal),
    )


async def _measure(context: SearchContext, sandbox: Sandbox, program: Program) -> Calls:
    """Dry-run a program on a few items, with pseudo-random choices. Returns its calls."""
    shape = context.shape
    most = _LINE if shape.style == "lines" else _THOUGHT if shape.field_chars is None else shape.field_chars
    words = ("word " * most)[:most].strip()
    broker = DryRunBroker(None, words)
    bench = Workbench(broker, sandbox, context.roles, replace(shape, style="json"))
    await answer_items(program, _sample_items(context), bench)
    return broker.asked


def _add_up(calls: Calls) -> Size:
    """Return the usage of these calls per sampled item."""
    characters = np.array(list(calls.values())).reshape(-1, 2).sum(axis=0)
    return np.array([len(calls), *characters / _CHARACTERS_PER_TOKEN]) / _SAMPLE


def _sample_items(context: SearchContext) -> list[Item]:
    """Return `_SAMPLE` selection items at evenly spaced quantiles of text length."""
    ordered = sorted(context.items("select"), key=lambda item: (len(item.text), item.id))
    return [ordered[len(ordered) * (2 * j + 1) // (2 * _SAMPLE)] for j in range(_SAMPLE)]


def _draw_children(context: SearchContext) -> list[Program]:
    """Derive programs with `Recombine`; their estimated cost stands for that of any policy's proposals."""
    rng = np.random.default_rng(0)
    proposer = Recombine(read_wordings(role.text for role in context.roles))
    programs = context.programs
    pairs = rng.integers(len(programs), size=(_DRAWS, 2))
    edited = (proposer.edit(programs[a].source, programs[b].source, rng)[1] for a, b in pairs)
    return [Program("child", source) for source, _ in edited]


def _price_once(context: SearchContext, start: Size, library: Size, child: Size) -> Size:
    """Return the usage that does not depend on the number of proposals.

    This is the usage of the library, of the second run of the start program, of confirmation and of the test.
    """
    section = context.section
    seeded = (library * section.replicates + start) * len(context.items("select"))
    confirmed = child * (section.finalists * len(context.items("confirm")) * section.replicates)
    tested = library if section.parity else start + child
    return seeded + confirmed + tested * len(context.items("test"))


def _count_items(context: SearchContext) -> float:
    """Return the expected number of answers per proposal: race, feedback and, with parity, test items."""
    section, n = context.section, len(context.items("select"))
    rungs = [r for r in section.rungs if r < n] + [n]
    steps = [after - before for before, after in zip((0, *rungs), rungs, strict=False)]
    # The number of answers in a race is estimated as the geometric mean of two extremes:
    # - `equal`: all proposals are equally good, so the share `keep` of them continues after each rung;
    # - n: each proposal is the best so far, so it runs on all n items.
    equal = sum(step * share for step, share in zip(steps, (1.0, *section.keep), strict=False))
    raced = math.sqrt(equal * n)
    judged = min(len(context.items("feedback")), PORTION * REFUTED[section.policy])
    tested = len(context.items("test")) if section.parity else 0
    return raced * section.replicates + judged + tested


def _measure_meta(context: SearchContext, sandbox: Sandbox) -> Size:
    """Return the optimiser's usage per proposal; each call of a conversation repeats all earlier turns."""
    calls = META_CALLS[context.section.policy]
    source = sum(len(program.source) for program in context.programs) / len(context.programs)
    guide = len(write_guide(sandbox.restrictions(), context.roles, context.shape))
    first = guide + source * (_SHOWN if context.section.policy == "adas" else 2)
    reply = source + _THOUGHT
    sent = sum(first + turn * (reply + _THOUGHT) for turn in range(calls))
    return np.array([calls, sent / _CHARACTERS_PER_TOKEN, calls * reply / _CHARACTERS_PER_TOKEN])


def _price(study: Study, section: SearchSection, programs: Size, optimiser: Size) -> tuple[float, int]:
    """Return the total cost of programs and optimiser in dollars (infinite without a price) and in tokens."""
    usd = 0.0
    names = model_name(study, section.model), optimiser_name(study, section)
    tokens = [round(used[1:].sum()) for used in (programs, optimiser)]
    for name, used, total in zip(names, (programs, optimiser), tokens, strict=True):
        if name:
            price, received = price_of(study, name), round(used[2])
            usd += math.inf if price is None else price.dollars(total - received, received)
    return usd, sum(tokens)


def _count_affordable(
    section: SearchSection, once: tuple[float, int], proposal: tuple[float, int]
) -> int | None:
    """Return the number of proposals that the caps allow after the fixed cost `once`; None without a cap."""
    caps = zip((section.usd, section.tokens), once, proposal, strict=True)
    room = [(cap - first) / each for cap, first, each in caps if cap is not None and each]
    return max(0, int(min(*room, _MANY))) if room else None


WORDS = 8
"""Number of consecutive words of an item that a program may not contain; fewer may occur by chance."""


async def continue_search(
    study: Study,
    store: Store,
    context: SearchContext,
    progress: Callable[[str], None],
    terms: RunTerms = DEFAULT_TERMS,
) -> Ended:
    """Run a search until it ends or its budget is exhausted; stored answers are not requested again.

    Raises
    ------
    ConfigError
        If a model or an API key is missing, or the budget is in dollars and a price is missing.
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
    name = model_name(study, context.section.model)
    async with (
        open_sandbox(context.section.tier) as sandbox,
        _open_brokers(study, store, context, terms) as (broker, writer),
    ):
        progress(f"sandbox: {sandbox.name}")
        runner = find_runner(sandbox, terms.workers)
        bench = Workbench(broker, runner, context.roles, context.shape, blames_program=True)
        context = replace(
            context,
            evaluate=lambda program, items, run: answer_items(program, items, bench, run),
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
            ended = await search(context, make_policy(context, sandbox, writer))
        return await _confirm(context, ended) if ended.is_whole else ended


@asynccontextmanager
async def _open_brokers(
    study: Study, store: Store, context: SearchContext, terms: RunTerms
) -> AsyncIterator[tuple[Broker, Broker | None]]:
    """Open the broker of the model that answers, and that of the model that writes programs, if any."""
    section = context.section
    name, writer = model_name(study, section.model), optimiser_name(study, section)
    budget = Budget(section.usd, section.tokens, price_of(study, name))
    runs = {context.id: f"search {context.id}", SEARCHES: "a search of this study"}
    with store.locks.hold(runs, wait=terms.wait, take_over=terms.take_over, tell=say):
        _refuse_changed_items(store, context)
        _charge_before(study, store, context.id, budget)
        async with AsyncExitStack() as stack:
            brokers = dict[str, Broker]()
            for other in dict.fromkeys((name, writer)) if writer else (name,):
                cost = price_of(study, other)
                opening = open_broker(
                    study.model(other),
                    terms,
                    store=store,
                    budget=budget.at(cost),
                    price=cost,
                    holds_lost=terms.uncertain == "hold",
                    # Check all models before the library's workflows make paid calls.
                    checks=not context.archive.candidates,
                )
                brokers[other] = await stack.enter_async_context(opening)
            yield brokers[name], brokers.get(writer)


def _refuse_changed_items(store: Store, context: SearchContext) -> None:
    """Raise an error if another command changed one of the search's items after `context` was read."""
    items = [item for part in context.archive.splits.values() for item in part]
    stored = store.content.find_items([item.id for item in items])
    for item in items:
        now = stored.get(item.id)
        if now is None or (now.text, now.options) != (item.text, item.options):
            raise BadInput(f"item {item.id!r} was removed or corrected meanwhile; run the command again")


def _charge_before(study: Study, store: Store, search: str, budget: Budget) -> None:
    """Charge the budget with all calls made since a search began, at the prices stored with the calls.

    A call without a stored price does not record its model, so it is charged at the highest price of the
    study's models.
    """
    usd, tokens, unpriced = store.searches.read_spent(search)
    known = [price for name in study.models if (price := price_of(study, name))]
    if known and any(unpriced):
        highest = Price(max(price.input for price in known), max(price.output for price in known))
        if more := highest.dollars(*unpriced):
            say(
                f"search {search}: calls were made before their price was known; their {sum(unpriced):,} "
                f"tokens are charged at the highest price of the study's models, ${more:.2f} in total"
            )
        usd += more
    budget.charge_amounts(usd, tokens)


def _end_as_named(context: SearchContext) -> Ended | None:
    """Return the outcome of a search that stopped at a cap after its winner was named.

    Returns None if no winner was named, or if the search ran to its end, where it records its finalists.
    """
    events = context.archive.events
    if "winner" not in events or "finalists" in events:
        return None
    return Ended(
        "the search ended at a cap, and its winner can no longer change; start another search with another "
        "seed",
        len(context.archive.slots),
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
    """Return the reason to refuse a program that quotes items on which it is scored; empty if it quotes none.

    Raises
    ------
    ProgramRefused
        If the static gate refuses the program, or its dry run fails.
    """
    splits = context.archive.splits
    judged = [item for name, part in splits.items() if name != "feedback" for item in part]
    reason = find_quotation(program.source, judged)
    if not reason:
        shape = replace(context.shape, examples=())
        await dry_run_program(program, sandbox=sandbox, roles=context.roles, shape=shape)
    return reason


def find_quotation(source: str, items: Iterable[Item]) -> str:
    """Return a message with the id of an item that a source quotes; empty if it quotes none.

    A program may contain methods for answering items, but not the items and their answers.
    """
    grams = _grams(source)
    quoted = (item.id for item in items if not grams.isdisjoint(_grams(item.text)))
    told = (f"it quotes {WORDS} words or more of the item {name!r}, on which it is scored" for name in quoted)
    return next(told, "")


def _grams(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return {tuple(words[j : j + WORDS]) for j in range(len(words) - WORDS + 1)}


def make_policy(context: SearchContext, sandbox: Sandbox, broker: Broker | None) -> Policy:
    """Create the proposer that the settings name."""
    if context.section.policy == "recombine" or broker is None:
        return Recombine(read_wordings(role.text for role in context.roles))
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
    """Describe the items to the optimiser: the study's description, and a feedback item without answer."""
    lines = [context.section.task or "Multiple-choice questions; exactly one option is right."]
    for item in context.items("feedback")[:1]:
        lines.append(f"For example (the answer is not known):\n{item.text}")
        lines += [f"- {option}" for option in item.shown_options]
    return "\n".join(lines)
