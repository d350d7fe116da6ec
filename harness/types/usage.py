"""What calls to models use: one value for a call, an answer, a run and a budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from oversight.harness.types.records import Source


@dataclass(slots=True)
class Usage:
    """What calls used, or may use at most; differences may be negative.

    Attributes
    ----------
    requests
        Calls sent, including refused ones.
    input_tokens, output_tokens
        Tokens sent and received.
    answers
        Answers that the calls were made for.
    source
        Where the answers came from.
    usd
        Dollars, where a price is known.
    seconds
        Time that the calls took.
    guessed
        Calls whose endpoint did not report tokens; an upper guess is counted for them.

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
        """Add what other calls used; with `sign` −1, take it away."""
        self.requests += sign * other.requests
        self.input_tokens += sign * other.input_tokens
        self.output_tokens += sign * other.output_tokens
        self.answers += sign * other.answers
        self.usd += sign * other.usd
        self.seconds += sign * other.seconds
        self.guessed += sign * other.guessed

    def __sub__(self, other: Usage) -> Usage:
        """What was used since `other`."""
        difference = Usage.sum([self])
        difference.add(other, -1)
        return difference

    @classmethod
    def sum(cls, parts: Iterable[Usage]) -> Usage:
        """All parts together, as of the source of calls."""
        total = cls()
        for part in parts:
            total.add(part)
        return total
