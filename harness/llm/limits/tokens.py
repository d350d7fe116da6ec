"""How many tokens a call may use, before it is known: for budgets, token rates and forecasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.llm.models import Request

_PER_MESSAGE = 8
_SAFETY = 1.25


class TokenGuess:
    """Upper guesses that learn from what calls used.

    Before the first answer a token is taken to be three bytes of UTF-8, which over-estimates most
    languages' texts, and an answer without a limit 1,024 tokens; afterwards the largest ratio and the
    longest answer seen, and a quarter more.
    """

    def __init__(self) -> None:
        self._per_byte, self._output, self._seen = 1 / 3, 1024.0, False

    def guess(self, request: Request) -> tuple[int, int]:
        """Return most tokens that the request and its answer will have."""
        sent = int(_size(request) * self._per_byte) + _PER_MESSAGE * len(request.messages)
        return sent, request.max_tokens or int(self._output)

    def learn(self, request: Request, input_tokens: int, output_tokens: int) -> None:
        """Take in what a call used; zeros are endpoints that do not say."""
        if not input_tokens:
            return
        if not self._seen:
            self._per_byte, self._output, self._seen = 0.0, 1.0, True
        sent = max(0, input_tokens - _PER_MESSAGE * len(request.messages)) / max(1, _size(request))
        self._per_byte = max(self._per_byte, _SAFETY * sent)
        self._output = max(self._output, _SAFETY * output_tokens)


def _size(request: Request) -> int:
    return sum([len(message.content.encode()) for message in request.messages])
