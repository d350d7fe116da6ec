"""Programs of this machine as models: a Python callable, or a command."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import shutil
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from harness.errors import ConfigError, FatalModelError, Fault, ModelError, TransientModelError
from harness.llm.models.interface import ModelReply, Request

_Answer = TypeVar("_Answer")


class _ProgramModel:
    """Takes the conversation as one text: system prompt and messages, separated by blank lines."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout

    async def _in_time(self, answer: Awaitable[_Answer]) -> _Answer:
        """Wait for an answer, once what gives it has started."""
        try:
            async with asyncio.timeout(self._timeout):
                return await answer
        except TimeoutError as error:
            raise TransientModelError(f"no answer within {self._timeout:g} s", fault=Fault.TIMEOUT) from error

    async def check(self) -> None:
        """Do nothing: what there is to look at was looked at when it was made."""

    async def close(self) -> None:
        """Do nothing: there is no connection."""


class FunctionModel(_ProgramModel):
    """Asks a function.

    Parameters
    ----------
    function
        Takes the conversation and returns the answer as text, or a `ModelReply` with its usage. Async, or
        run in a thread.
    timeout
        Seconds after which an answer is given up; a thread cannot be ended and runs on.
    """

    def __init__(self, function: Callable[[str], Any], timeout: float) -> None:
        super().__init__(timeout)
        self._function = function
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004  an object may have an async __call__
        )

    async def ask(self, request: Request) -> ModelReply:
        """Call the function; what it raises counts as a failure that may pass."""
        text = request.conversation
        try:
            call = self._function(text) if self._is_async else asyncio.to_thread(self._function, text)
            answer = await self._in_time(call)
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


class CommandModel(_ProgramModel):
    """Starts a program for every request, which reads standard input and answers on standard output.

    Parameters
    ----------
    command
        Program and arguments; no shell is involved.
    timeout
        Seconds after which the program is ended.

    Raises
    ------
    ConfigError
        If there is no such program.
    """

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        super().__init__(timeout)
        program = shutil.which(command[0])
        if program is None:
            raise ConfigError(f"command: there is no program {command[0]!r}")
        self._command = (program, *command[1:])

    async def ask(self, request: Request) -> ModelReply:
        """Run the program; another exit code than 0 is a failure that may pass."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*self._command, stdin=pipe, stdout=pipe, stderr=pipe)
        try:
            out, err = await self._in_time(process.communicate(request.conversation.encode()))
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            last = err.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
            raise TransientModelError(f"exit code {process.returncode}: {last[0]}", fault=Fault.PROGRAM)
        return ModelReply(out.decode(errors="replace").strip())


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
