"""Runs a program over its tasks; text that goes into the sandbox after `oversight.agents.workflow`."""

import asyncio
from typing import Any

from oversight.agents.workflow import Record, Task


async def _gather_all(*coroutines: Any) -> list[Any]:
    """Stand in for ``asyncio.gather(..., return_exceptions=True)``."""
    return list(await asyncio.gather(*[_caught(coroutine) for coroutine in coroutines]))


async def _caught(coroutine: Any) -> Any:
    try:
        return await coroutine
    except Exception as error:  # noqa: BLE001  the program asked for it
        return error


async def _answer(forward: Any, index: int, payload: Any, host: Any) -> list[Any]:
    """Run a program on one task: ``[text or None, reason]``."""
    try:
        result = await forward(Task(index, payload, host))
    except Exception as error:  # noqa: BLE001  whatever a program raises is its answer
        return [None, type(error).__name__ + ": " + str(error)]
    if isinstance(result, (Record, str)):
        return [str(result), ""]
    return [None, "forward returned " + type(result).__name__ + ", not a record or a text"]


async def _answer_all(forward: Any, payloads: Any, host: Any) -> list[Any]:
    return list(
        await asyncio.gather(*[_answer(forward, j, payload, host) for j, payload in enumerate(payloads)])
    )
