"""Estimate the most tokens a call may use, and the tokens it used if its endpoint does not report them."""

from __future__ import annotations

from dataclasses import replace

from oversight.harness.errors import Fault, TransientModelError
from oversight.harness.llm.models.completions import FILTERED
from oversight.harness.llm.models.interface import ModelReply, Request

_PER_MESSAGE = 8
_SAFETY = 1.25
_BYTES = 3
_LEAST = 64
_LETTERS = b" abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MAYBE_BILLED = frozenset({Fault.TIMEOUT, Fault.CONNECTION, Fault.MALFORMED, Fault.LOST})


class TokenGuess:
    """Upper estimates of tokens that improve with the usage of earlier calls.

    Before the first answer, a token is assumed to be three Latin letters, or one byte of any other text,
    because tokenizers split digits, punctuation and rare scripts. An answer without a limit is assumed to
    have 1,024 tokens. After the first answers, the largest ratio and the longest answer seen are used, plus a
    quarter. Every text has an assumed overhead: at first 64 tokens, later the smallest overhead seen. A token
    limit is trusted until an answer exceeds it. From then on, each answer is assumed to be at least as long
    as the longest such answer.
    """

    def __init__(self) -> None:
        self._ratio, self._output, self._seen = 1.0, 1024.0, False
        self._least, self._past_limit = _LEAST, 0
        self._answered = False

    def bounds(self, request: Request) -> bool:
        """Whether the possible length of the answer is known."""
        return self._answered or request.max_tokens is not None

    def guess(self, request: Request) -> tuple[int, int]:
        """Return the largest number of tokens of the request and of its answer."""
        sent = int(_size(request) * self._ratio) + _PER_MESSAGE * len(request.messages)
        return max(sent, self._least), max(request.max_tokens or int(self._output), self._past_limit)

    def complete(self, request: Request, reply: ModelReply) -> tuple[ModelReply, bool]:
        """Fill in tokens that the endpoint did not report, and learn from the reported ones.

        Returns
        -------
        ModelReply, bool
            The reply, and whether some of its tokens are estimated. Tokens sent are estimated from the
            text; tokens received are the reserved number, or estimated from the text if that is more.
        """
        sent, received = reply.input_tokens, reply.output_tokens
        self._take(request, sent, received)
        if not sent and (reply.is_partial or reply.finish_reason != FILTERED):  # a refused prompt is free
            sent = self.guess(request)[0]
        if reply.is_partial or (not received and reply.text):
            received += max(self.guess(request)[1], _most_tokens(reply.text))
        self._answered = True
        if (sent, received) == (reply.input_tokens, reply.output_tokens):
            return reply, False
        return replace(reply, input_tokens=sent, output_tokens=received), True

    def charge(self, request: Request, error: TransientModelError) -> tuple[int, int, bool]:
        """Return the sent and received tokens that may have to be paid for a failed call.

        The last value says whether these numbers are estimated.
        """
        if error.used is not None:
            self._take(request, *error.used)
            return *error.used, False
        if error.in_reply or (error.sent and error.fault in _MAYBE_BILLED):
            return *self.guess(request), True
        return 0, 0, False

    def _take(self, request: Request, sent: int, received: int) -> None:
        self.learn(request, sent, received)
        if request.max_tokens and received > request.max_tokens:
            self._past_limit = max(self._past_limit, received)

    def learn(self, request: Request, input_tokens: int, output_tokens: int) -> None:
        """Learn from the usage of a call; zeros mean that the endpoint does not report it."""
        if not input_tokens:
            return
        if not self._seen:
            self._ratio, self._output, self._least, self._seen = 0.0, 1.0, input_tokens, True
        sent = max(0, input_tokens - _PER_MESSAGE * len(request.messages)) / max(1, _size(request))
        self._ratio = max(self._ratio, _SAFETY * sent)
        self._least = min(self._least, input_tokens)
        self._output = max(self._output, _SAFETY * output_tokens)


def _size(request: Request) -> int:
    return sum([_most_tokens(message.content) for message in request.messages])


def _most_tokens(text: str) -> int:
    """Estimate the largest number of tokens of a text; half a surrogate pair counts as one character."""
    data = text.encode(errors="surrogatepass")
    others = len(data.translate(None, _LETTERS))
    return others - (-(len(data) - others) // _BYTES)
