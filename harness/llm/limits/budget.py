"""A hard limit on what calls may cost, which counts what is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.errors import BudgetSpent, ConfigError
from harness.llm.limits.prices import FREE, Price, dollars
from harness.types import Source

if TYPE_CHECKING:
    from harness.store import Usage


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
        What the model that is asked costs; None if unknown.

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
                "prices.toml, or limit tokens instead"
            )
        self._usd, self._tokens, self._price = usd, tokens, price or FREE
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
        call = Reservation(input_tokens, output_tokens, self._price.dollars(input_tokens, output_tokens))
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

    async def hold(self, input_tokens: int, output_tokens: int) -> Reservation:
        """Reserve as `reserve` does, once calls under way have given back enough of what they held.

        Raises
        ------
        BudgetSpent
            If there is no room and nothing under way can make any.
        """
        while True:
            try:
                return self.reserve(input_tokens, output_tokens)
            except BudgetSpent:
                if not self.under_way:
                    raise
            await self._account.changed.wait()

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

    def charge(self, input_tokens: int, output_tokens: int) -> None:
        """Count what was used without a reservation."""
        self._account.spent_usd += self._price.dollars(input_tokens, output_tokens)
        self._account.spent_tokens += input_tokens + output_tokens

    def charge_before(self, used: Iterable[Usage]) -> None:
        """Count what an earlier command used for the same run."""
        for part in used:
            if part.source is not Source.IMPORT:
                self._account.spent_tokens += part.input_tokens + part.output_tokens
                self._account.spent_usd += dollars(self._price, [part])
