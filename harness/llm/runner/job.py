"""One model's part of the work: its calls, within its endpoint's limits and its budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.config import RunSpec
from harness.llm.answers import make_request
from harness.llm.limits import Budget, Limiter, TokenGuess, ask_within, hold_budget
from harness.llm.runner.prediction import predict
from harness.types import Item, Prediction

if TYPE_CHECKING:
    from harness.llm.models import Model, ModelReply, Request


@dataclass(slots=True, eq=False)
class Job:
    """A run under way.

    Attributes
    ----------
    spec
        What is asked, and the run's name.
    model
        What answers.
    limiter
        Of the endpoint; jobs with the same one share it.
    todo
        Items and sample numbers without a stored answer; drawn from as places come free.
    budget
        What may still be spent; None has no limit.
    tries
        Calls per item before it counts as failed.
    accepts
        Whether an answer of the model of this name will do.
    """

    spec: RunSpec
    model: Model
    limiter: Limiter
    todo: Iterator[tuple[Item, int]]
    budget: Budget | None = None
    tries: int = 5
    accepts: Callable[[str], bool] = lambda _: True
    run_id: str = field(init=False)
    _guess: TokenGuess = field(default_factory=TokenGuess)
    _guesses: bool = field(init=False)

    def __post_init__(self) -> None:
        self.run_id = self.spec.id  # hashed once, not for every row
        self._guesses = self.budget is not None or self.limiter.counts_tokens

    async def predict(self, item: Item, sample: int) -> Prediction:
        """Ask about one item.

        Raises
        ------
        BudgetSpent
            If the budget leaves no room and nothing under way can make any.
        FatalModelError
            If a call failed in a way that no repetition mends.
        """
        held = None
        if self.budget is not None:
            held = await hold_budget(self.budget, self._guess, make_request(self.spec, item))
        try:
            prediction = await predict(
                self._ask, self.spec, item, sample, tries=self.tries, accepts=self.accepts
            )
        except BaseException:
            if self.budget is not None and held is not None:
                self.budget.release(held)
            raise
        if self.budget is not None and held is not None:
            self.budget.settle(held, prediction.input_tokens, prediction.output_tokens)
        return prediction

    async def _ask(self, request: Request) -> ModelReply:
        return await ask_within(self.limiter, self._guess, self.model, request, learns=self._guesses)


def in_turn(jobs: list[Job]) -> Iterator[tuple[Job, Item, int]]:
    """Draw from all jobs in turn, so that models sharing an endpoint get equal shares of it."""
    left = list(jobs)
    while left:
        for job in list(left):
            following = next(job.todo, None)
            if following is None:
                left.remove(job)
            else:
                yield job, *following
