"""Programs on this machine as models: a Python function, or a command."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib
import inspect
import os
import re
import shutil
import sys
from asyncio.subprocess import Process, SubprocessStreamProtocol
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from oversight.harness.errors import ConfigError, FatalModelError, Fault, ModelError, TransientModelError
from oversight.harness.llm.models.interface import ModelFunction, ModelReply, Request

_IS_SECRET = re.compile("KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|DATABASE|_URL$|DSN", re.IGNORECASE)
"""Pattern of the names of environment variables that a command must not inherit."""
_Answer = TypeVar("_Answer")


class _ProgramModel:
    """Base class of models that receive the conversation as one text, see `Request.conversation`."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout

    async def _in_time(self, answer: Awaitable[_Answer]) -> _Answer:
        """Return the answer; raise `TransientModelError` if it does not arrive within the timeout."""
        try:
            async with asyncio.timeout(self._timeout):
                return await answer
        except TimeoutError as error:
            raise TransientModelError(f"no answer within {self._timeout:g} s", fault=Fault.TIMEOUT) from error

    async def check(self) -> None:
        """Do nothing: the constructor has checked everything."""

    async def close(self) -> None:
        """Do nothing: there is no connection."""


class FunctionModel(_ProgramModel):
    """A model that is a Python function.

    Parameters
    ----------
    function
        Function that receives the conversation and returns the answer as text, or a `ModelReply` with the
        usage. A function that is not async runs in a thread.
    timeout
        Seconds to wait for an answer. A thread cannot be stopped, so it continues to run after a timeout.
    """

    def __init__(self, function: ModelFunction, timeout: float) -> None:
        super().__init__(timeout)
        self._function = function
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004  an object may have an async __call__
        )

    async def ask(self, request: Request) -> ModelReply:
        """Call the function; an exception counts as a transient failure."""
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
    """A model that runs a program for each request.

    The program reads the conversation on standard input and writes the answer on standard output.

    Parameters
    ----------
    command
        Program and arguments; no shell is used.
    timeout
        Seconds after which the program is killed.
    most
        Maximum number of bytes on each output; if the program writes more, it is killed and the call fails.

    Raises
    ------
    ConfigError
        If the program does not exist.
    """

    def __init__(self, command: Sequence[str], timeout: float, most: int = 4_000_000) -> None:
        super().__init__(timeout)
        self._most = most
        program = shutil.which(command[0])
        if program is None:
            raise ConfigError(f"command: the program {command[0]!r} does not exist")
        self._command = (program, *command[1:])

    async def ask(self, request: Request) -> ModelReply:
        """Run the program; an exit code other than 0 is a transient failure."""
        pipe = asyncio.subprocess.PIPE
        # The program must not see API keys, which only endpoints need.
        shown = {name: value for name, value in os.environ.items() if not _IS_SECRET.search(name)}
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.subprocess_exec(
            lambda: SubprocessStreamProtocol(limit=1 << 16, loop=loop),
            *self._command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=shown,
        )
        process = Process(transport, protocol, loop)
        try:
            out, err = await self._in_time(self._talk(process, request.conversation.encode()))
        finally:
            transport.close()  # kill the program: with a full output pipe, it would never end
            await process.wait()
        if process.returncode:
            last = err.decode(errors="replace").strip().splitlines()[-1:] or ["it printed no message"]
            raise TransientModelError(f"exit code {process.returncode}: {last[0]}", fault=Fault.PROGRAM)
        return ModelReply(out.decode(errors="replace").strip())

    async def _talk(self, process: asyncio.subprocess.Process, text: bytes) -> tuple[bytes, bytes]:
        """Send a text to the program. Returns its outputs; raises an error if an output exceeds the limit."""
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        assert stdin is not None and stdout is not None and stderr is not None  # noqa: S101, PT018  pipes

        async def write() -> None:
            # A program may end without reading its input; uvloop then raises a RuntimeError.
            with contextlib.suppress(ConnectionError, RuntimeError):
                stdin.write(text)
                await stdin.drain()
            stdin.close()

        async def read(stream: asyncio.StreamReader) -> bytes:
            found = bytearray()
            while part := await stream.read(1 << 16):
                found += part
                if len(found) > self._most:
                    message = f"the program's output is larger than {self._most:,} bytes"
                    raise TransientModelError(message, fault=Fault.PROGRAM)
            return bytes(found)

        _, out, err = await asyncio.gather(write(), read(stdout), read(stderr))
        await process.wait()
        return out, err


def digest_program(function: Callable[..., Any] | None, command: Sequence[str]) -> str:
    """Return a digest of the file that defines the function, or of the files that the command names.

    Returns an empty text if no such file was found.
    """
    files = list(command)
    if function is not None:
        try:
            files = [inspect.getsourcefile(inspect.unwrap(function)) or ""]
        except TypeError:  # not a function, or a function without Python source
            files = []
    found = [Path(name) for name in files if name and Path(name).is_file()]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in found))
    return digest.hexdigest()[:12] if found else ""


def load_function(name: str) -> ModelFunction:
    """Import the function ``"module:function"``; the current directory is searched first.

    Raises
    ------
    ConfigError
        If the module or the function does not exist.
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
    function: ModelFunction = found
    return function
