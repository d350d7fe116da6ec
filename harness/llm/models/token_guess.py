"""How many tokens a call will use at most, and has used where its endpoint does not say."""

from __future__ import annotations

from dataclasses import replace

from harness.llm.models.completions import FILTERED
from harness.llm.models.interface import ModelReply, Request

_PER_MESSAGE = 8
_SAFETY = 1.25
_BYTES = 3
_LEAST = 64


class TokenGuess:
    """Upper guesses that learn from what calls used.

    Before the first answer a token is taken to be three bytes of UTF-8, which over-estimates most
    languages' texts, and an answer without a limit 1,024 tokens; afterwards the largest ratio and the
    longest answer seen, and a quarter more. However short a text is, something stands around it: 64 tokens
    at first, then the least that was seen. A limit counts as what it says, until an answer passes its
    own: from then on no answer is taken to be shorter than the longest of those.
    """

    def __init__(self) -> None:
        self._per_byte, self._output, self._seen = 1 / _BYTES, 1024.0, False
        self._least, self._past_limit = _LEAST, 0
        self._answered = False

    def bounds(self, request: Request) -> bool:
        """Whether anything is known of how long the answer may become."""
        return self._answered or request.max_tokens is not None

    def guess(self, request: Request) -> tuple[int, int]:
        """Return most tokens that the request and its answer will have."""
        sent = int(_size(request) * self._per_byte) + _PER_MESSAGE * len(request.messages)
        return max(sent, self._least), max(request.max_tokens or int(self._output), self._past_limit)

    def complete(self, request: Request, reply: ModelReply) -> tuple[ModelReply, bool]:
        """Fill in what the endpoint did not say of an answer's tokens, and learn from what it did.

        Returns
        -------
        ModelReply, bool
            The reply, and whether some of its tokens are guessed: those sent by their bytes, those
            received by the limit, or by the text if that is longer or there is no limit.
        """
        sent, received = reply.input_tokens, reply.output_tokens
        self.learn(request, sent, received)
        if not sent and reply.finish_reason != FILTERED:  # of which nobody says what it takes
            sent = self.guess(request)[0]
        if not received and reply.text:
            received = max(request.max_tokens or 0, -(-_bytes(reply.text) // _BYTES))
        if request.max_tokens and received > request.max_tokens:
            self._past_limit = max(self._past_limit, received)
        self._answered = True
        if (sent, received) == (reply.input_tokens, reply.output_tokens):
            return reply, False
        return replace(reply, input_tokens=sent, output_tokens=received), True

    def learn(self, request: Request, input_tokens: int, output_tokens: int) -> None:
        """Take in what a call used; zeros are endpoints that do not say."""
        if not input_tokens:
            return
        if not self._seen:
            self._per_byte, self._output, self._least, self._seen = 0.0, 1.0, input_tokens, True
        sent = max(0, input_tokens - _PER_MESSAGE * len(request.messages)) / max(1, _size(request))
        self._per_byte = max(self._per_byte, _SAFETY * sent)
        self._least = min(self._least, input_tokens)
        self._output = max(self._output, _SAFETY * output_tokens)


def _size(request: Request) -> int:
    return sum([_bytes(message.content) for message in request.messages])


def _bytes(text: str) -> int:
    """Bytes of UTF-8; half a surrogate pair, which has none, counts as those of a character."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
