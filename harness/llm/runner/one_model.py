"""One model over items at hand, as a function of Python: settings in, predictions out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from harness.config import ModelSection
from harness.llm.answers import DEFAULT_TEMPLATE, check_template
from harness.llm.limits import PriceTable
from harness.llm.runner.run_models import BudgetCaps, run_targets
from harness.llm.runner.targets import Target, make_spec
from harness.store import Store
from harness.types import Item, Prediction


def run(
    model: str | Callable[[str], Any],
    items: Iterable[Item],
    *,
    store: str,
    template: str = DEFAULT_TEMPLATE,
    system: str = "",
    budget_usd: float | None = None,
    budget_tokens: int | None = None,
    prices: PriceTable | None = None,
    **settings: Any,
) -> list[Prediction]:
    """Ask a model about every item and return its predictions.

    Parameters
    ----------
    model
        The model's name as its endpoint knows it, or a callable from prompt to answer; its name and
        module then name the run, so change the name when it answers differently.
    items
        What to ask about; drawn once, portion by portion.
    store
        SQLite file or SQLAlchemy URL; answers that are there already are not paid for again.
    template
        Prompt template; see `harness.llm.answers.prompt.render_prompt` for its fields.
    system
        System prompt; none if empty.
    budget_usd, budget_tokens
        Hard limits for this run, counting what it cost before; dollars need a price in `prices`.
    prices
        From `harness.llm.limits.prices.read_prices`.
    **settings
        Fields of `harness.config.ModelSection`: endpoint, api_key_env, temperature, max_tokens, stop,
        samples, structured, logprobs, concurrency, requests_per_minute, tokens_per_minute, timeout, tries.

    Raises
    ------
    ConfigError
        If the key or the local server is missing, or the template cannot be filled in.
    DataError
        If an item id is there twice.
    FatalModelError
        If the endpoint cannot be reached or refuses in a way that no repetition mends.
    BudgetSpent
        If a limit is reached; what was answered is stored.
    """
    function = None if isinstance(model, str) else model
    if function is not None:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        section = ModelSection(model=name, endpoint=f"python {function.__module__}:{name}", **settings)
    else:
        section = ModelSection(model=str(model), **settings)
    spec = make_spec(section.model, section, check_template(template), None, system)
    with Store(store if "://" in store else f"sqlite:///{store}") as repository:
        ids = repository.content.add_items(items)
        [outcome] = run_targets(
            repository,
            ids,
            [Target(spec, section, function=function)],
            prices=prices or PriceTable(),
            limits=BudgetCaps(budget_usd, budget_tokens),
        )
        wanted = set(ids)
        return [p for p in repository.runs.read_predictions(outcome.target.spec.id) if p.item_id in wanted]
