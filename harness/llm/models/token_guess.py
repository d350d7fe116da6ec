"""How many tokens a call will use at most, and has used where its endpoint does not say."""

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
    """Upper guesses that learn from what calls used.

    Before the first answer a token is taken to be three Latin letters, or one byte of anything else, as
    tokenizers split digits, marks and rare scripts; and an answer without a limit 1,024 tokens. Afterwards
    the largest ratio and the longest answer seen count, and a quarter more. However short a text is,
    something stands around it: 64 tokens at first, then the least that was seen. A limit counts as what it
    says, until an answer passes its own: from then on no answer is taken to be shorter than the longest of
    those.
    """

    def __init__(self) -> None:
        self._ratio, self._output, self._seen = 1.0, 1024.0, False
        self._least, self._past_limit = _LEAST, 0
        self._answered = False

    def bounds(self, request: Request) -> bool:
        """Whether anything is known of how long the answer may become."""
        return self._answered or request.max_tokens is not None

    def guess(self, request: Request) -> tuple[int, int]:
        """Return most tokens that the request and its answer will have."""
        sent = int(_size(request) * self._ratio) + _PER_MESSAGE * len(request.messages)
        return max(sent, self._least), max(request.max_tokens or int(self._output), self._past_limit)

    def complete(self, request: Request, reply: ModelReply) -> tuple[ModelReply, bool]:
        """Fill in what the endpoint did not say of an answer's tokens, and learn from what it did.

        Returns
        -------
        ModelReply, bool
            The reply, and whether some of its tokens are guessed: those sent by their text, those
            received by what was reserved, or by the text if that is longer.
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
        """Return tokens sent and received that a failed call may have to be paid for.

        The last value says whether they are guessed.
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
        """Take in what a call used; zeros are endpoints that do not say."""
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
    """Tokens of a text at most, as far as can be told; half a surrogate pair counts as a character."""
    data = text.encode(errors="surrogatepass")
    others = len(data.translate(None, _LETTERS))
    return others - (-(len(data) - others) // _BYTES)
