"""The only way from a workflow to a model: cached, within the budget, retried, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.llm.cost import Budget
    from harness.llm.model import Model, Reply, Request
    from harness.store.repository import Repository


class Broker:
    """Asks one model, and pays for no call twice.

    Parameters
    ----------
    model
        What answers.
    name
        Name of model and endpoint; part of every cache key.
    budget
        Holds back what a call may cost before it is sent; shared with the optimiser's calls.
    store
        Database whose table `call` is the cache; None keeps the cache in memory.
    concurrency
        Calls under way at once.
    tries
        Tries per call.
    """

    def __init__(
        self,
        model: Model,
        name: str,
        *,
        budget: Budget,
        store: Repository | None = None,
        concurrency: int = 8,
        tries: int = 5,
    ) -> None:
        raise NotImplementedError

    async def ask(self, request: Request, path: str) -> Reply:
        """Answer a request from the cache, or ask the model.

        Parameters
        ----------
        request
            What to send; with a schema, a reply that does not follow it gets one repair turn.
        path
            Names the draw: item/replicate/call path/occurrence. The same request on another path
            is another draw; the same on the same path is the same reply, whoever asks.

        Raises
        ------
        BudgetSpent
            If the call could cost more than what is left.
        TransientModelError
            If it failed after all retries, or stayed empty or cut short: an error, no wrong answer.
        FatalModelError
            If the endpoint refuses in a way that no repetition mends.
        """
        raise NotImplementedError
