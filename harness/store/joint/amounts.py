"""Amounts of dollars, tokens and requests, which a joint run's workers share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Amounts:
    """So many dollars, tokens sent and received together, and requests."""

    usd: float = 0.0
    tokens: int = 0
    requests: int = 0

    def __iter__(self) -> Iterator[float]:
        """The three, in their order."""
        return (getattr(self, field.name) for field in fields(self))

    def __add__(self, other: Amounts) -> Amounts:
        """Both together."""
        return Amounts(self.usd + other.usd, self.tokens + other.tokens, self.requests + other.requests)

    def __sub__(self, other: Amounts) -> Amounts:
        """What is left."""
        return self + other.times(-1)

    def times(self, number: int) -> Amounts:
        """So many times as much."""
        return Amounts(self.usd * number, self.tokens * number, self.requests * number)

    def columns(self, what: str) -> dict[str, float]:
        """The amounts by the names of columns, as ``granted_usd``."""
        return {f"{what}_{field.name}": getattr(self, field.name) for field in fields(self)}

    @classmethod
    def read(cls, row: Any, what: str) -> Self:
        """The amounts of a row's columns."""
        return cls(*(getattr(row, f"{what}_{field.name}") for field in fields(cls)))

    @classmethod
    def of_tokens(
        cls, price: Mapping[str, float] | None, input_tokens: int, output_tokens: int, requests: int
    ) -> Self:
        """Of calls, at a price in dollars per million tokens; None is unknown and counts nothing."""
        usd = (price["input"] * input_tokens + price["output"] * output_tokens) / 1e6 if price else 0.0
        return cls(usd, input_tokens + output_tokens, requests)
