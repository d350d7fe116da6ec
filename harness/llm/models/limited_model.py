"""Calls to a model within its endpoint's limits, with retries, counts of usage, and budget reservations.

Only this module retries calls; the clients that it calls do not.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import tenacity

from oversight.harness.errors import FatalModelError, Fault, TransientModelError
from oversight.harness.llm.limits.budget import Reservation
from oversight.harness.llm.limits.limiter import LONGEST_PAUSE, Limiter
from oversight.harness.llm.models.completions import FILTERED
from oversight.harness.llm.models.interface import Model, ModelReply, Request
from oversight.harness.types import Usage

_PER_MESSAGE = 8
_SAFETY = 1.25
_BYTES = 3
_LEAST = 64
_LETTERS = b" abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MAYBE_BILLED = frozenset({Fault.TIMEOUT, Fault.CONNECTION, Fault.MALFORMED, Fault.LOST})


class TokenGuess:
    """Upper estimates of the tokens of a call, which improve with the usage of earlier calls.

    At first, a request is assumed to have one token per three Latin letters or spaces and one token per byte
    of other text, but at least 64 tokens. An answer without a token limit is assumed to have 1,024 tokens.
    After the first reported usage, 1.25 times the largest ratio of tokens to text so far and 1.25 times the
    longest answer so far are used instead. A request is then assumed to have at least as many tokens as the
    smallest request so far. A token limit is trusted until an answer exceeds it. From then on, each answer is
    assumed to be at least as long as the longest answer that exceeded its limit.
    """

    def __init__(self) -> None:
        self._ratio, self._output, self._seen = 1.0, 1024.0, False
        self._least, self._past_limit = _LEAST, 0
        self._answered = False

    def bounds(self, request: Request) -> bool:
        """Whether the length of the answer can be bounded: by a token limit or from earlier answers."""
        return self._answered or request.max_tokens is not None

    def guess(self, request: Request) -> tuple[int, int]:
        """Return upper estimates of the tokens of the request and of its answer."""
        sent = int(_size(request) * self._ratio) + _PER_MESSAGE * len(request.messages)
        return max(sent, self._least), max(request.max_tokens or int(self._output), self._past_limit)

    def complete(self, request: Request, reply: ModelReply) -> tuple[ModelReply, bool]:
        """Fill in token counts that the endpoint did not report, and learn from reported counts.

        Returns
        -------
        ModelReply, bool
            The reply, and whether one of its token counts is estimated. A missing number of sent tokens is
            estimated by `guess`. For a missing number of received tokens, there are two estimates, from
            `guess` and from the reply's text; the larger one is used.
        """
        sent, received = reply.input_tokens, reply.output_tokens
        self.learn(request, sent, received)
        if not sent and (reply.is_partial or reply.finish_reason != FILTERED):  # a filtered prompt is free
            sent = self.guess(request)[0]
        if reply.is_partial or (not received and reply.text):
            received += max(self.guess(request)[1], _most_tokens(reply.text))
        self._answered = True
        if (sent, received) == (reply.input_tokens, reply.output_tokens):
            return reply, False
        return replace(reply, input_tokens=sent, output_tokens=received), True

    def charge(self, request: Request, error: TransientModelError) -> tuple[int, int, bool]:
        """Return the sent and received tokens that may have to be paid for a failed call.

        The third value is whether these numbers are estimated.
        """
        if error.used is not None:
            self.learn(request, *error.used)
            return *error.used, False
        if error.in_reply or (error.sent and error.fault in _MAYBE_BILLED):
            return *self.guess(request), True
        return 0, 0, False

    def learn(self, request: Request, input_tokens: int, output_tokens: int) -> None:
        """Improve the estimates with the usage of a call; zero `input_tokens` means unreported usage."""
        if request.max_tokens and output_tokens > request.max_tokens:
            self._past_limit = max(self._past_limit, output_tokens)
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
    """Return an upper estimate of the number of tokens of a text."""
    data = text.encode(errors="surrogatepass")
    others = len(data.translate(None, _LETTERS))
    return others - (-(len(data) - others) // _BYTES)


LONGEST_WAIT = 60.0
PATIENCE = 3
"""Factor on the number of attempts after HTTP 429, because a refused call is free and may succeed later."""

MALFORMED_IN_A_ROW = 20
"""Number of unreadable replies in a row after which unreadable replies are not retried any more."""

_LONGEST_UNDER_A_LIMIT = 1.0  # maximum seconds between retries if a rate limit delays calls already
_LOGGER = logging.getLogger(__name__)
_random = random.Random()  # noqa: S311  spreads retries over time

Hold: TypeAlias = Callable[[Callable[[], tuple[int, int]]], Awaitable[Reservation]]
"""Function that reserves budget for a call, given a function that returns its maximum token counts."""


@dataclass(slots=True, eq=False)
class LimitedModel:
    """A model that is called within its endpoint's limits, with retries.

    Attributes
    ----------
    model
        The client that makes single calls.
    limiter
        Limits of the endpoint; models of one endpoint may share a limiter.
    tries
        Attempts before a request counts as failed.
    recognise
        Function called with the model name in each reply; raises a `ModelError` if the name is wrong.
    guess
        Upper estimates of the tokens of a call.
    is_billed
        Whether tokens are paid for, so that usage that is not reported must be estimated.
    name
        Name of the model in logs.
    holds_lost
        Whether a call whose worker was lost counts as failed, because it may have been answered and paid. If
        false, the call is repeated.
    malformed
        Number of consecutive unreadable replies.
    """

    model: Model
    limiter: Limiter
    tries: int = 5
    recognise: Callable[[str], None] = lambda _: None
    guess: TokenGuess = field(default_factory=TokenGuess)
    is_billed: bool = True
    name: str = ""
    holds_lost: bool = False
    malformed: int = field(default=0, init=False)

    @property
    def is_always_malformed(self) -> bool:
        """Whether the number of consecutive unreadable replies makes further attempts pointless."""
        return self.malformed >= max(MALFORMED_IN_A_ROW, 2 * self.limiter.concurrency)

    async def ask(self, request: Request, counts: Usage, hold: Hold | None = None) -> ModelReply:
        """Call the model until an answer arrives or `tries` attempts have failed.

        Calls that were lost with their worker do not count as attempts. Three kinds of failures do not count
        either as long as the limiter's patience lasts: failures during an outage, calls that could not be
        sent, and refusals (HTTP 429) while many calls are refused.

        Parameters
        ----------
        counts
            Object to which the usage of all attempts is added.
        hold
            Function that reserves the maximum usage of each call; the reservation is settled after the call.

        Raises
        ------
        ModelError
            If no attempt succeeded. The error is that of the last attempt; a fatal error is raised at once.
        FatalModelError
            If the endpoint has not answered for longer than the limiter's patience.
        BudgetSpent
            If `hold` finds that the budget is spent.
        """
        try:
            return await self._call(request, counts, hold)
        except TransientModelError as error:
            failures = [error]

        async def ask_again() -> ModelReply:
            # The first call is made without tenacity, because its set-up is slow and most calls succeed.
            if failures:
                raise failures.pop()
            return await self._call(request, counts, hold)

        tries = _Tries(self)
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(tries.allow_another),
            wait=tries.pause,
            sleep=self.limiter.sleep,
            before_sleep=tries.log,
            reraise=True,
        )
        return await retrying(ask_again)

    async def close(self) -> None:
        """Close the model's connections."""
        await self.model.close()

    async def _call(self, request: Request, counts: Usage, hold: Hold | None) -> ModelReply:
        """Make one call as soon as the limiter allows it, and report its outcome to the limiter."""
        limiter = self.limiter
        expected = sum(self.guess.guess(request)) if limiter.counts_tokens else 0
        started = await limiter.acquire(expected)
        try:
            held = None if hold is None else await hold(lambda: self.guess.guess(request))
            reply = await self._send(request, counts, held)
        except TransientModelError as error:
            self._tell(error, started, counts)
            raise
        except FatalModelError:  # the endpoint answered, so there is no outage
            limiter.outage.answered()
            raise
        finally:
            limiter.release()
        limiter.succeeded()
        self.malformed = 0
        if reply.limits is not None:
            limiter.told(*reply.limits)
        if expected:
            limiter.used(expected, reply.input_tokens + reply.output_tokens)
        if reply.model:
            self.recognise(reply.model)
        return reply

    async def _send(self, request: Request, counts: Usage, held: Reservation | None) -> ModelReply:
        """Send a request and count its usage, whether it succeeds or fails."""
        counts.requests += 1
        # None means that tokens are estimated, because a call with an unknown outcome may be charged.
        used: Sequence[int] | None = None if self.is_billed else (0, 0)
        is_guess = self.is_billed
        try:
            reply = await self.model.ask(request)
            if self.is_billed:
                reply, is_guess = self.guess.complete(request, reply)
            used = reply.input_tokens, reply.output_tokens
        except TransientModelError as error:
            if self.is_billed:
                *used, is_guess = self.guess.charge(request, error)
            raise
        except FatalModelError:  # a rejected request costs nothing
            used, is_guess = (0, 0), False
            raise
        finally:
            used = self.guess.guess(request) if used is None else used
            counts.input_tokens += used[0]
            counts.output_tokens += used[1]
            counts.guessed += is_guess
            if held is not None:
                held.settle(*used)
        return reply

    def _tell(self, error: TransientModelError, started: float, counts: Usage) -> None:
        """Report a failed call to the limiter, as a refusal, a failure of the endpoint or a bad reply."""
        limiter = self.limiter
        if error.fault is Fault.LOST:  # the worker was lost, not the endpoint
            return
        if error.fault is Fault.RATE_LIMIT:
            limiter.outage.answered(refused=True)
            limiter.refused(started)
        elif error.fault in (Fault.MALFORMED, Fault.PROGRAM):
            limiter.outage.answered()
            self.malformed += error.fault is Fault.MALFORMED
        else:
            limiter.outage.failed(id(counts), sent=error.sent)
            if error.fault is Fault.OVERLOADED:
                limiter.refused(started)


class _Tries:
    """Counts the failed calls for one answer, and decides whether and when to try again."""

    def __init__(self, model: LimitedModel) -> None:
        self._model, self._failed, self._refused = model, 0, 0

    def allow_another(self, error: BaseException) -> bool:
        """Count a failed call. Returns whether another attempt may succeed."""
        if not isinstance(error, TransientModelError) or self._model.is_always_malformed:
            return False
        if error.fault is Fault.LOST:  # the worker was lost, not the endpoint
            return not self._model.holds_lost
        is_refused = error.fault is Fault.RATE_LIMIT
        if not self._waits_out(error):
            self._refused += is_refused
            self._failed += not is_refused
        return self._failed + self._refused < self._model.tries * (PATIENCE if is_refused else 1)

    def log(self, state: tenacity.RetryCallState) -> None:
        """Log that a failed call will be repeated."""
        error = state.outcome and state.outcome.exception()
        where = self._model.name or type(self._model.model).__name__
        _LOGGER.info("%s: %s; trying again in %.1f s", where, error, state.upcoming_sleep)

    def _waits_out(self, error: TransientModelError) -> bool:
        """Return whether an outage or a rate limit caused a failure.

        If so, and if the endpoint has not answered for longer than the limiter's patience, raise
        `FatalModelError`.
        """
        limiter = self._model.limiter
        outage = limiter.outage
        is_limited = error.fault is Fault.RATE_LIMIT and limiter.is_limited
        if not outage.patience or not (outage.is_on or is_limited or not error.sent):
            return False
        if outage.is_too_long:
            raise FatalModelError(f"no reply for {outage.patience:g} s; last error: {error}") from error
        return True

    def pause(self, state: tenacity.RetryCallState) -> float:
        """Return the seconds to wait before the next attempt.

        If the endpoint requested a pause, the result is this pause, randomly prolonged by up to 10 %. If it
        requested none, the result is a random number whose upper limit grows with each failure. After the
        loss of a worker, it is 0.

        While the limiter knows the endpoint's rate, a pause requested with a refusal is ignored, because the
        limiter spaces out calls anyway.
        """
        error, limiter = state.outcome and state.outcome.exception(), self._model.limiter
        assert isinstance(error, TransientModelError)  # noqa: S101  no other failure is repeated
        if error.fault is Fault.LOST:
            return 0.0
        is_refused = error.fault is Fault.RATE_LIMIT
        if error.retry_after is not None and not (is_refused and limiter.is_paced):
            # The random factor prevents simultaneous retries, which would overload the endpoint again.
            return min(error.retry_after, LONGEST_PAUSE) * _random.uniform(1.0, 1.1)
        if is_refused:
            longest = _LONGEST_UNDER_A_LIMIT if limiter.is_limited else LONGEST_WAIT
            return _random.uniform(0.5, 1.0) * min(longest, 0.15 * 2.0**self._refused)
        return _random.uniform(0.0, min(LONGEST_WAIT, 0.1 * 4.0 ** max(0, self._failed - 1)))
