"""Run a server until a signal ends it, and run work in threads outside its event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from oversight.harness.errors import ConfigError
from oversight.harness.platform import host_name

if TYPE_CHECKING:
    from aiohttp import web

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

P = ParamSpec("P")
T = TypeVar("T")
LOCAL = "127.0.0.1"
_LONGEST_FIELD = 1 << 16
"""Largest accepted size of a header in bytes; large, because browsers send the cookies of all local ports."""
_PATIENCE = 15.0
_SILENT = logging.getLogger(f"{__name__}.requests")
"""A logger that drops all messages, because errors of requests are reported in the responses."""
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def open_listener(verb: str, host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address of this machine.

    Raises
    ------
    ConfigError
        If the address is not available; the message names the verb.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"{verb}: cannot listen at {host}, port {port}: {error}; --port 0 chooses a free port"
        ) from None


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached only from this machine."""
    return host in (LOCAL, "::1", "localhost")


def shown_host(host: str) -> str:
    """Return the host to show in a URL for a listening address.

    For an address that means all interfaces (``0.0.0.0`` or ``::``), this is the machine's name.
    """
    named = host_name() if host in ("0.0.0.0", "::") else host  # noqa: S104  as it was asked for
    return f"[{named}]" if ":" in named else named


@contextlib.asynccontextmanager
async def serving(
    application: web.Application, listening: socket.socket, *, patience: float = _PATIENCE
) -> AsyncIterator[asyncio.Event]:
    """Serve requests inside the block; yield the event that SIGINT, SIGTERM and SIGHUP set.

    Parameters
    ----------
    patience
        Seconds within which a new connection must send its first request.
    """
    from aiohttp import web  # imported here, because the import is slow and other functions do not need it

    ended, heard = asyncio.Event(), set[asyncio.BaseProtocol]()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Keep ignoring a signal that the parent ignored, as nohup ignores SIGHUP.
        if signal.getsignal(number) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, ended.set)

    @web.middleware
    async def note(request: web.Request, handler: Handler) -> web.StreamResponse:
        heard.add(request.protocol)
        return await handler(request)

    application.middlewares.insert(0, note)
    runner = web.AppRunner(
        application, access_log=None, logger=_SILENT, shutdown_timeout=1.0, max_field_size=_LONGEST_FIELD
    )
    await runner.setup()
    ending = asyncio.create_task(_end_silent(runner, heard, patience))
    try:
        await web.SockSite(runner, listening).start()
        yield ended
    finally:
        ending.cancel()
        await runner.cleanup()


async def _end_silent(runner: web.AppRunner, heard: set[asyncio.BaseProtocol], patience: float) -> None:
    """Close each connection on which no request arrives for `patience` seconds.

    Many open connections would block all users.
    """
    silent = set[asyncio.BaseProtocol]()
    while True:
        await asyncio.sleep(patience)
        here = [] if runner.server is None else runner.server.connections
        heard.intersection_update(here)
        for connection in here:
            if connection in silent and connection not in heard:
                connection.force_close()
        silent = set[asyncio.BaseProtocol](here) - heard


async def run_apart(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in its own daemon thread and return its value.

    Unlike the threads of a pool, this thread does not delay the end of the program. A pool's threads could
    delay it by minutes if a database is locked or a study is large.
    """
    loop = asyncio.get_running_loop()
    found = loop.create_future()

    def work() -> None:
        try:
            value = function(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001  raised again where the result is awaited
            say(found.set_exception, error)
        else:
            say(found.set_result, value)

    def say(settle: Callable[..., None], outcome: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(lambda: None if found.done() else settle(outcome))

    threading.Thread(target=work, name="view", daemon=True).start()
    done: T = await found
    return done
