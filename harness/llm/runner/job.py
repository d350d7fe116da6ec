"""One model's part of the work: what it is asked, within its endpoint's limits and its budget."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from harness.config import RunSpec
from harness.errors import FatalModelError, ModelError, TransientModelError
from harness.llm.answers import Unreadable, make_request, notation_of
from harness.llm.limits import Budget, CallCounts, LimitedModel
from harness.llm.models import Request
from harness.llm.runner.prediction import CUT, make_failed, read_option, read_prediction
from harness.types import Item, Prediction

MORE = 4
"""An answer that was cut by the token limit is asked for once more with this many times as many."""


@dataclass(slots=True, eq=False)
class Job:
    """A run under way.

    Attributes
    ----------
    spec
        What is asked, and the run's name.
    model
        What answers, within the limits of its endpoint.
    todo
        Items and sample numbers without a stored answer; drawn from as places come free.
    budget
        What may still be spent; None has no limit.
    """

    spec: RunSpec
    model: LimitedModel
    todo: Iterator[tuple[Item, int]]
    budget: Budget | None = None
    run_id: str = field(init=False)

    def __post_init__(self) -> None:
        self.run_id = self.spec.id  # hashed once, not for every row

    async def predict(self, item: Item, sample: int) -> Prediction:
        """Ask about one item and read the answer.

        Raises
        ------
        BudgetSpent
            If the budget leaves no room and nothing under way can make any.
        FatalModelError
            If a call failed in a way that no repetition mends.
        """
        request = make_request(self.spec, item)
        if self.budget is None:
            return await self._ask(request, item, sample)
        held = await self.budget.hold(*self.model.guess.guess(request))
        try:
            prediction = await self._ask(request, item, sample)
            self.budget.charge(prediction.input_tokens, prediction.output_tokens)
            return prediction
        finally:
            self.budget.release(held)

    async def _ask(self, request: Request, item: Item, sample: int) -> Prediction:
        """Ask; a last passing fault becomes a prediction that failed.

        An answer that the token limit cut before it could be read is asked for once more with a higher
        limit.
        """
        started, counts, asked = time.perf_counter(), CallCounts(), notation_of(self.spec.template)
        try:
            reply = await self.model.ask(request, counts)
            if (
                reply.finish_reason == CUT
                and request.max_tokens
                and isinstance(read_option(item, reply, asked), Unreadable)
            ):
                more = replace(request, max_tokens=MORE * request.max_tokens)
                reply = await self.model.ask(more, counts)
        except FatalModelError as error:
            raise FatalModelError(f"{self.spec.name}, item {item.id!r}: {error}") from error
        except ModelError as error:
            counts.seconds = time.perf_counter() - started
            kind = f"{error.fault}: " if isinstance(error, TransientModelError) else ""
            return make_failed(item, sample, f"{kind}{error}", counts)
        counts.seconds = time.perf_counter() - started
        return read_prediction(item, sample, reply, counts, asked=asked)
