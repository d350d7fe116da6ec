"""Who answers a search's programs: this process alone, or in a database on a server all that help it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from oversight.agents.runtime import (
    Broker,
    Leader,
    ProgramTerms,
    SharedTerms,
    Workbench,
    answer_items,
    lead_work,
    make_spec_of_work,
)
from oversight.agents.sandbox import Sandbox
from oversight.agents.search.context import Evaluate, SearchContext
from oversight.agents.search.setup import model_name
from oversight.harness.analysis import study_prices
from oversight.harness.config import Study
from oversight.harness.llm import Budget, BudgetCaps, Price, Target, make_model, make_spec
from oversight.harness.store import Amounts, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """How programs are answered, and whom the optimiser asks, if there is one."""

    evaluate: Evaluate
    writer: Broker | None


def price_of(study: Study, name: str) -> Price | None:
    """The price of a model of study.toml; None if it is unknown."""
    settings = study.model(name)
    return Target(make_spec(name, settings, "$text", None), settings).priced(study_prices(study)).price


@asynccontextmanager
async def open_answering(
    study: Study, store: Store, context: SearchContext, sandbox: Sandbox, terms: SharedTerms, *models: str
) -> AsyncIterator[Answering]:
    """Open the ways to the model that answers and the one that writes, or "", within the search's budget.

    Raises
    ------
    ConfigError
        If a model, a key or a price that a budget in dollars needs is missing.
    RunHeld
        If another process makes this search.
    """
    name, writer = models
    section, price = context.section, price_of(study, name)
    budget = Budget(section.usd, section.tokens, price)
    async with AsyncExitStack() as stack:

        async def open_broker(other: str, within: Budget, leader: Leader | None) -> Broker:
            model, cost = make_model(study.model(other)), price_of(study, other)
            stack.push_async_callback(model.close)
            shared = None if leader is None else leader.calls
            found = Broker.of(
                model, study.model(other), budget=within.at(cost), price=cost, store=store, shared=shared
            )
            stack.push_async_callback(found.close)
            return found

        leader = None
        if store.is_file:
            locked = store.locks.hold({context.id: f"search {context.id}"}, hint="stop it, or let it end")
            stack.enter_context(locked)
            budget.charge_amounts(_find_spent(store, context.id, price))
            broker = await open_broker(name, budget, None)
            bench = Workbench(broker, sandbox, context.roles, context.shape, blames_program=True)
            evaluate: Evaluate = lambda program, items, run: answer_items(program, items, bench, run)  # noqa: E731
        else:
            before = _find_spent(store, context.id, price)
            led = _lead(study, store, context, sandbox, terms, before)
            leader = await stack.enter_async_context(led)
            broker, budget, evaluate = leader.broker, leader.budget, leader.evaluate
        wrote = broker if writer == name else None
        if writer and wrote is None:
            wrote = await open_broker(writer, budget, leader)
        yield Answering(evaluate=evaluate, writer=wrote)


def _find_spent(store: Store, search: str, price: Price | None) -> Amounts:
    """What a search has used, each call at its own price; those without one at the price of now."""
    spent, unpriced = store.searches.read_spent(search)
    return spent if price is None else spent + Amounts(usd=price.dollars(*unpriced))


def _lead(
    study: Study, store: Store, context: SearchContext, sandbox: Sandbox, terms: SharedTerms, before: Amounts
) -> AbstractAsyncContextManager[Leader]:
    """Lead a search, of which so much was used before."""
    section = context.section
    name = model_name(study, section.model)
    programs = ProgramTerms(
        name=f"search {context.id}",
        settings=study.model(name),
        price=price_of(study, name),
        roles=context.roles,
        shape=context.shape,
        tier=section.tier,
        blames_program=True,
    )
    spec = make_spec_of_work(context.id, programs, BudgetCaps(section.usd, section.tokens), terms)
    return lead_work(store, context.id, programs, spec, before, terms.crew, sandbox)
