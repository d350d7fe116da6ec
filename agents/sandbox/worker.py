"""The host's side of the worker process: start it clean, have it fork sessions, end them."""

from __future__ import annotations

import asyncio
import socket
import subprocess

from harness import SandboxError

_START_SECONDS = 30


class Worker:
    """A process that runs `agents.sandbox.jail.zygote`.

    Parameters
    ----------
    name
        Of the tier, for messages.
    command
        Starts it; its standard input is a socket to us, its environment empty.

    Raises
    ------
    SandboxError
        Here and in every method: if the process cannot be started, or is gone.
    """

    def __init__(self, name: str, command: list[str]) -> None:
        self._name = name
        self._turn = asyncio.Lock()
        self._sessions = 0
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: S603  the command is ours
                    command,
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    env={},
                    cwd="/",
                    start_new_session=True,
                )
            except OSError as error:
                self._control.close()
                raise SandboxError(f"the {name} worker cannot be started: {error}") from error
        self._control.setblocking(False)

    async def prepare(self, prelude: str) -> str:
        """Hand over the prelude, let the worker try its locks, and return their names."""
        text = prelude.encode()
        try:
            said = await asyncio.wait_for(self._tell(f"{len(text):<64}".encode() + text), _START_SECONDS)
        except (OSError, TimeoutError) as error:
            said = str(error)
        if said.startswith("ready: "):
            return said.removeprefix("ready: ")
        errors = (await self.close()).decode(errors="replace").strip().splitlines()
        why = errors[-1] if errors else said
        raise SandboxError(f"the {self._name} worker cannot be started: {why}")

    async def begin(self, theirs: socket.socket, memory: int, cpu_seconds: int) -> int:
        """Fork a session that speaks over a socket; return its number."""
        async with self._turn:
            self._sessions += 1
            words = f"start {self._sessions} {memory} {cpu_seconds}".encode()
            try:
                socket.send_fds(self._control, [words], [theirs.fileno()])
                said = await self._hear()
            except OSError as error:
                said = str(error)
            if said != "started":
                raise SandboxError(f"the {self._name} worker is gone: {said}")
            return self._sessions

    async def end(self, session: int) -> str:
        """End a session and say how it ended: ``"exit 0"``, ``"signal 27"``."""
        async with self._turn:
            try:
                return await self._tell(f"end {session}".encode())
            except OSError as error:
                raise SandboxError(f"the {self._name} worker is gone: {error}") from error

    async def close(self) -> bytes:
        """End the process; return what it wrote to its standard error."""
        self._control.close()
        self._process.kill()
        return (await asyncio.to_thread(self._process.communicate))[1]

    async def _tell(self, data: bytes) -> str:
        await asyncio.get_running_loop().sock_sendall(self._control, data)
        return await self._hear()

    async def _hear(self) -> str:
        return (await asyncio.get_running_loop().sock_recv(self._control, 256)).decode()
