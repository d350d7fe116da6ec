"""Usage of model calls: requests, tokens, dollars and seconds of a call, an answer, a run or a budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from oversight.harness.types.records import Source


@dataclass(slots=True)
class Usage:
    """Usage of model calls, or an upper bound of the usage.

    If one usage is subtracted from another, fields may become negative.

    Attributes
    ----------
    requests
        Number of calls sent, including refused ones.
    input_tokens, output_tokens
        Numbers of tokens sent and received.
    answers
        Number of answers for which the calls were made.
    source
        Origin of the answers.
    usd
        Cost in US dollars; 0 if no price is known.
    seconds
        Total duration of the calls.
    guessed
        Number of calls whose endpoint reported no tokens; their tokens are counted with an upper estimate.

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
        """Return the difference of two usages."""
        difference = Usage.sum([self])
        difference.add(other, -1)
        return difference

    @classmethod
    def sum(cls, parts: Iterable[Usage]) -> Usage:
        """Return the sum of several usages; the sum has the source `Source.CALL`."""
        total = cls()
        for part in parts:
            total.add(part)
        return total
