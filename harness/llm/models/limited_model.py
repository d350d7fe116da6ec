"""A model within the limits of its endpoint: every call in a place of its own, guessed, retried, counted.

This is the one layer that retries; the clients below are told not to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import tenacity

from harness.errors import Fault, TransientModelError
from harness.llm.limits import LONGEST_PAUSE, Limiter
from harness.llm.models.interface import Model, ModelReply, Request

LONGEST_WAIT = 60.0
PATIENCE = 3
"""So many times the tries for HTTP 429: a refused call costs nothing, and a later one will succeed."""

_PER_MESSAGE = 8
_SAFETY = 1.25

_backoff = tenacity.wait_random_exponential(multiplier=0.5, max=LONGEST_WAIT)
_jitter = tenacity.wait_random(0, 0.1)
_again = tenacity.retry_if_exception_type(TransientModelError)


@dataclass(slots=True)
class CallCounts:
    """What the calls for one answer used, also those whose reply was not taken."""

    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0


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


@dataclass(slots=True, eq=False)
class LimitedModel:
    """A model with the limits of its endpoint.

    Attributes
    ----------
    model
        What answers.
    limiter
        The endpoint's limits; models with the same one share it.
    tries
        Calls until a request counts as failed.
    accepts
        Whether an answer of the model of this name will do.
    guess
        How many tokens a call will use, learnt from those before.
    """

    model: Model
    limiter: Limiter
    tries: int = 5
    accepts: Callable[[str], bool] = lambda _: True
    guess: TokenGuess = field(default_factory=TokenGuess)

    async def ask(self, request: Request, counts: CallCounts) -> ModelReply:
        """Ask until an answer comes, at most `tries` times, or `PATIENCE` as many under a rate limit.

        Raises
        ------
        ModelError
            The last one, if no try succeeded; at once if it is fatal.
        """
        try:
            return await self._call(request, counts)
        except TransientModelError as error:
            failed = [error]

        async def try_again() -> ModelReply:
            if failed:
                raise failed.pop()
            return await self._call(request, counts)

        # Only now: a try's bookkeeping in tenacity takes as long as half a call on a fast endpoint.
        retrying = tenacity.AsyncRetrying(retry=_again, stop=self._is_enough, wait=_pause, reraise=True)
        return await retrying(try_again)

    def _is_enough(self, state: tenacity.RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        limited = isinstance(error, TransientModelError) and error.fault is Fault.RATE_LIMIT
        return state.attempt_number >= self.tries * (PATIENCE if limited else 1)

    async def close(self) -> None:
        """Free the model's connections."""
        await self.model.close()

    async def _call(self, request: Request, counts: CallCounts) -> ModelReply:
        """Make one call, and tell the limiter and the guess what came of it."""
        counts.attempts += 1
        limiter = self.limiter
        expected = sum(self.guess.guess(request)) if limiter.counts_tokens else 0
        started = await limiter.acquire(expected)
        try:
            reply = await self.model.ask(request)
        except TransientModelError as error:
            if error.fault in (Fault.RATE_LIMIT, Fault.OVERLOADED):
                limiter.overloaded(started, error.retry_after)
            raise
        finally:
            limiter.release()
        limiter.succeeded()
        if expected:
            limiter.used(expected, reply.input_tokens + reply.output_tokens)
        self.guess.learn(request, reply.input_tokens, reply.output_tokens)
        counts.input_tokens += reply.input_tokens
        counts.output_tokens += reply.output_tokens
        if reply.model and not self.accepts(reply.model):
            raise TransientModelError(f"{reply.model!r} answered", fault=Fault.WRONG_MODEL)
        return reply


def _pause(state: tenacity.RetryCallState) -> float:
    """Return the seconds the endpoint asked for and a little more, else random exponential back-off."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, TransientModelError) else None
    if asked is None:
        return _backoff(state)
    # Not all at the same moment, or the next second starts with the same overload.
    return min(asked, LONGEST_PAUSE) * (1 + _jitter(state))


def _size(request: Request) -> int:
    return sum([len(message.content.encode()) for message in request.messages])


def is_same_model(asked: str, served: str) -> bool:
    """Compare the name of the model asked for with the one in a reply.

    Endpoints name a model more precisely than it is asked for (``gpt-5-mini-2025-08-07``), or with the
    owner or the path left out or put in; so one name must begin with the other's last part.
    """
    a, b = (n.casefold().rstrip("/").rpartition("/")[2].removesuffix(":latest") for n in (asked, served))
    return a.startswith(b) or b.startswith(a)


class ServedModel:
    """Judges the names of models in replies.

    A name that does not resemble the asked one at all may be an alias: the first such is reported and
    then taken for it, any further one is another model. With `answers_as` there is nothing to guess.

    Parameters
    ----------
    asked
        The model's name in the request.
    answers_as
        What the endpoint calls it, if that is known.
    tell
        Called with a sentence for the user.
    """

    def __init__(self, asked: str, answers_as: str | None, tell: Callable[[str], None]) -> None:
        self._asked, self._tell = asked, tell
        self._alias = answers_as
        self._good = {asked, *([answers_as] if answers_as else [])}

    def __call__(self, served: str) -> bool:
        """Whether an answer of the model of this name will do."""
        if served in self._good:
            return True
        if not is_same_model(self._asked, served):
            if self._alias is not None:
                return False
            right = f"set answers_as = {served!r} if that is right"
            self._tell(f"{self._asked} was asked, {served} answers; {right}")
        self._good.add(served)
        self._alias = self._alias or served
        return True
