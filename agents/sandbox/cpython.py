"""The second and third tier: CPython in a process that can only compute and exchange messages with the host.

A jail process starts with no environment variables except a hash seed, and without site packages. It forks
for each session. Before a child receives the program, the child gives up its user's rights, files, the
network and nearly all system calls, and sets resource limits: see `oversight.agents.sandbox.jail`. Linux on
x86-64 only.

A session sends JSON lines, which are not trusted.
"""

from __future__ import annotations

import ast
import asyncio
import json
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from oversight.agents.sandbox import gate
from oversight.agents.sandbox.base import (
    Host,
    Payload,
    Sandbox,
    SandboxLimits,
    StoodStill,
    Stopped,
    TimedHost,
)
from oversight.agents.sandbox.shim import prelude_text, strip_own
from oversight.harness import SandboxError

ENVIRONMENT = {"PYTHONHASHSEED": "0"}
_START_SECONDS = 30
_ESCAPED, _AROUND = 12, 1 << 16
"""Maximum number of JSON bytes per character, and of bytes in a message besides its texts."""


class Jail:
    """A process that runs `oversight.agents.sandbox.jail.zygote`.

    Parameters
    ----------
    name
        Name of the tier, for messages.
    command
        Command that starts the process. Its standard input is a socket to the host, and its environment
        contains only the hash seed, which fixes the order of sets.

    Raises
    ------
    SandboxError
        If the process cannot be started. The methods raise the same error if the process has ended.
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
                    env=ENVIRONMENT,
                    cwd="/",
                    start_new_session=True,
                )
            except OSError as error:
                self._control.close()
                raise SandboxError(f"the {name} jail cannot be started: {error}") from error
        self._control.setblocking(False)

    async def prepare(self, prelude: str) -> str:
        """Send the prelude, let the jail test its barriers, and return the names of the barriers."""
        text = prelude.encode()
        try:
            said = await asyncio.wait_for(self._tell(f"{len(text):<64}".encode() + text), _START_SECONDS)
        except (OSError, TimeoutError) as error:
            said = str(error)
        if said.startswith("ready: "):
            return said.removeprefix("ready: ")
        errors = (await self.close()).decode(errors="replace").strip().splitlines()
        why = errors[-1] if errors else said
        raise SandboxError(f"the {self._name} jail cannot be started: {why}")

    async def begin(self, theirs: socket.socket, memory: int, cpu_seconds: int) -> int:
        """Fork a session that communicates over the socket `theirs`. Returns the session's number."""
        async with self._turn:
            self._sessions += 1
            words = f"start {self._sessions} {memory} {cpu_seconds}".encode()
            try:
                socket.send_fds(self._control, [words], [theirs.fileno()])
                said = await self._hear()
            except OSError as error:
                said = str(error)
            if said != "started":
                raise SandboxError(f"the {self._name} jail has ended: {said}")
            return self._sessions

    async def end(self, session: int) -> str:
        """End a session. Returns how it ended, for example ``"exit 0"`` or ``"signal 27"``."""
        async with self._turn:
            try:
                return await self._tell(f"end {session}".encode())
            except OSError as error:
                raise SandboxError(f"the {self._name} jail has ended: {error}") from error

    async def close(self) -> bytes:
        """End the process. Returns its standard error."""
        self._control.close()
        self._process.kill()
        return (await asyncio.to_thread(self._process.communicate))[1]

    async def _tell(self, data: bytes) -> str:
        await asyncio.get_running_loop().sock_sendall(self._control, data)
        return await self._hear()

    async def _hear(self) -> str:
        return (await asyncio.get_running_loop().sock_recv(self._control, 256)).decode()


def longest_line(limits: SandboxLimits) -> int:
    """Return the maximum number of bytes of a message from a session; longer messages are not parsed."""
    return _ESCAPED * limits.characters + _AROUND


async def converse(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    order: Payload,
    host: TimedHost,
    limits: SandboxLimits,
) -> dict[str, Any]:
    """Send a session its first message, `order`, answer its calls, and return the session's last message.

    Raises
    ------
    Stopped
        If the session is silent for too long, makes too many calls, or sends a malformed message.
    EOFError
        If the session ended without a last message.
    """
    _send(writer, order)
    under_way: set[asyncio.Task[None]] = set()
    left = limits.calls
    try:
        while True:
            message = await _next(reader, under_way, limits)
            if "call" not in message:
                return message
            left -= 1
            if left < 0:
                raise Stopped(f"more than {limits.calls} calls per item")
            task = asyncio.create_task(_reply(writer, host, message))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
    finally:
        for task in under_way:
            task.cancel()


async def _next(
    reader: asyncio.StreamReader, under_way: set[asyncio.Task[None]], limits: SandboxLimits
) -> dict[str, Any]:
    """Return the session's next message; the idle limit applies only while no call is open."""
    line = asyncio.ensure_future(reader.readline())
    try:
        while not line.done():
            done, _ = await asyncio.wait(
                {line, *under_way}, timeout=limits.idle, return_when="FIRST_COMPLETED"
            )
            if not done and not under_way:
                raise StoodStill(f"the program waited {limits.idle:g} s without a call in progress")
        text = line.result()
        message = json.loads(text) if text.endswith(b"\n") else None
    except (ValueError, RecursionError):
        raise Stopped("the program sent something that is not a message") from None
    except ConnectionError:
        raise EOFError from None
    finally:
        line.cancel()
    if message is None:
        raise EOFError
    if not isinstance(message, dict) or not {"call", "answer", "done", "stopped"} & set(message):
        raise Stopped("the program sent something that is not a message")
    return message


async def _reply(writer: asyncio.StreamWriter, host: TimedHost, message: dict[str, Any]) -> None:
    call = message["call"] if isinstance(message["call"], dict) else {}
    try:
        _send(writer, {"id": message.get("id"), "reply": await host.ask(call)})
    except RuntimeError as error:
        _send(writer, {"id": message.get("id"), "error": str(error)})


def _send(writer: asyncio.StreamWriter, message: Payload) -> None:
    if not writer.is_closing():
        writer.write(json.dumps(message).encode() + b"\n")


ZYGOTE = Path(__file__).parent / "jail" / "zygote.py"
PYTHON = Path(sys.executable).resolve()
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache")
_TOO_LONG = {signal.SIGPROF, signal.SIGXCPU, signal.SIGKILL}


class CPythonSandbox(Sandbox):
    """Runs programs in forks of one locked-down jail; see `oversight.agents.sandbox.base.Sandbox`."""

    name = "cpython"
    language = "The interpreter is CPython with the modules named above; everything else of Python works."
    around = ""
    sessions = 32
    _jail: Jail | None = None

    def command(self) -> list[str]:
        """Return the command line that starts the jail."""
        # Do not use -I, because it would ignore PYTHONHASHSEED.
        return [str(PYTHON), "-P", "-s", "-S", str(ZYGOTE)]

    async def __aenter__(self) -> Self:
        jail = Jail(self.name, self.command())
        self.layers = self.around + await jail.prepare(prelude_text(stand_ins=False))
        self._jail = jail
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._jail is not None:
            await self._jail.close()
            self._jail = None

    def _unparse(self, tree: ast.Module) -> str:
        return ast.unparse(strip_own(tree))

    async def _answer(self, source: str, task: Payload, host: TimedHost) -> Any:
        found = await self._session(source, task, host)
        return [None, str(found["stopped"])] if "stopped" in found else found.get("answer")

    async def _print(self, tree: ast.Module) -> str:
        async with self._code:
            found = await self._session(ast.unparse(tree), None, TimedHost(Host(), 0, self.limits.total))
        if "stopped" in found:
            raise Stopped(str(found["stopped"]))
        return str(found.get("done", ""))[: self.limits.characters]

    async def _session(self, source: str, payload: Payload | None, host: TimedHost) -> dict[str, Any]:
        if self._jail is None:
            raise SandboxError("the sandbox is not open; use it in `async with`")
        jail = self._jail
        modules = sorted(name for name in gate.MODULES if not name.startswith("agents."))
        order = {
            "source": source,
            "payload": payload,
            "modules": modules,
            "seconds": self.limits.seconds,
            "characters": self.limits.characters,
        }
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=longest_line(self.limits))
        try:
            with theirs:
                cpu_seconds = int(self.limits.seconds * (self.limits.calls + 1)) + 1
                number = await jail.begin(theirs, self.limits.memory, cpu_seconds)
            try:
                return await host.bound(converse(reader, writer, order, host, self.limits))
            except EOFError:
                how, number = await jail.end(number), 0
                raise Stopped(_death(how, self.limits)) from None
            finally:
                if number:
                    await jail.end(number)
        finally:
            writer.close()


class BubblewrapSandbox(CPythonSandbox):
    """The third tier: the second tier inside Linux namespaces created by bubblewrap.

    The jail's file system contains only Python and the system libraries, read-only. The jail has no network
    device, cannot see other processes and runs as the user nobody. Inside it, every session is locked down
    as on the second tier.
    """

    name = "bubblewrap"
    around = "namespaces of its own, "

    def command(self) -> list[str]:
        """Return the command line that starts the jail in bubblewrap."""
        wrap = shutil.which("bwrap")
        if wrap is None:
            raise SandboxError("bubblewrap is not installed (program bwrap)")
        jail = str(ZYGOTE.parent)
        seen = dict.fromkeys([*_SYSTEM, sys.base_prefix])
        return [
            *(wrap, "--unshare-all", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"),
            *("--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"),
            *(word for name, value in ENVIRONMENT.items() for word in ("--setenv", name, value)),
            *("--dev", "/dev", "--chdir", "/"),
            *(word for path in seen for word in ("--ro-bind-try", path, path)),
            *("--ro-bind", jail, jail, "--"),
            *super().command(),
        ]


def _death(how: str, limits: SandboxLimits) -> str:
    kind, _, number = how.partition(" ")
    if kind == "signal" and int(number) in _TOO_LONG:
        return f"it computed for more than {limits.seconds:g} s between two calls"
    return f"the program crashed the interpreter ({how})"
