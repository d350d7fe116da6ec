"""The second and third tier: CPython in a process that can only compute and talk to the host.

A jail process is started clean (no environment except a hash seed, no site packages) and forks for each
session. Before a child sees the program, it gives up its user, the file system, the network and nearly all
system calls, and sets its limits: see `oversight.agents.sandbox.jail`. Linux on x86-64 only.
"""

from __future__ import annotations

import ast
import asyncio
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import Any, Self

from oversight.agents.sandbox import gate
from oversight.agents.sandbox.base import Host, Payload, Sandbox, SandboxLimits, Stopped, TimedHost
from oversight.agents.sandbox.jail_process import ENVIRONMENT, Jail, converse, longest_line
from oversight.agents.sandbox.shim import prelude_text, strip_own
from oversight.harness import SandboxError

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
        """Command line that starts the jail."""
        return [str(PYTHON), "-P", "-s", "-S", str(ZYGOTE)]  # not -I, which would ignore the environment

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
    """The third tier: the second tier in separate namespaces, which bubblewrap creates (Linux).

    The jail sees a file system with only Python's own files (read-only), no network device, no other process,
    and no user except nobody. Inside the jail, every session is locked down as on the second tier.
    """

    name = "bubblewrap"
    around = "namespaces of its own, "

    def command(self) -> list[str]:
        """Command line that starts the jail in bubblewrap."""
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
    return f"it crashed the interpreter ({how})"
