"""Runs a program on its task; text that goes into the sandbox after `oversight.agents.workflow`."""

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


async def _answer(forward: Any, payload: Any, host: Any) -> list[Any]:
    """Run a program on one task: ``[text or None, reason]``."""
    try:
        result = await forward(Task(payload, host))
    except Exception as error:  # noqa: BLE001  whatever a program raises is its answer
        return [None, type(error).__name__ + ": " + str(error)]
    if isinstance(result, (Record, str)):
        return [str(result), ""]
    return [None, "forward returned " + type(result).__name__ + ", not a record or a text"]
