"""Usage of calls to models: one value for a call, an answer, a run and a budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from oversight.harness.types.records import Source


@dataclass(slots=True)
class Usage:
    """Usage of calls, or its upper bound; differences may be negative.

    Attributes
    ----------
    requests
        Calls sent, including refused ones.
    input_tokens, output_tokens
        Tokens sent and received.
    answers
        Number of answers for which the calls were made.
    source
        Origin of the answers.
    usd
        Dollars, if a price is known.
    seconds
        Duration of the calls.
    guessed
        Number of calls whose endpoint did not report tokens; an upper estimate is counted.

    Examples
    --------
    >>> Usage.sum([Usage(1, 20, 3), Usage(1, 30, 4)]).tokens
    57
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    answers: int = 0
    source: Source = Source.CALL
    usd: float = 0.0
    seconds: float = 0.0
    guessed: int = 0

    @property
    def tokens(self) -> int:
        """Tokens sent and received together."""
        return self.input_tokens + self.output_tokens

    def add(self, other: Usage, sign: int = 1) -> None:
        """Add the usage of other calls; with `sign` −1, subtract it."""
        self.requests += sign * other.requests
        self.input_tokens += sign * other.input_tokens
        self.output_tokens += sign * other.output_tokens
        self.answers += sign * other.answers
        self.usd += sign * other.usd
        self.seconds += sign * other.seconds
        self.guessed += sign * other.guessed

    def __sub__(self, other: Usage) -> Usage:
        """Usage since `other`."""
        difference = Usage.sum([self])
        difference.add(other, -1)
        return difference

    @classmethod
    def sum(cls, parts: Iterable[Usage]) -> Usage:
        """Sum of all parts, with the source of calls."""
        total = cls()
        for part in parts:
            total.add(part)
        return total
