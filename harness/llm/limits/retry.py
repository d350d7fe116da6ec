"""One retry policy for every model call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    wait_random,
    wait_random_exponential,
)

from harness.errors import Fault, TransientModelError
from harness.llm.limits.limiter import LONGEST_PAUSE

if TYPE_CHECKING:
    from harness.llm.models import ModelReply, Request

LONGEST_WAIT = 60.0
PATIENCE = 3
"""So many times the tries for HTTP 429: a refused call costs nothing, and a later one will succeed."""

_backoff = wait_random_exponential(multiplier=0.5, max=LONGEST_WAIT)
_jitter = wait_random(0, 0.1)
_again = retry_if_exception_type(TransientModelError)


def _wait(state: RetryCallState) -> float:
    """Return the seconds the endpoint asked for and a little more, else random exponential back-off."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, TransientModelError) else None
    if asked is None:
        return _backoff(state)
    # Not all at the same moment, or the next second starts with the same overload.
    return min(asked, LONGEST_PAUSE) * (1 + _jitter(state))


def _stop(tries: int) -> Callable[[RetryCallState], bool]:
    def enough(state: RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        limited = isinstance(error, TransientModelError) and error.fault is Fault.RATE_LIMIT
        return state.attempt_number >= (PATIENCE * tries if limited else tries)

    return enough


async def ask_with_retries(
    ask: Callable[[Request], Awaitable[ModelReply]], request: Request, tries: int
) -> tuple[ModelReply, int]:
    """Ask until an answer comes, at most `tries` times, or `PATIENCE` as many under a rate limit.

    Returns
    -------
    Reply, int
        The answer and the number of tries it took.

    Raises
    ------
    ModelError
        The last one, if no try succeeded; at once if it is fatal.
    """
    try:
        return await ask(request), 1
    except TransientModelError as error:
        first = error
    # Only now: a try's bookkeeping in tenacity takes as long as half a call on a fast endpoint.
    count = 0

    async def once() -> ModelReply:
        nonlocal count
        count += 1
        if count == 1:
            raise first
        return await ask(request)

    retrying = AsyncRetrying(retry=_again, stop=_stop(tries), wait=_wait, reraise=True)
    return await retrying(once), count
