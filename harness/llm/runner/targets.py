"""A model to run: what is asked, how it is reached, what it costs, and what is left to ask it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.config import LOCAL_ENDPOINT, ModelSection, RunSpec
from harness.errors import BadInput
from harness.llm.limits import FREE, Price, PriceTable
from harness.store import UNDER_WAY, Store
from harness.types import Item


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
    def is_program(self) -> bool:
        """Whether a callable or a command answers, and no endpoint."""
        return any((self.settings.python, self.settings.command, self.function))


@dataclass(frozen=True, slots=True)
class Wanted:
    """Stored items that are to have answers; with `retry_failed`, failed ones do not count as such."""

    store: Store
    ids: Sequence[str]
    retry_failed: bool = False

    def find_left(self, target: Target) -> Iterator[list[tuple[str, int]]]:
        """Portions of the items' ids and sample numbers that have no stored answer."""
        runs, samples = self.store.runs, target.settings.samples
        return runs.find_unasked(target.spec.id, self.ids, samples, retry_failed=self.retry_failed)


def make_spec(
    name: str, settings: ModelSection, template: str, max_words: int | None, system: str = ""
) -> RunSpec:
    """Collect all that decides a model's answers; what the endpoint offers is settled by `prepare`."""
    return RunSpec(
        name=name,
        model=settings.model,
        endpoint=settings.where,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        stop=tuple(settings.stop),
        template=template,
        max_words=max_words,
        system=system,
        extra=settings.extra,
    )


def price_target(target: Target, prices: PriceTable) -> Target:
    """Fill in the price as the table has it; what runs on this machine is free."""
    settings = target.settings
    free = target.is_program or settings.endpoint == LOCAL_ENDPOINT
    return replace(target, price=FREE if free else prices.models.get(settings.model))


def load_items(store: Store, portions: Iterable[list[tuple[str, int]]]) -> Iterator[tuple[Item, int]]:
    """Load the items of ids and sample numbers, portion by portion."""
    for portion in portions:
        items = store.content.find_items({item_id for item_id, _ in portion})
        for item_id, sample in portion:
            yield items[item_id], sample


def announce(store: Store, target: Target) -> None:
    """Note the run, and say what a changed one has otherwise than the one before."""
    spec = target.spec
    runs = store.runs.read_runs()
    if spec.id in {run["id"] for run in runs}:
        return
    before = [run for run in runs if run["name"] == spec.name]
    if before:
        changed = "; ".join(spec.differences(before[-1]["spec"]))
        tell(f"{spec.name}: a new run, since {changed}; the answers of run {before[-1]['id']} are kept")
    store.runs.add_run(spec)


def refuse_waiting(store: Store, target: Target) -> None:
    """Raise BadInput if a batch of this run is under way: its items would be paid for twice."""
    waiting = store.endpoints.read_batches(target.spec.id, UNDER_WAY)
    if waiting:
        n = sum(len(batch.requests) for batch in waiting)
        raise BadInput(
            f"{target.spec.name}: {n} items are in a batch that is under way; collect it with --batch, or "
            "give it up with --batch cancel"
        )


def tell(text: str) -> None:
    """Say something to the user beside the result."""
    sys.stderr.write(text + "\n")
