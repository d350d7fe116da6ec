"""A command as a model: the prompt on standard input, the answer on standard output."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Sequence

from harness.errors import ConfigError, Fault, TransientModelError
from harness.llm.models.interface import ModelReply, Request


class CommandModel:
    """Starts a program for every request; no shell is involved.

    Parameters
    ----------
    command
        Program and arguments.
    timeout
        Seconds after which the program is ended.

    Raises
    ------
    ConfigError
        If there is no such program.
    """

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        program = shutil.which(command[0])
        if program is None:
            raise ConfigError(f"command: there is no program {command[0]!r}")
        self._command = (program, *command[1:])
        self._timeout = timeout

    async def ask(self, request: Request) -> ModelReply:
        """Run the program; another exit code than 0 is a failure that may pass."""
        text = "\n\n".join(message.content for message in request.messages)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*self._command, stdin=pipe, stdout=pipe, stderr=pipe)
        try:
            async with asyncio.timeout(self._timeout):
                out, err = await process.communicate(text.encode())
        except TimeoutError as error:
            raise TransientModelError(f"no answer within {self._timeout:g} s", fault=Fault.TIMEOUT) from error
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            last = err.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
            raise TransientModelError(f"exit code {process.returncode}: {last[0]}", fault=Fault.PROGRAM)
        return ModelReply(out.decode(errors="replace").strip())

    async def check(self) -> None:
        """The program was looked for already."""

    async def close(self) -> None:
        """Every program has ended."""
