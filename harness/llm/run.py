"""Run a model over items with everything stored: progress bar, resume, retry of failures."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from harness.config import ModelSection, RunSpec
from harness.llm.openai_model import OpenAIModel
from harness.llm.prompt import DEFAULT_TEMPLATE, check_template
from harness.llm.runner import run_model
from harness.store.repository import Repository
from harness.types import Item, Prediction, PredictionStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tqdm import tqdm


def run(
    model: str, items: Sequence[Item], *, store: str, template: str = DEFAULT_TEMPLATE, **settings: Any
) -> list[Prediction]:
    """Ask a model about every item and return its predictions.

    Parameters
    ----------
    model
        The model's name as its endpoint knows it.
    items
        What to ask about.
    store
        SQLite file or SQLAlchemy URL; answers that are there already are not paid for again.
    template
        Prompt template; see `harness.llm.prompt.render` for its fields.
    **settings
        Fields of `harness.config.ModelSection`: endpoint, api_key_env, temperature, max_tokens, stop,
        concurrency, timeout, tries.

    Raises
    ------
    ConfigError
        If the key or the local server is missing, or the template cannot be filled in.
    FatalModelError
        If the endpoint refuses in a way that no repetition mends.
    """
    section = ModelSection(model=model, **settings)
    spec = make_spec(model, section, check_template(template), None)
    with Repository(store if "://" in store else f"sqlite:///{store}") as repository:
        repository.add_items(items)
        ask_model(repository, items, spec, section)
        wanted = {item.id for item in items}
        return [p for p in repository.predictions(spec.id) if p.item_id in wanted]


def make_spec(name: str, settings: ModelSection, template: str, max_words: int | None) -> RunSpec:
    """Collect all that decides a model's answers."""
    return RunSpec(
        name=name,
        model=settings.model,
        endpoint=settings.endpoint,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        stop=tuple(settings.stop),
        template=template,
        max_words=max_words,
    )


def ask_model(
    store: Repository,
    items: Sequence[Item],
    spec: RunSpec,
    settings: ModelSection,
    *,
    retry_failed: bool = False,
) -> int:
    """Ask about the items that have no stored answer; return how many that were.

    The items must be in the store. Raises as `run` does.
    """
    model = OpenAIModel(settings)
    store.add_run(spec)
    again = {PredictionStatus.FAILED} if retry_failed else set()
    have = {p.item_id for p in store.predictions(spec.id) if p.status not in again}
    todo = [item for item in items if item.id not in have]

    async def ask() -> None:
        try:
            await run_model(model, spec, todo, write, concurrency=settings.concurrency, tries=settings.tries)
        finally:
            await model.close()

    with _progress(len(items), spec.name, done=len(items) - len(todo)) as bar:

        def write(batch: Sequence[Prediction]) -> None:
            store.add_predictions(spec.id, batch)
            bar.update(len(batch))

        asyncio.run(ask())
    return len(todo)


def _progress(total: int, what: str, done: int) -> tqdm[Any]:
    """Make a progress bar on stderr with a rate; in a log it prints a line every few seconds."""
    from tqdm import tqdm

    interval = 0.5 if sys.stderr.isatty() else 10.0
    return tqdm(total=total, initial=done, desc=what, unit="item", mininterval=interval, file=sys.stderr)
