"""What calls cost: a table of prices that the user keeps, and a budget that counts what is under way.

No price is built in, since prices change without notice and a wrong one is worse than none. The table
is a TOML file in dollars per million tokens::

    checked = 2026-11-21            # when the prices were looked up; shown beside every estimate

    [models."gpt-5-mini"]
    input = 0.25
    output = 2.00
    batch = 0.5                     # the Batch API's price as a share of the above (default 0.5)
"""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import BudgetSpent, ConfigError, DataError
from harness.types import Source

if TYPE_CHECKING:
    from harness.store import Usage

PRICE_FILE = "prices.toml"
"""Where the table is looked for beside study.toml, unless ``[prices] file`` names another place."""

_PER = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens.

    Attributes
    ----------
    input, output
        Of tokens sent and received.
    batch
        What the Batch API takes, as a share of both.
    """

    input: float
    output: float
    batch: float = 0.5

    def dollars(self, input_tokens: int, output_tokens: int) -> float:
        """Cost of a call, or of many together."""
        return (input_tokens * self.input + output_tokens * self.output) / _PER

    def in_batch(self) -> Price:
        """Price of the same tokens through the Batch API."""
        return Price(self.input * self.batch, self.output * self.batch, batch=1.0)


FREE = Price(0.0, 0.0)
"""Of a model on this machine."""


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model name, and the day they were looked up."""

    models: Mapping[str, Price] = field(default_factory=dict)
    checked: date | None = None


def read_prices(path: str | Path, *, required: bool = True) -> PriceTable:
    """Read a price table.

    Parameters
    ----------
    path
        The TOML file.
    required
        Whether a missing file is an error; else it is an empty table.

    Raises
    ------
    DataError
        Naming file and key: not TOML, an unknown key, a price that is no number ≥ 0.
    """
    path = Path(path)
    if not required and not path.exists():
        return PriceTable()
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the price table cannot be read: {error}", file=path) from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"not valid TOML: {error}", file=path) from None
    checked = table.pop("checked", None)
    if checked is not None and type(checked) is not date:
        raise DataError(f"must be a date such as 2026-11-21, not {checked!r}", file=path, field="checked")
    models = table.pop("models", {})
    if table:
        raise DataError("unknown key; known are checked and models", file=path, field=next(iter(table)))
    return PriceTable({name: _price(entry, path, name) for name, entry in models.items()}, checked)


def _price(entry: Any, path: Path, name: str) -> Price:
    where = f"models.{name}"
    if not isinstance(entry, dict):
        raise DataError("must be a table with input and output", file=path, field=where)
    for key, value in entry.items():
        if key not in ("input", "output", "batch"):
            raise DataError("unknown key; known are input, output, batch", file=path, field=f"{where}.{key}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise DataError(f"must be a number ≥ 0, not {value!r}", file=path, field=f"{where}.{key}")
    for key in ("input", "output"):
        if key not in entry:
            raise DataError("is missing", file=path, field=f"{where}.{key}")
    return Price(**{key: float(value) for key, value in entry.items()})


def price_of(model: str, table: PriceTable) -> Price | None:
    """Return a model's price; None if the table does not know it."""
    return table.models.get(model)


def dollars(price: Price, used: Iterable[Usage]) -> float:
    """Cost of what a run used, batches at their price and imported answers at none."""
    by_source = {Source.CALL: price, Source.BATCH: price.in_batch(), Source.IMPORT: FREE}
    return sum(by_source[u.source].dollars(u.input_tokens, u.output_tokens) for u in used)


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """What one call may cost at most, held back until it is settled or released."""

    input_tokens: int
    output_tokens: int
    usd: float


@dataclass(slots=True, eq=False)
class _Account:
    """What has been spent and what is held back; shared by all models under one budget."""

    spent_usd: float = 0.0
    spent_tokens: int = 0
    held: set[Reservation] = field(default_factory=set)
    held_usd: float = 0.0
    held_tokens: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Budget:
    """A hard limit on dollars, tokens or both, for calls made from one event loop.

    A call first reserves the most it may use, so that calls under way together cannot pass the limit;
    when its usage is known the reservation is settled for that. Only a call that uses more than it
    reserved can pass the limit, and by no more than the difference.

    Parameters
    ----------
    usd, tokens
        Limits; None sets none. Tokens are those sent and received together.
    price
        Of the model that is asked; None if unknown.

    Raises
    ------
    ConfigError
        If dollars are limited and the price is unknown, or a limit is negative.
    """

    def __init__(self, usd: float | None, tokens: int | None, price: Price | None) -> None:
        for name, limit in (("usd", usd), ("tokens", tokens)):
            if limit is not None and not limit >= 0:
                raise ConfigError(f"budget: {name} must be ≥ 0, not {limit}")
        if usd is not None and price is None:
            raise ConfigError(
                "a budget in dollars needs the model's price, which is unknown: add the model to "
                f"{PRICE_FILE}, or limit tokens instead"
            )
        self._usd, self._tokens, self._price = usd, tokens, price
        self._account = _Account()

    def at(self, price: Price | None) -> Budget:
        """Return the same budget for a model of another price: both draw on the same limits."""
        other = Budget(self._usd, self._tokens, price)
        other._account = self._account
        return other

    @property
    def spent_usd(self) -> float:
        """Dollars settled so far; calls of models without a price count nothing."""
        return self._account.spent_usd

    @property
    def spent_tokens(self) -> int:
        """Tokens settled so far, sent and received together."""
        return self._account.spent_tokens

    @property
    def under_way(self) -> int:
        """Number of reservations that are neither settled nor released."""
        return len(self._account.held)

    def reserve(self, input_tokens: int, output_tokens: int) -> Reservation:
        """Hold back what a call may use at most.

        Raises
        ------
        BudgetSpent
            If that, what is spent and what is held back would pass a limit; nothing is held then.
        """
        call = Reservation(input_tokens, output_tokens, self._dollars(input_tokens, output_tokens))
        account = self._account
        usd = account.spent_usd + account.held_usd + call.usd
        tokens = account.spent_tokens + account.held_tokens + input_tokens + output_tokens
        if self._usd is not None and usd > self._usd:
            raise BudgetSpent(f"the budget of ${self._usd:g} is spent: ${account.spent_usd:.4f} used")
        if self._tokens is not None and tokens > self._tokens:
            raise BudgetSpent(
                f"the budget of {self._tokens:,} tokens is spent: {account.spent_tokens:,} used"
            )
        account.held.add(call)
        account.held_usd += call.usd
        account.held_tokens += input_tokens + output_tokens
        return call

    def settle(self, reservation: Reservation, input_tokens: int, output_tokens: int) -> None:
        """Replace what was held back for a call by what it used."""
        self.charge(input_tokens, output_tokens)
        self.release(reservation)

    def release(self, reservation: Reservation) -> None:
        """Give back what was held for a call that used nothing; a second time does nothing."""
        account = self._account
        if reservation not in account.held:
            return
        account.held.remove(reservation)
        account.held_tokens -= reservation.input_tokens + reservation.output_tokens
        # Sums of floats drift; nothing held is exactly nothing.
        account.held_usd = account.held_usd - reservation.usd if account.held else 0.0
        account.changed.set()
        account.changed = asyncio.Event()

    async def changed(self) -> None:
        """Wait until a reservation is settled or released."""
        await self._account.changed.wait()

    def charge(self, input_tokens: int, output_tokens: int) -> None:
        """Count what was used without a reservation."""
        self._account.spent_usd += self._dollars(input_tokens, output_tokens)
        self._account.spent_tokens += input_tokens + output_tokens

    def charge_before(self, used: Iterable[Usage]) -> None:
        """Count what an earlier command used for the same run."""
        for part in used:
            if part.source is not Source.IMPORT:
                self._account.spent_tokens += part.input_tokens + part.output_tokens
                self._account.spent_usd += dollars(self._price, [part]) if self._price is not None else 0.0

    def _dollars(self, input_tokens: int, output_tokens: int) -> float:
        return self._price.dollars(input_tokens, output_tokens) if self._price is not None else 0.0
