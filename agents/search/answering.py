"""Connect the programs of a search to its models, within the budget of the search."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from oversight.agents.runtime import Broker, Workbench, answer_items, find_runner
from oversight.agents.sandbox import Sandbox
from oversight.agents.search.checked_settings import price_of
from oversight.agents.search.context import Evaluate, SearchContext
from oversight.harness import BadInput
from oversight.harness.config import Study
from oversight.harness.llm import Budget, Price, RunTerms
from oversight.harness.output import say
from oversight.harness.store import SEARCHES, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """A function that runs a program on items, and the broker of the model that writes programs, if any."""

    evaluate: Evaluate
    writer: Broker | None


@asynccontextmanager
async def open_answering(
    study: Study, store: Store, context: SearchContext, sandbox: Sandbox, terms: RunTerms, *models: str
) -> AsyncIterator[Answering]:
    """Open the models of a search.

    `models` are the names of the model that answers and of the model that writes programs; the second name is
    "" if no model writes programs.

    Raises
    ------
    ConfigError
        If a model or an API key is missing, or the budget is in dollars and a price is missing.
    FatalModelError
        If the search is new and one of its models cannot be reached.
    BadInput
        If an item of the search was removed or corrected after `context` was read.
    RunHeld
        If another process runs this search.
    """
    name, writer = models
    section, price = context.section, price_of(study, name)
    budget = Budget(section.usd, section.tokens, price)
    async with AsyncExitStack() as stack:
        runs = {context.id: f"search {context.id}", SEARCHES: "a search of this study"}
        locked = store.locks.hold(runs, wait=terms.wait, take_over=terms.take_over, tell=say)
        stack.enter_context(locked)
        _refuse_changed_items(store, context)
        _charge_before(study, store, context.id, budget)

        async def open_broker(other: str) -> Broker:
            settings, cost = study.model(other), price_of(study, other)
            model = terms.workers.make_model(settings)
            stack.push_async_callback(model.close)
            if not context.archive.candidates:
                # Check all models, including the optimiser, before the library's workflows make paid calls.
                await model.check()
            found = Broker.for_model(
                model,
                settings,
                budget=budget.at(cost),
                price=cost,
                store=store,
                workers=terms.workers.number,
                holds_lost=terms.uncertain == "hold",
            )
            stack.push_async_callback(found.close)
            return found

        broker = await open_broker(name)
        runner = find_runner(sandbox, terms.workers)
        bench = Workbench(broker, runner, context.roles, context.shape, blames_program=True)
        wrote = broker if writer == name else await open_broker(writer) if writer else None
        yield Answering(
            evaluate=lambda program, items, run: answer_items(program, items, bench, run), writer=wrote
        )


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
                f"tokens are charged at the highest price of the study's models, ${more:.2f}"
            )
        usd += more
    budget.charge_amounts(usd, tokens)
