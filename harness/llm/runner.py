"""Put items to a model: bounded concurrency, batched writes, resume.

A fixed pool of workers draws from one iterator of items. What they finish goes into a queue that
one writer drains into batches, so that a killed run loses at most what was under way. Running
again asks only for what has no stored answer.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from harness.errors import FatalModelError, ModelError
from harness.llm.answer import Unreadable, parse_answer
from harness.llm.model import Request
from harness.llm.prompt import render
from harness.llm.retry import ask_with_retries
from harness.types import Prediction, PredictionStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from harness.config import RunSpec
    from harness.llm.model import Model
    from harness.types import Item


async def run_model(
    model: Model,
    spec: RunSpec,
    items: Sequence[Item],
    write: Callable[[Sequence[Prediction]], None],
    *,
    concurrency: int = 8,
    tries: int = 5,
) -> None:
    """Ask the model about every item and hand over the predictions as they come.

    Parameters
    ----------
    model
        What answers.
    spec
        The prompt template and its settings.
    items
        Items without a stored answer.
    write
        Called with the predictions that are finished since the last call, from one task only; it
        must have stored them when it returns.
    concurrency
        Number of calls under way at once.
    tries
        Tries per item before it is recorded as failed.

    Raises
    ------
    FatalModelError
        If a call fails in a way that no repetition mends; what was finished is written first.
    """
    done: asyncio.Queue[Prediction | None] = asyncio.Queue()
    source = iter(items)
    try:
        async with asyncio.TaskGroup() as outer:
            writer = outer.create_task(_write_batches(done, write))
            try:
                async with asyncio.TaskGroup() as pool:
                    for _ in range(min(concurrency, len(items))):
                        pool.create_task(_work(model, spec, source, done, tries))
            finally:  # what is finished is stored, whatever ended the pool
                await done.put(None)
                await writer
    except BaseExceptionGroup as group:
        raise _first(group) from None


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


async def _work(
    model: Model, spec: RunSpec, source: Iterator[Item], done: asyncio.Queue[Prediction | None], tries: int
) -> None:
    for item in source:
        await done.put(await predict(model, spec, item, tries))


def make_request(spec: RunSpec, item: Item) -> Request:
    """Return what a run sends about an item."""
    prompt = render(spec.template, item, spec.max_words)
    return Request.of(prompt, temperature=spec.temperature, max_tokens=spec.max_tokens, stop=tuple(spec.stop))


async def predict(model: Model, spec: RunSpec, item: Item, tries: int) -> Prediction:
    """Ask about one item and read the answer; failures become predictions with status FAILED.

    Raises
    ------
    FatalModelError
        If the call failed in a way that no repetition mends.
    """
    started = time.perf_counter()
    try:
        reply, attempts = await ask_with_retries(model.ask, make_request(spec, item), tries)
    except FatalModelError:
        raise
    except ModelError as error:
        return Prediction(item.id, None, PredictionStatus.FAILED, reason=str(error), attempts=tries)
    shown = parse_answer(reply.text, item.shown_options)
    status, option, reason = PredictionStatus.OK, None, ""
    if isinstance(shown, Unreadable):
        status, reason = PredictionStatus.UNREADABLE, _reason(shown, reply.finish_reason)
    else:
        option = item.permutation[shown]
    return Prediction(
        item.id,
        option,
        status,
        reason,
        raw=reply.text,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        seconds=time.perf_counter() - started,
        attempts=attempts,
    )


def _reason(unreadable: Unreadable, finish_reason: str) -> str:
    """Prefer the endpoint's word for a cut or filtered answer to the parser's."""
    return {"length": "truncated", "content_filter": "content filter"}.get(finish_reason, unreadable.reason)


async def _write_batches(
    done: asyncio.Queue[Prediction | None], write: Callable[[Sequence[Prediction]], None]
) -> None:
    """Write what is in the queue whenever something is; one commit for all that has gathered."""
    open_ = True
    while open_:
        batch = [await done.get()]
        while not done.empty():
            batch.append(done.get_nowait())
        open_ = None not in batch
        predictions = [p for p in batch if p is not None]
        if predictions:
            await asyncio.to_thread(write, predictions)
