"""Running a prepared search against its models: broker, budget, proposer; and pricing it beforehand."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from typing import Any

from agents.runtime import Broker
from agents.search.loop import Ended, Policy, complete, confirm_finalists, search
from agents.search.policies import Optimizer, Recombine, Wordings
from agents.search.setup import Bench, Prepared, model_name, open_bench
from harness import BudgetSpent, ConfigError
from harness.analysis import study_prices
from harness.config import Study
from harness.llm import Budget, Price, PriceTable, Target, make_model, make_spec, price_target
from harness.store import Store

META_CALLS = {"recombine": 0, "reflect": 1, "aflow": 1, "adas": 3}
META_TOKENS = 6_000
"""Of one of the optimiser's calls, about: the guide, a few programs and the reply."""
_CALL_TOKENS = 150
"""Of a workflow's call beside the item's text, about: role, format, instruction and answer."""
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Costs:
    """What a search would take, from free runs of its library; proposals are taken to be as large.

    Attributes
    ----------
    calls, tokens
        Of answers, for library, proposals, confirmation and test together.
    meta_tokens
        Of the optimiser.
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

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

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
    study: Study, store: Store, prepared: Prepared, progress: Callable[[str], None]
) -> Ended:
    """Run a search to its end, or until its budget ends; what was answered before is not asked again.

    Raises
    ------
    ConfigError
        If a model, a key or a price that a budget in dollars needs is missing.
    FatalModelError, SandboxError
        What was answered is kept.
    """
    section = prepared.section
    name = model_name(study, section.model)
    prices = study_prices(study)
    budget = Budget(section.usd, section.tokens, _price(study, name, prices))
    budget.charge(*store.searches.count_tokens(prepared.id))
    writer = _optimiser_name(study, prepared)
    async with AsyncExitStack() as stack:
        brokers: dict[str, Broker] = {}
        for used in dict.fromkeys(n for n in (name, writer) if n):
            model = make_model(study.model(used))
            stack.push_async_callback(model.close)
            brokers[used] = _broker(study, used, model, budget, prices, store)
            stack.push_async_callback(brokers[used].close)
        bench = await stack.enter_async_context(open_bench(prepared))
        progress(f"sandbox: {bench.sandbox.name}")
        state = bench.state(brokers[name], progress)
        ended = await search(state, make_policy(prepared, bench, brokers.get(writer)), prepared.programs)
        if not complete(state, state.start):
            return ended
        try:
            await confirm_finalists(state)
        except BudgetSpent as error:
            return Ended(f"{error}; no winner was confirmed: raise the cap, then resume", ended.proposals)
        return ended


def make_policy(prepared: Prepared, bench: Bench, broker: Broker | None) -> Policy:
    """Make the proposer that the settings name."""
    section = prepared.section
    if section.policy == "recombine" or broker is None:
        wordings = Wordings.bundled()
        return Recombine(wordings.with_roles(role.text for role in prepared.roles))
    from agents.search.policies import Adas, AFlow, Reflect

    optimiser = Optimizer(broker.ask, task_text(prepared), bench.sandbox.restrictions())
    policies: dict[str, Policy] = {p.name: p for p in (Adas(optimiser), AFlow(optimiser), Reflect(optimiser))}
    return policies[section.policy]


def task_text(prepared: Prepared) -> str:
    """What the optimiser is told of the items: the study's words, and one item that is not judged on."""
    shown = prepared.archive.splits.get("feedback") or prepared.archive.splits["select"][:0]
    lines = [prepared.section.task or "Multiple-choice questions; exactly one option is right."]
    if shown:
        lines.append(f"For example (the answer is not known):\n{shown[0].text}")
        lines += [f"- {option}" for option in shown[0].shown_options]
    return "\n".join(lines)


async def estimate_costs(study: Study, prepared: Prepared) -> Costs:
    """Price a search by running its library for free; a call's tokens are guessed from the items' texts."""
    settings, splits = prepared.settings, prepared.archive.splits
    async with open_bench(prepared) as bench:
        calls = [await bench.try_out(p) for p in prepared.programs]
    select = splits["select"]
    n, typical = len(select), sum(calls) / len(calls)
    rungs = [r for r in settings.rungs if r < n] + [n]
    steps = [after - before for before, after in zip((0, *rungs), rungs, strict=False)]
    each = typical * sum(step * share for step, share in zip(steps, (1.0, *settings.keep), strict=False))
    after = settings.finalists * len(splits.get("confirm", ())) + 2 * len(splits.get("test", ()))
    fixed = (sum(calls) + calls[0]) * n + typical * after
    per_call = _CALL_TOKENS + sum(len(item.text) for item in select) / n / _CHARACTERS_PER_TOKEN
    meta = META_CALLS[prepared.section.policy] * META_TOKENS
    total = fixed + each * settings.candidates
    tokens, optimiser = round(total * per_call), meta * settings.candidates
    price = _price(study, model_name(study, prepared.section.model), study_prices(study))
    usd = None if price is None else price.dollars(tokens + optimiser, 0)
    caps = [prepared.section.tokens] if prepared.section.tokens is not None else []
    if prepared.section.usd is not None and usd:
        caps.append(round(prepared.section.usd / usd * (tokens + optimiser)))
    affordable = max(0, int((min(caps) - fixed * per_call) / (each * per_call + meta))) if caps else None
    return Costs(round(total), tokens, optimiser, usd, affordable)


def _broker(study: Study, name: str, model: Any, budget: Budget, prices: PriceTable, store: Store) -> Broker:
    price = _price(study, name, prices)
    return Broker.of(model, study.model(name), budget=budget.at(price), price=price, store=store)


def _price(study: Study, name: str, prices: PriceTable) -> Price | None:
    settings = study.model(name)
    return price_target(Target(make_spec(name, settings, "$text", None), settings), prices).price


def _optimiser_name(study: Study, prepared: Prepared) -> str:
    section = prepared.section
    if section.policy == "recombine":
        return ""
    if not section.optimiser:
        raise ConfigError(
            f"search: the policy {section.policy!r} needs a model that writes programs: optimiser = NAME of "
            f"[models]; there are: {', '.join(study.models)}"
        )
    study.model(section.optimiser)
    return section.optimiser
