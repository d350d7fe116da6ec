"""One session in the jail: run a program on its task, and exchange JSON lines with the host.

The first line from the host contains the program's source, its payload and its limits. Then the host sends
``{"id": n, "reply": …}`` or ``{"id": n, "error": "…"}``. The jail sends ``{"id": n, "call": …}``, and at the
end ``{"answer": …}`` for a program, ``{"done": …}`` for plain code, or ``{"stopped": "…"}`` if the source
fails to load.
"""

from __future__ import annotations

import asyncio
import builtins
import datetime
import json
import os
import random
import signal
import sys
import types
from typing import Any

NOW = (2000, 1, 1)
"""The fixed date that the clock shows to programs."""
NO_BUILTINS = ("breakpoint", "compile", "eval", "exec", "input", "open")


class Session:
    """The jail side of a session.

    Parameters
    ----------
    descriptor
        File descriptor of the socket to the host.
    loop
        Event loop, created before the process was locked down.
    """

    def __init__(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        self._descriptor, self._loop = descriptor, loop
        self._seconds = 1.0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._replies: dict[int, Any] = {}
        self._delivered = 0
        self._delivery: asyncio.Handle | None = None
        self._buffer = b""

    def run(self, prelude: str) -> None:
        """Read the host's first message, run the source that it contains, and send the result."""
        lines: list[bytes] = []
        while not lines:
            lines = self._read_lines()
        order = json.loads(lines[0])
        self._seconds = order["seconds"]
        self.arm()
        namespace = self._namespace(order)
        try:
            exec(compile(prelude, "prelude", "exec"), namespace)  # noqa: S102  this process exists to run programs
            exec(compile(order["source"], "workflow", "exec"), namespace)  # noqa: S102
        except BaseException as error:  # noqa: BLE001  whatever a program does when it is loaded
            self._send({"stopped": f"{type(error).__name__}: {error}"[:1000]})
            return
        # Without a payload, the source is plain code, of which only the printed output is returned.
        if order["payload"] is None:
            self._send({"done": "".join(namespace["_printed"])[: order["characters"]]})
            return
        self._loop.add_reader(self._descriptor, self._receive)
        answer = namespace["_answer"](namespace["forward"], order["payload"], self.ask)
        self._send({"answer": self._loop.run_until_complete(answer)})

    async def ask(self, call: Any) -> Any:
        """Send a call to the host and wait for its reply."""
        number = len(self._waiting) + 1
        future = self._loop.create_future()
        self._waiting[number] = future
        self._send({"id": number, "call": call})
        return await future

    def arm(self) -> None:
        """Limit the program's CPU time from now until the next message from the host."""
        signal.setitimer(signal.ITIMER_PROF, self._seconds)

    def _namespace(self, order: Any) -> dict[str, Any]:
        allowed = frozenset(order["modules"])
        real_import = builtins.__import__

        def guarded_import(name: str, *args: Any, **options: Any) -> Any:
            # Only the program's own imports are checked; library modules keep the real import function.
            if name not in allowed:
                raise ImportError(f"{name} cannot be imported here")
            return real_import(name, *args, **options)

        printed: list[str] = []
        known = {name: value for name, value in vars(builtins).items() if name not in NO_BUILTINS}
        known["__import__"] = guarded_import
        known["print"] = lambda *words, sep=" ", end="\n", **_: printed.append(
            sep.join(map(str, words)) + end
        )
        make_repeatable()
        # Create a module, because `dataclass` looks up the module of a class.
        module = types.ModuleType("workflow")
        sys.modules["workflow"] = module
        vars(module).update({"__builtins__": known, "_printed": printed})
        return vars(module)

    def _receive(self) -> None:
        lines = self._read_lines()
        self.arm()
        for line in lines:
            message = json.loads(line)
            self._replies[message["id"]] = message
        if self._delivery is None:
            self._delivery = self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        """Deliver the next reply in the order of the calls, if the program is waiting.

        A program's behaviour therefore never depends on which reply arrived first.
        """
        self._delivery = None
        if not self._loop._ready:  # type: ignore[attr-defined]  # noqa: SLF001  the program waits
            message = self._replies.pop(self._delivered + 1, None)
            if message is None:
                return
            self._delivered += 1
            future = self._waiting[self._delivered]
            if not future.done() and "error" in message:
                future.set_exception(RuntimeError(message["error"]))
            elif not future.done():
                future.set_result(message["reply"])
        self._delivery = self._loop.call_soon(self._deliver)

    def _read_lines(self) -> list[bytes]:
        """Read the bytes that have arrived, and return the complete lines."""
        chunk = os.read(self._descriptor, 1 << 16)
        if not chunk:
            os._exit(0)
        *lines, self._buffer = (self._buffer + chunk).split(b"\n")
        return lines

    def _send(self, message: Any) -> None:
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self._descriptor, data) :]


def make_repeatable() -> None:
    """Seed all random generators and stop the clock, so that a repeated program makes the same calls."""
    seed_as_given = random.Random.seed

    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        seed_as_given(self, 0 if a is None else a, version)

    random.Random.seed = seed  # type: ignore[method-assign]
    random.SystemRandom = random.Random  # type: ignore[assignment, misc]
    random.seed = random._inst.seed  # noqa: SLF001  the generator of the module
    random.seed()
    frozen = datetime.datetime(*NOW, tzinfo=datetime.UTC)

    class StoppedDate(datetime.date):
        @classmethod
        def today(cls) -> Any:
            return cls(*NOW)

    class StoppedClock(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            found = frozen.astimezone(tz) if tz else frozen.replace(tzinfo=None)
            return cls.combine(found.date(), found.timetz())

        today = utcnow = now

    datetime.date, datetime.datetime = StoppedDate, StoppedClock  # type: ignore[misc]


def no_sleep() -> None:
    """Make ``asyncio.sleep`` return at once, because sleeping would only delay the run."""
    sleep = asyncio.sleep

    async def at_once(_: float = 0, result: Any = None) -> Any:
        return await sleep(0, result)

    asyncio.sleep = at_once  # type: ignore[assignment]
