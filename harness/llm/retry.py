"""One retry policy for every model call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from harness.errors import TransientModelError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from harness.llm.model import Reply, Request

LONGEST_WAIT = 60.0
_backoff = wait_random_exponential(multiplier=0.5, max=LONGEST_WAIT)


def _wait(state: RetryCallState) -> float:
    """Return the seconds the endpoint asked for, else random exponential back-off."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, TransientModelError) else None
    return min(asked, LONGEST_WAIT) if asked is not None else _backoff(state)


async def ask_with_retries(
    ask: Callable[[Request], Awaitable[Reply]], request: Request, tries: int
) -> tuple[Reply, int]:
    """Ask until an answer comes, at most `tries` times.

    Returns
    -------
    Reply, int
        The answer and the number of tries it took.

    Raises
    ------
    ModelError
        The last one, if no try succeeded; at once if it is fatal.
    """
    retrying = AsyncRetrying(
        retry=retry_if_exception_type(TransientModelError),
        stop=stop_after_attempt(tries),
        wait=_wait,
        reraise=True,
    )
    async for attempt in retrying:
        with attempt:
            reply = await ask(request)
            return reply, attempt.retry_state.attempt_number
    raise AssertionError("tenacity ends by returning or raising")
