"""One call within the limits of its endpoint and of the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import BudgetSpent, Fault, TransientModelError

if TYPE_CHECKING:
    from harness.llm.limits.budget import Budget, Reservation
    from harness.llm.limits.limiter import Limiter
    from harness.llm.limits.tokens import TokenGuess
    from harness.llm.models import Model, ModelReply, Request


async def hold_budget(budget: Budget, guess: TokenGuess, request: Request) -> Reservation:
    """Hold back what a call may use; calls under way may yet give back what they do not.

    Raises
    ------
    BudgetSpent
        If the budget leaves no room and nothing under way can make any.
    """
    tokens = guess.guess(request)
    while True:
        try:
            return budget.reserve(*tokens)
        except BudgetSpent:
            if not budget.under_way:
                raise
            await budget.changed()


async def ask_within(
    limiter: Limiter, guess: TokenGuess, model: Model, request: Request, *, learns: bool = True
) -> ModelReply:
    """Make one call in a place of its own, and tell the limiter and the guess what came of it.

    Raises
    ------
    ModelError
        The model's own.
    """
    expected = sum(guess.guess(request)) if limiter.counts_tokens else 0
    started = await limiter.acquire(expected)
    try:
        reply = await model.ask(request)
    except TransientModelError as error:
        if error.fault in (Fault.RATE_LIMIT, Fault.OVERLOADED):
            limiter.overloaded(started, error.retry_after)
        raise
    finally:
        limiter.release()
    limiter.succeeded()
    if expected:
        limiter.used(expected, reply.input_tokens + reply.output_tokens)
    if learns:
        guess.learn(request, reply.input_tokens, reply.output_tokens)
    return reply
