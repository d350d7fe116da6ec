"""Prices of models, and hard limits on the cost of finished and unfinished calls.

No prices are built in, because prices change without notice and a wrong price is worse than none. The price
table is a TOML file in dollars per million tokens::

    checked = 2026-11-21            # when the prices were looked up; shown beside every estimate

    [models."gpt-5-mini"]
    input = 0.25
    output = 2.00
    batch = 0.5                     # the Batch API's price as a share of these prices (default 0.5)
"""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oversight.harness.errors import BudgetSpent, ConfigError, DataError
from oversight.harness.output import read_text
from oversight.harness.types import Source, Usage

if TYPE_CHECKING:
    from oversight.harness.store import RecordedPrice


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a model in US dollars per million tokens.

    Attributes
    ----------
    input, output
        Prices of tokens sent and of tokens received.
    batch
        Factor on both prices for calls through the Batch API.
    """

    input: float
    output: float
    batch: float = 0.5

    def dollars(self, input_tokens: int, output_tokens: int) -> float:
        """Return the cost of these numbers of tokens in US dollars."""
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000

    def in_batch(self) -> Price:
        """Return the price through the Batch API."""
        return Price(self.input * self.batch, self.output * self.batch, batch=1.0)

    def by_source(self, source: str) -> Price:
        """Return the price of answers from a source: reduced for batches, and zero for imported answers."""
        return {Source.BATCH: self.in_batch(), Source.IMPORT: FREE}.get(Source(source), self)


FREE = Price(0.0, 0.0)
"""Price of models on this machine, which are free."""


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model name, and the date on which they were looked up (None if unknown)."""

    models: Mapping[str, Price] = field(default_factory=dict)
    checked: date | None = None


def read_prices(path: str | Path, *, required: bool = True) -> PriceTable:
    """Read a price table from a TOML file.

    Parameters
    ----------
    path
        The TOML file.
    required
        Whether a missing file is an error; if not, it counts as an empty table.

    Raises
    ------
    DataError
        If the file is not TOML, has an unknown key, or a price is not a number ≥ 0.
    """
    path = Path(path)
    if not required and not path.exists():
        return PriceTable()
    try:
        table = tomllib.loads(read_text(path))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the price table cannot be read: {error}", file=path) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"not valid TOML: {error}", file=path) from None
    checked = table.pop("checked", None)
    if checked is not None and type(checked) is not date:
        raise DataError(f"must be a date such as 2026-11-21, not {checked!r}", file=path, field="checked")
    models = table.pop("models", {})
    if table:
        raise DataError(
            "unknown key; the known keys are 'checked' and 'models'", file=path, field=next(iter(table))
        )
    return PriceTable({name: _price(entry, path, name) for name, entry in models.items()}, checked)


def _price(entry: Any, path: Path, name: str) -> Price:
    where = f"models.{name}"
    if not isinstance(entry, dict):
        raise DataError("must be a table with the keys 'input' and 'output'", file=path, field=where)
    for key, value in entry.items():
        if key not in ("input", "output", "batch"):
            raise DataError(
                "unknown key; the known keys are 'input', 'output' and 'batch'",
                file=path,
                field=f"{where}.{key}",
            )
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise DataError(f"must be a number ≥ 0, not {value!r}", file=path, field=f"{where}.{key}")
    for key in ("input", "output"):
        if key not in entry:
            raise DataError("is missing", file=path, field=f"{where}.{key}")
    return Price(**{key: float(value) for key, value in entry.items()})


def sum_tokens(used: Iterable[Usage]) -> dict[str, tuple[int, int]]:
    """Return (input tokens, output tokens) by source of the answers."""
    found = dict[str, tuple[int, int]]()
    for part in used:
        sent, received = found.get(part.source.value, (0, 0))
        found[part.source.value] = sent + part.input_tokens, received + part.output_tokens
    return found


def dollars(price: Price | None, used: Iterable[Usage], noted: Sequence[RecordedPrice] = ()) -> float | None:
    """Return the cost of a run in US dollars, with the price that was valid at the time of each call.

    Batches have a reduced price, and imported answers cost nothing.

    Parameters
    ----------
    price
        The current price, used only for a run without stored prices; None if unknown.
    used
        The complete usage of the run.
    noted
        Prices stored with the run, oldest first.

    Returns
    -------
    float or None
        None if no price is known.
    """
    prices = [Price(**each.price) for each in noted] or ([] if price is None else [price])
    if not prices:
        return None
    total = 0.0
    for source, (sent, received) in sum_tokens(used).items():
        starts = [each.since.get(source, (0, 0)) for each in noted[1:]]
        passed = [(min(sent, first), min(received, second)) for first, second in starts]
        bounds = [(0, 0), *passed, (sent, received)]
        for held, (before, after) in zip(prices, pairwise(bounds), strict=True):
            total += held.by_source(source).dollars(after[0] - before[0], after[1] - before[1])
    return total


@dataclass(slots=True, eq=False)
class Reservation:
    """The maximum usage of one call, reserved until the actual usage is known."""

    budget: Budget
    input_tokens: int
    output_tokens: int
    usd: float

    def settle(self, input_tokens: int, output_tokens: int) -> None:
        """Replace the reservation with the tokens that the call used."""
        self.budget.settle(self, input_tokens, output_tokens)

    def release(self) -> None:
        """Release the reservation of a call that was never sent."""
        self.budget.settle(self, 0, 0, requests=0)


@dataclass(slots=True, eq=False)
class _Account:
    """Spent and reserved usage, shared by all models under one budget."""

    spent: Usage = field(default_factory=Usage)
    held: Usage = field(default_factory=Usage)
    calls: set[Reservation] = field(default_factory=set)
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Budget:
    """Hard limits on the dollars, tokens and requests used by calls from one event loop.

    Every call first reserves its maximum usage, so that all unfinished calls together cannot exceed the
    limit. The actual usage then replaces the reservation. The limit can be exceeded only by a call that uses
    more than it reserved, and only by the difference. After such a call, each other unfinished call to the
    model reserves at least as many output tokens as that call used.

    Parameters
    ----------
    usd, tokens
        Limits; None means no limit. Tokens sent and received are counted together.
    price
        Price of the model that is called; None if unknown.
    requests
        Limit on the number of calls sent, including refused ones; None means no limit.

    Raises
    ------
    ConfigError
        If dollars are limited and the price is unknown, or a limit is negative.
    """

    def __init__(
        self,
        usd: float | None,
        tokens: int | None,
        price: Price | None,
        *,
        requests: int | None = None,
    ) -> None:
        for name, limit in (("usd", usd), ("tokens", tokens), ("requests", requests)):
            if limit is not None and not limit >= 0:
                raise ConfigError(f"budget: {name} must be ≥ 0, not {limit}")
        if usd is not None and price is None:
            raise ConfigError(
                "a budget in dollars needs the model's price, which is unknown: add the model to "
                "prices.toml, or limit tokens instead"
            )
        self._usd, self._tokens, self._requests = usd, tokens, requests
        self._price = price or FREE
        self._account = _Account()

    def at(self, price: Price | None) -> Budget:
        """Return a budget for calls of another model; both budgets share the limits and the spent usage."""
        other = Budget(self._usd, self._tokens, price, requests=self._requests)
        other._account = self._account
        return other

    @property
    def counts_tokens(self) -> bool:
        """Whether the length of an answer affects the budget."""
        return self._usd is not None or self._tokens is not None

    @property
    def spent(self) -> Usage:
        """Usage of finished calls; calls of models without a price cost zero dollars."""
        return self._account.spent

    @property
    def under_way(self) -> int:
        """Number of reservations that are not settled."""
        return len(self._account.calls)

    def reserve(self, input_tokens: int, output_tokens: int) -> Reservation:
        """Reserve the maximum usage of a call.

        Raises
        ------
        BudgetSpent
            If the reservation, the spent usage and the other reservations together exceed a limit. Nothing is
            reserved then.
        """
        call = Reservation(
            self, input_tokens, output_tokens, self._price.dollars(input_tokens, output_tokens)
        )
        spent, held = self._account.spent, self._account.held
        tokens = input_tokens + output_tokens
        if self._usd is not None and spent.usd + held.usd + call.usd > self._usd:
            raise BudgetSpent(f"the budget of ${self._usd:g} is spent: ${spent.usd:.4f} used")
        if self._tokens is not None and spent.tokens + held.tokens + tokens > self._tokens:
            raise BudgetSpent(f"the budget of {self._tokens:,} tokens is spent: {spent.tokens:,} used")
        if self._requests is not None and spent.requests + held.requests + 1 > self._requests:
            raise BudgetSpent(f"the budget of {self._requests:,} requests is spent: {spent.requests:,} used")
        self._account.calls.add(call)
        held.add(Usage(1, input_tokens, output_tokens, usd=call.usd))
        return call

    async def hold(self, guess: Callable[[], tuple[int, int]]) -> Reservation:
        """Reserve as `reserve` does, but wait while unfinished calls may still release budget.

        Parameters
        ----------
        guess
            Function that returns the maximum tokens sent and received. It is called again after each wait,
            because answers improve the estimate.

        Raises
        ------
        BudgetSpent
            If the budget does not suffice, and no unfinished call can release any of it.
        """
        while True:
            try:
                return self.reserve(*guess())
            except BudgetSpent:
                if not self.under_way:
                    raise
            await self._account.changed.wait()

    def settle(self, call: Reservation, input_tokens: int, output_tokens: int, requests: int = 1) -> None:
        """Replace a reservation with the tokens that the call used; do nothing if it was settled before."""
        account = self._account
        if call not in account.calls:
            return
        self.charge(input_tokens, output_tokens, requests)
        account.calls.remove(call)
        if output_tokens > call.output_tokens:
            self._expect(output_tokens)
        account.held.add(Usage(1, call.input_tokens, call.output_tokens, usd=call.usd), -1)
        if not account.calls:
            account.held.usd = 0.0  # nothing is reserved, so remove the rounding error of the sum
        account.changed.set()
        account.changed = asyncio.Event()

    def _expect(self, output_tokens: int) -> None:
        """Increase each reservation of the model's unfinished calls to at least `output_tokens`."""
        for call in self._account.calls:
            more = output_tokens - call.output_tokens
            if call.budget is self and more > 0:
                usd = self._price.dollars(0, more)
                self._account.held.add(Usage(0, 0, more, usd=usd))
                call.output_tokens, call.usd = output_tokens, call.usd + usd

    def charge(self, input_tokens: int, output_tokens: int, requests: int = 0) -> None:
        """Add the usage of calls that had no reservation to the spent usage."""
        usd = self._price.dollars(input_tokens, output_tokens)
        self._account.spent.add(Usage(requests, input_tokens, output_tokens, usd=usd))

    def charge_amounts(self, usd: float, tokens: int) -> None:
        """Add dollars and tokens of earlier calls to the spent usage."""
        self._account.spent.add(Usage(0, tokens, usd=usd))

    def charge_before(self, used: Iterable[Usage], noted: Sequence[RecordedPrice] = ()) -> None:
        """Add the usage of earlier commands for the same run, at the prices stored with the run."""
        paid = [part for part in used if part.source is not Source.IMPORT]
        total = Usage.sum(paid)
        total.usd = dollars(self._price, paid, noted) or 0.0
        self._account.spent.add(total)
