"""Models to run, the items that they must answer, and the expected cost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import partial
from typing import TypeAlias

from oversight.harness.config import LOCAL_ENDPOINT, AnswerForm, ModelSection, RunSpec, api_key
from oversight.harness.errors import BadInput
from oversight.harness.llm.limits.budget import FREE, Price, PriceTable, sum_tokens
from oversight.harness.llm.models.interface import ModelFunction
from oversight.harness.llm.models.limited_model import TokenGuess
from oversight.harness.llm.models.program_models import digest_program, load_function
from oversight.harness.llm.models.served_model import ServedModel
from oversight.harness.llm.runner.prompt import CHOICES, make_request
from oversight.harness.output import say
from oversight.harness.seeding import derive_seed
from oversight.harness.store import UNDER_WAY, HeldLocks, RecordedPrice, Store
from oversight.harness.types import Item, Usage

Portion: TypeAlias = list[tuple[str, int]]
"""Pairs of item id and sample number."""
ItemSample: TypeAlias = tuple[Item, int]
"""An item, and the sample number of the answer to it."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A model to run: the run's specification, settings, and price (None if unknown).

    If `function` is given, it answers instead of an endpoint.
    """

    spec: RunSpec
    settings: ModelSection
    price: Price | None = None
    function: ModelFunction | None = None

    @property
    def is_program(self) -> bool:
        """Whether a function or a command answers instead of an endpoint."""
        return any((self.settings.python, self.settings.command, self.function))

    def priced(self, prices: PriceTable) -> Target:
        """Return the target with the price from the table; models on this machine are free."""
        return replace(self, price=FREE if self._is_free else prices.models.get(self.settings.model))

    @property
    def _is_free(self) -> bool:
        return self.is_program or self.settings.endpoint == LOCAL_ENDPOINT

    def record_price(self, store: Store, used: Sequence[Usage] | None = None) -> None:
        """Store the model's current price, which applies to the run's usage from now on.

        `used` is the run's usage so far; if None, it is computed from the stored answers and charges.
        """
        if self.price is not None and not self._is_free:
            used = store.runs.sum_usage(self.spec.id) if used is None else used
            store.runs.record_price(self.spec.id, RecordedPrice(asdict(self.price), sum_tokens(used)))

    def is_repriced(self, store: Store) -> bool:
        """Whether the current price differs from the price that was last stored with the run."""
        if self.price is None or self._is_free:
            return False
        noted = store.runs.read_prices(self.spec.id)
        return bool(noted) and noted[-1].price != asdict(self.price)

    def read_features(self, store: Store) -> dict[str, bool | str | None]:
        """Return, by name, the stored test result of each feature that the run needs; None if untested.

        Each value is whether the model offers the feature. For "choice", it is instead the first request
        field in `CHOICES` that the model is known to support.
        """
        read = partial(store.calls.read_probe, self.settings.where, self.settings.model)
        features = dict[str, bool | str | None]()
        if self.settings.structured != "never":
            features["structured"] = read("structured")
        if self.settings.logprobs:
            features["logprobs"] = read("logprobs")
        if self.spec.answer == "choice":
            features["choice"] = next((name for name in CHOICES if read(f"choice:{name}")), None)
        return features

    def with_features(self, features: Mapping[str, bool | str | None]) -> Target:
        """Return the target with these features of its model."""
        return replace(self, spec=self.spec.model_copy(update=features))

    def settled(self, store: Store) -> Target:
        """Return the target with its model's stored features; untested features are assumed to be offered."""
        known = self.read_features(store)
        if known.get("choice", "") is None:
            del known["choice"]
        return self.with_features({name: True if value is None else value for name, value in known.items()})

    def announce(self, wanted: RequestedItems) -> None:
        """Store the run as the newest of its model; if a setting changed, print the changes."""
        spec, runs = self.spec, wanted.store.runs
        mine = [run for run in runs.read_runs() if run["name"] == spec.name]
        if mine and mine[-1]["id"] != spec.id:
            is_known = any(run["id"] == spec.id for run in mine)
            told = "its stored answers count again" if is_known else "this is a new run"
            changed = "; ".join(spec.differences(mine[-1]["spec"]))
            say(f"{spec.name}: {told}, because {changed}; the answers of run {mine[-1]['id']} are kept")
        if self.is_program:
            self._warn_of_change(wanted.store)
        # Changed parsing settings do not start a new run, but must be stored.
        if not mine or spec.differences(mine[-1]["spec"]):
            runs.add_run(spec)

    def _warn_of_change(self, store: Store) -> None:
        """Print a warning if the program's files have changed since the run's first answers."""
        settings = self.settings
        function = load_function(settings.python) if settings.python else self.function
        now = digest_program(function, settings.command)
        is_new = not store.runs.count_predictions(self.spec.id)
        before = store.calls.note_program(settings.where, settings.model, now, replaces=is_new)
        if now != before:
            say(
                f"{self.spec.name}: the program has changed since its first answers; oversight keeps these "
                f"answers; to ask the changed program about all items, change its version: the value of "
                f"`model` under [models.{self.spec.name}]"
            )

    def refuse_waiting(self, store: Store) -> None:
        """Raise `BadInput` if a batch of the run is unfinished, because its items would be paid for twice."""
        waiting = store.calls.read_batches(self.spec.id, UNDER_WAY)
        if waiting:
            n = sum(len(batch.requests) for batch in waiting)
            raise BadInput(
                f"{self.spec.name}: {n} items are in an unfinished batch; collect it with --batch, or cancel "
                "it with --batch cancel"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomPart:
    """A random draw of items: how many were drawn (`items`), out of how many (`of`), and the seed."""

    items: int
    of: int
    seed: int


@dataclass(frozen=True, slots=True)
class RequestedItems:
    """The stored items that models should answer; with `retry_failed`, failed answers are requested again.

    `sample` describes the random draw of these items; None if they were not drawn. `judges` are the names of
    models whose log-probabilities are needed. If the settings of such a model request log-probabilities but
    its endpoint does not offer them, `prepare` raises an error.
    """

    store: Store
    ids: Sequence[str]
    retry_failed: bool = False
    sample: RandomPart | None = None
    judges: Collection[str] = ()

    def find_left(self, target: Target) -> Iterator[Portion]:
        """Yield batches of (item id, sample number) pairs without a stored answer."""
        runs, samples = self.store.runs, target.settings.samples
        return runs.find_unasked(target.spec.id, self.ids, samples, retry_failed=self.retry_failed)


def refuse_without_keys(targets: Sequence[Target]) -> None:
    """Raise `ConfigError` if a model's API key is not set; call this before anything is written."""
    for target in targets:
        # Skip endpoints that are not URLs, because they cause a clearer error later.
        if not target.is_program and target.settings.endpoint.startswith("http"):
            api_key(target.settings)


def draw_sample(ids: Sequence[str], n: int, seed: int) -> list[str]:
    """Draw n ids at random, keeping their order; with the same seed, a larger n draws a superset."""
    first = set(sorted(ids, key=lambda name: derive_seed(seed, "sample", name))[:n])
    return [name for name in ids if name in first]


def make_spec(
    name: str,
    settings: ModelSection,
    template: str,
    max_words: int | None,
    system: str = "",
    answer: AnswerForm = "line",
    pattern: str | None = None,
) -> RunSpec:
    """Return all settings that determine a model's answers; `prepare` adds the model's features."""
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
        answer=answer,
        pattern=pattern,
    )


def hold_runs(
    store: Store, targets: Iterable[Target], *, wait: bool, take_over: bool = False
) -> AbstractContextManager[HeldLocks]:
    """Return a context that holds the locks of runs, see `LockRepository.hold`.

    Take the locks before `prepare`, because `prepare` already makes calls, to test features.
    """
    runs = {target.spec.id: target.spec.name for target in targets}
    return store.locks.hold(runs, wait=wait, take_over=take_over, tell=say)


def make_served(
    store: Store, target: Target, fix: Callable[[str, str], None], patience: float = 20
) -> ServedModel:
    """Return an object that compares the model names in a run's replies with the stored name.

    If no name is stored, `fix` is called with the run's id and the name in the first reply.
    """
    run_id, settings = target.spec.id, target.settings
    return ServedModel(
        settings,
        settings.answers_as or store.runs.read_served_as(run_id),
        fix=partial(fix, run_id),
        patience=patience,
    )


def load_items(store: Store, portions: Iterable[Portion]) -> Iterator[ItemSample]:
    """Load the items of (item id, sample number) pairs batch by batch; yield (item, sample number) pairs.

    Items that were removed from the study meanwhile are left out.
    """
    for portion in portions:
        items = store.content.find_items({item_id for item_id, _ in portion})
        for item_id, sample in portion:
            if item_id in items:
                yield items[item_id], sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Expected usage of the remaining calls of one model.

    Attributes
    ----------
    calls
        Number of answers that are not stored.
    input_tokens, output_tokens
        Expected tokens: from the means of the run's stored answers if there are any, otherwise from upper
        estimates of the prompts' tokens and from `max_tokens`. `output_tokens` is None if the run has neither
        stored answers nor `max_tokens`.
    usd, usd_batch
        Expected cost in US dollars, with single calls and with the Batch API; None if the price or
        `output_tokens` is unknown.
    checked
        Date on which the prices were looked up; None if unknown.
    """

    name: str
    calls: int
    input_tokens: int
    output_tokens: int | None
    usd: float | None
    usd_batch: float | None
    checked: date | None

    def __str__(self) -> str:
        """Return the forecast as one line of text."""
        output = "an unknown number of" if self.output_tokens is None else f"~{self.output_tokens:,}"
        line = f"{self.name}: {self.calls:,} calls, ~{self.input_tokens:,} tokens sent, {output} received"
        if self.usd is None:
            what = "set max_tokens" if self.output_tokens is None else "add the model to prices.toml"
            return f"{line}; cost unknown: {what}"
        dated = f" (prices of {self.checked})" if self.checked else ""
        return f"{line}; ~${self.usd:.4g}, by batch ~${self.usd_batch:.4g}{dated}"


def forecast(wanted: RequestedItems, target: Target, prices: PriceTable) -> Forecast:
    """Count a model's remaining calls, and estimate their tokens and cost, without making a call.

    Untested features are assumed to be offered.
    """
    store = wanted.store
    target = target.priced(prices).settled(store)
    spec = target.spec
    calls = sent = 0
    guess = TokenGuess()
    for item, _ in load_items(store, wanted.find_left(target)):
        calls += 1
        sent += guess.guess(make_request(spec, item))[0]
    known = [u for u in store.runs.sum_usage(spec.id) if u.input_tokens and u.answers]
    answers = sum(u.answers for u in known)
    if answers:
        sent = round(calls * sum(u.input_tokens for u in known) / answers)
        received: int | None = round(calls * sum(u.output_tokens for u in known) / answers)
    else:
        received = calls * spec.max_tokens if spec.max_tokens is not None else None
    usd = batch = None
    if target.price is not None and received is not None:
        usd = target.price.dollars(sent, received)
        batch = target.price.in_batch().dollars(sent, received)
    return Forecast(
        name=spec.name,
        calls=calls,
        input_tokens=sent,
        output_tokens=received,
        usd=usd,
        usd_batch=batch,
        checked=prices.checked,
    )
