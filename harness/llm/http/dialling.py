"""Open connections: to the server or its proxy, through a tunnel, with TLS where it is asked for."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from typing import Any

from aiohappyeyeballs import AddrInfoType, start_connection

from oversight.harness.llm.http.address import Address
from oversight.harness.llm.http.connection import Connection
from oversight.harness.llm.http.failures import HttpFailure, NoConnection
from oversight.harness.llm.http.proxy import proxy_authorization
from oversight.harness.llm.http.request_head import make_head

CONNECT_SECONDS = 15.0
_NEXT_ADDRESS = 0.25  # seconds until another address is tried beside a silent one (RFC 8305)
_NAMES_HOLD = 10.0  # seconds


class Dialler:
    """Opens connections to one server, for one event loop.

    Parameters
    ----------
    server
        Who is to be reached.
    proxy
        Through whom; None goes straight there.
    most
        Bytes that a reply's body may have.
    """

    def __init__(self, server: Address, proxy: Address | None, most: int) -> None:
        self._server, self._proxy, self._most = server, proxy, most
        self._nearest = proxy or server
        self._tls: ssl.SSLContext | None = None
        self._lookup: asyncio.Task[Any] | None = None
        self._lookup_ends = 0.0

    async def dial(self, deadline: float) -> Connection:
        """Open a connection that is ready for requests.

        Raises
        ------
        NoConnection
            If there is no way to the server, its certificate is not good, or it takes longer than
            `CONNECT_SECONDS` or until `deadline` by the loop's clock.
        """
        loop = asyncio.get_running_loop()
        begun = loop.time()
        deadline = min(deadline, begun + CONNECT_SECONDS)
        try:
            async with asyncio.timeout_at(deadline):
                return await self._dial(loop, deadline)
        except TimeoutError as error:
            raise self._unreached(f"not within {deadline - begun:.3g} s") from error
        except (OSError, RuntimeError, HttpFailure) as error:  # uvloop raises RuntimeError, too
            reason = getattr(error, "verify_message", None) or str(error) or type(error).__name__
            raise self._unreached(reason) from error

    def _unreached(self, reason: str) -> NoConnection:
        via = f" through the proxy {self._proxy.authority}" if self._proxy else ""
        return NoConnection(f"no connection to {self._server.authority}{via}: {reason}")

    async def _dial(self, loop: asyncio.AbstractEventLoop, deadline: float) -> Connection:
        nearest = self._nearest
        sock = await start_connection(await self._look_up(loop), happy_eyeballs_delay=_NEXT_ADDRESS)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tls: dict[str, Any] = {}
        if nearest.is_secure:
            tls = {"ssl": self._context(), "server_hostname": nearest.host}
        _, connection = await loop.create_connection(lambda: Connection(loop, self._most), sock=sock, **tls)
        if self._proxy is not None and self._server.is_secure:
            try:
                await self._tunnel(loop, connection, self._proxy, deadline)
            except BaseException:
                connection.abort()
                raise
        return connection

    async def _tunnel(
        self, loop: asyncio.AbstractEventLoop, connection: Connection, proxy: Address, deadline: float
    ) -> None:
        """Have a proxy pass on what is said, and begin TLS with the server behind it."""
        server = self._server
        headers = {"Host": server.authority, **proxy_authorization(proxy)}
        status = await connection.open_tunnel(
            make_head("CONNECT", server.authority, headers) + b"\r\n", deadline
        )
        if not 200 <= status < 300:
            raise NoConnection(f"the proxy answers HTTP {status}")
        transport = await loop.start_tls(
            connection.transport, connection, self._context(), server_hostname=server.host
        )
        if transport is None:
            raise NoConnection("the proxy closed the tunnel")
        connection.connection_made(transport)

    def _context(self) -> ssl.SSLContext:
        # Made where it is needed: reading the authorities takes as long as many requests.
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    async def _look_up(self, loop: asyncio.AbstractEventLoop) -> Sequence[AddrInfoType]:
        """Addresses of the server or proxy; many connections at once ask only once."""
        lookup = self._lookup
        if lookup is None or loop.time() > self._lookup_ends or (lookup.done() and lookup.exception()):
            found = loop.getaddrinfo(self._nearest.host, self._nearest.port, type=socket.SOCK_STREAM)
            self._lookup = lookup = loop.create_task(found)
            self._lookup_ends = loop.time() + _NAMES_HOLD
        found_now: Sequence[AddrInfoType] = await asyncio.shield(lookup)
        return found_now
