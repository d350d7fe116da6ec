"""Before anything is paid for: is the endpoint there, does it take the key, what does it offer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.config import LOCAL_ENDPOINT, ModelSection, RunSpec
from harness.errors import ConfigError
from harness.llm.limits import FREE, Price, PriceTable, price_of
from harness.llm.models import RunnableModel, make_model
from harness.llm.runner.features import LOGPROBS, STRUCTURED, probe_feature
from harness.store import Store


@dataclass(frozen=True, slots=True)
class Target:
    """One model to run: what is asked, how it is reached, what it costs (None: unknown).

    `function` is a callable that answers in place of what the settings name.
    """

    spec: RunSpec
    settings: ModelSection
    price: Price | None = None
    function: Callable[[str], Any] | None = None

    @property
    def is_free(self) -> bool:
        """Whether it runs on this machine, so that nobody sends a bill."""
        settings = self.settings
        programs = (settings.python, settings.command, self.function)
        return settings.endpoint == LOCAL_ENDPOINT or any(programs)


def price_target(target: Target, prices: PriceTable) -> Target:
    """Fill in the price, as the table has it."""
    return replace(target, price=FREE if target.is_free else price_of(target.settings.model, prices))


def prepare(
    store: Store, targets: Sequence[Target], ids: Sequence[str], *, retry_failed: bool
) -> list[Target]:
    """Settle what each model offers; look at every endpoint that is going to be asked.

    Nothing is sent to an endpoint that has nothing left to answer. A feature is tried once per model
    and endpoint, and remembered in the store.

    Raises
    ------
    ConfigError
        If a key, a callable or a command is missing, or ``structured = "always"`` is not offered.
    FatalModelError
        If an endpoint cannot be reached or refuses the key.
    """
    models = [make_model(target.settings, target.function) for target in targets]

    async def look() -> list[Target]:
        looked: set[str] = set()
        try:
            return [
                await _look(store, target, model, ids, looked, retry_failed=retry_failed)
                for target, model in zip(targets, models, strict=True)
            ]
        finally:
            for model in models:
                await model.close()

    return asyncio.run(look())


async def _look(
    store: Store,
    target: Target,
    model: RunnableModel,
    ids: Sequence[str],
    looked: set[str],
    *,
    retry_failed: bool,
) -> Target:
    settings = target.settings

    async def check() -> None:
        if settings.where not in looked:
            await model.check()
            looked.add(settings.where)

    async def offered(feature: str) -> bool:
        known = store.endpoints.read_probe(settings.where, settings.model, feature)
        if known is None:
            await check()
            known, detail = await probe_feature(model, feature, settings.tries)
            store.endpoints.add_probe(settings.where, settings.model, feature, offered=known, detail=detail)
        return known

    update = {}
    if settings.structured != "never":
        update["structured"] = await offered(STRUCTURED)
        if settings.structured == "always" and not update["structured"]:
            raise ConfigError(
                f'{target.spec.name}: structured = "always", but {settings.where} does not follow a JSON '
                'Schema; use "auto" or "never"'
            )
    if settings.logprobs:
        update["logprobs"] = await offered(LOGPROBS)
    target = replace(target, spec=target.spec.model_copy(update=update))
    portions = store.runs.find_unasked(target.spec.id, ids, settings.samples, retry_failed=retry_failed)
    if any(portions):
        await check()
    return target
