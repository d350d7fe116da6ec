"""A hard limit on the cost of calls, which also counts unfinished calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oversight.harness.errors import BudgetSpent, ConfigError
from oversight.harness.llm.limits.prices import FREE, Price, dollars
from oversight.harness.types import Source, Usage

if TYPE_CHECKING:
    from oversight.harness.store import NotedPrice


@dataclass(slots=True, eq=False)
class Reservation:
    """The most that one call may cost, reserved until the cost of the call is known."""

    budget: Budget
    input_tokens: int
    output_tokens: int
    usd: float

    def settle(self, input_tokens: int, output_tokens: int) -> None:
        """Replace the reservation by the tokens that the call used."""
        self.budget.settle(self, input_tokens, output_tokens)

    def release(self) -> None:
        """Release the reservation of a call that was never sent."""
        self.budget.release(self)


@dataclass(slots=True, eq=False)
class _Account:
    """Spent and reserved amounts, shared by all models under one budget."""

    spent: Usage = field(default_factory=Usage)
    held: Usage = field(default_factory=Usage)
    calls: set[Reservation] = field(default_factory=set)
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Budget:
    """A hard limit on dollars, tokens and requests, for calls made from one event loop.

    Every call first reserves the most it may use, so that the unfinished calls together cannot exceed the
    limit. When the usage of a call is known, it replaces the reservation. Only a call that uses more than it
    reserved can exceed the limit, and only by the difference; later calls of the model then reserve as much.

    Parameters
    ----------
    usd, tokens
        Limits; None means no limit. Tokens are those sent and received together.
    price
        Price of the model that is asked; None if unknown.
    requests
        Limit on the calls sent, including refused ones.

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
        """Return the same budget at another model's price; both share the same limits."""
        other = Budget(self._usd, self._tokens, price, requests=self._requests)
        other._account = self._account
        return other

    @property
    def counts_tokens(self) -> bool:
        """Whether the length of an answer affects the budget."""
        return self._usd is not None or self._tokens is not None

    @property
    def spent(self) -> Usage:
        """Usage settled so far; calls of models without a price count zero dollars."""
        return self._account.spent

    @property
    def under_way(self) -> int:
        """Number of reservations that are not settled."""
        return len(self._account.calls)

    def reserve(self, input_tokens: int, output_tokens: int) -> Reservation:
        """Reserve the most that a call may use.

        Raises
        ------
        BudgetSpent
            If the reservation, the amount spent and the other reservations together exceed a limit; nothing
            is reserved then.
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
        """Reserve as `reserve` does, waiting until unfinished calls have released enough.

        Parameters
        ----------
        guess
            Returns the most tokens sent and received. It is called again after each wait, because answers
            improve the estimate.

        Raises
        ------
        BudgetSpent
            If the budget has no room, and no unfinished call could release any.
        """
        while True:
            try:
                return self.reserve(*guess())
            except BudgetSpent:
                if not self.under_way:
                    raise
            await self._account.changed.wait()

    def settle(self, call: Reservation, input_tokens: int, output_tokens: int, requests: int = 1) -> None:
        """Replace a call's reservation by the tokens that the call used; a second time this does nothing."""
        account = self._account
        if call not in account.calls:
            return
        self.charge(input_tokens, output_tokens, requests)
        account.calls.remove(call)
        if output_tokens > call.output_tokens:
            self._expect(output_tokens)
        account.held.add(Usage(1, call.input_tokens, call.output_tokens, usd=call.usd), -1)
        if not account.calls:
            account.held.usd = 0.0  # float sums drift, but without reservations the sum is exactly zero
        account.changed.set()
        account.changed = asyncio.Event()

    def _expect(self, output_tokens: int) -> None:
        """Make each later call of the model reserve this much, because one call exceeded its limit."""
        for call in self._account.calls:
            more = output_tokens - call.output_tokens
            if call.budget is self and more > 0:
                usd = self._price.dollars(0, more)
                self._account.held.add(Usage(0, 0, more, usd=usd))
                call.output_tokens, call.usd = output_tokens, call.usd + usd

    def release(self, call: Reservation) -> None:
        """Release the reservation of a call that was never sent; a second time this does nothing."""
        self.settle(call, 0, 0, 0)

    def charge(self, input_tokens: int, output_tokens: int, requests: int = 0) -> None:
        """Count usage that was not reserved."""
        usd = self._price.dollars(input_tokens, output_tokens)
        self._account.spent.add(Usage(requests, input_tokens, output_tokens, usd=usd))

    def charge_amounts(self, usd: float, tokens: int) -> None:
        """Count dollars and tokens that were used earlier, whatever their price was."""
        self._account.spent.add(Usage(0, tokens, usd=usd))

    def charge_before(self, used: Iterable[Usage], noted: Sequence[NotedPrice] = ()) -> None:
        """Count the usage of earlier commands for the same run, at the prices stored with the run."""
        paid = [part for part in used if part.source is not Source.IMPORT]
        total = Usage.sum(paid)
        total.usd = dollars(self._price, paid, noted) or 0.0
        self._account.spent.add(total)
