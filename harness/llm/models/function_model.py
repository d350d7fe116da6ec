"""A plain Python callable as a model."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.errors import ConfigError, FatalModelError, Fault, ModelError, TransientModelError
from harness.llm.models.interface import ModelReply, Request


class FunctionModel:
    """Asks a function.

    Parameters
    ----------
    function
        Takes the conversation as one text (system prompt and messages, separated by blank lines) and
        returns the answer as text, or a `ModelReply` with its usage. Async, or run in a thread.
    timeout
        Seconds after which an answer is given up; a thread cannot be ended and runs on.
    """

    def __init__(self, function: Callable[[str], Any], timeout: float) -> None:
        self._function = function
        self._timeout = timeout
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004  an object may have an async __call__
        )

    async def ask(self, request: Request) -> ModelReply:
        """Call the function; what it raises counts as a failure that may pass."""
        text = "\n\n".join(message.content for message in request.messages)
        try:
            async with asyncio.timeout(self._timeout):
                answer = (
                    await self._function(text)
                    if self._is_async
                    else await asyncio.to_thread(self._function, text)
                )
        except TimeoutError as error:
            raise TransientModelError(f"no answer within {self._timeout:g} s", fault=Fault.TIMEOUT) from error
        except ModelError:
            raise
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise TransientModelError(message, fault=Fault.PROGRAM) from error
        if isinstance(answer, ModelReply):
            return answer
        if not isinstance(answer, str):
            raise FatalModelError(f"the callable returned {type(answer).__name__}, not text")
        return ModelReply(answer)

    async def check(self) -> None:
        """There is nothing to look at."""

    async def close(self) -> None:
        """There is nothing to close."""


def load_function(name: str) -> Callable[[str], Any]:
    """Import ``"module:function"``, also from the current folder.

    Raises
    ------
    ConfigError
        If there is no such module or function.
    """
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"python = {name!r} cannot be loaded: {error}") from error
    if not callable(found):
        raise ConfigError(f"python = {name!r} is a {type(found).__name__}, not a function")
    function: Callable[[str], Any] = found
    return function
