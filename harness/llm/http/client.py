"""The client: a pool of connections to one endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from oversight.harness.errors import ConfigError
from oversight.harness.llm.http.address import Address
from oversight.harness.llm.http.connection import Connection
from oversight.harness.llm.http.dialling import Dialler
from oversight.harness.llm.http.failures import ConnectionLost
from oversight.harness.llm.http.proxy import find_proxy, proxy_authorization
from oversight.harness.llm.http.reply import READABLE, HttpReply
from oversight.harness.llm.http.request_head import make_head

MAX_REPLY_BYTES = 4_000_000
"""Most bytes of a reply's body, unpacked; a larger one is no answer."""

_KEPT = 30.0
"""Seconds that an idle connection is used again; most servers close theirs after 60 or more."""

_RESTED = 1.0
"""Seconds of rest after which a server may have closed a connection for being idle."""


class HttpClient:
    """Sends requests to one endpoint; redirects are not followed, cookies not kept.

    The pool has no limit: whoever asks decides how many requests are under way, and each keeps one
    connection. A client serves one event loop, from its first request until it is closed.

    Parameters
    ----------
    base_url
        ``http://`` or ``https://``; the paths of requests are put behind it.
    headers
        Sent with every request.
    timeout
        Seconds for a request, connecting included.
    max_reply_bytes
        Most bytes of a reply's body, unpacked.
    rested
        Seconds of rest after which a connection that ends without a reply is taken for closed while
        idle, so that the request is sent once more.

    Raises
    ------
    ConfigError
        If the URL, a header or the environment's proxy cannot be used; no message shows a value.
    """

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        *,
        timeout: float,
        max_reply_bytes: int = MAX_REPLY_BYTES,
        rested: float = _RESTED,
    ) -> None:
        server = Address.parse(base_url, "the endpoint")
        if server.user is not None:
            raise ConfigError("the endpoint holds a user or a password; a key is read from api_key_env")
        proxy = find_proxy(server)
        self._timeout, self._rested = timeout, rested
        self._headers = {"Host": server.host_header, "Accept-Encoding": READABLE, **headers}
        self._prefix = server.path
        if proxy is not None and not server.is_secure:
            self._headers |= proxy_authorization(proxy)
            self._prefix = f"http://{server.host_header}{server.path}"
        self._dialler = Dialler(server, proxy, max_reply_bytes)
        self._heads: dict[tuple[str, str], bytes] = {}
        self._idle: list[Connection] = []

    async def request(
        self, method: str, path: str, body: bytes = b"", *, seconds: float | None = None
    ) -> HttpReply:
        """Send a request and return its reply, whatever its status.

        Parameters
        ----------
        method, path
            Of the request; the path follows the base URL's.
        body
            JSON, or nothing.
        seconds
            In place of the client's time-out.

        Raises
        ------
        TimeoutError
            If the reply is not complete in time.
        HttpFailure
            If there is none.
        """
        head = self._heads.get((method, path)) or self._make_head(method, path)
        data = b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body)
        now = asyncio.get_running_loop().time()
        deadline = now + (self._timeout if seconds is None else seconds)
        connection = await self._take_idle(now) or await self._dialler.dial(deadline)
        rested = now - connection.was_used_at
        try:
            reply = await connection.ask(data, deadline)
        except ConnectionLost:
            # A server that closes an idle connection just as a request is sent has not seen the request.
            # One that worked on it before it closed may have it paid, so that is for the caller to repeat.
            if rested < self._rested or asyncio.get_running_loop().time() - now > _RESTED:
                raise
            connection = await self._dialler.dial(deadline)
            reply = await connection.ask(data, deadline)
        if connection.is_open:
            self._idle.append(connection)
        else:
            connection.abort()
        return reply

    async def close(self) -> None:
        """Close all idle connections; the client can be used again."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.abort()
        await asyncio.gather(*(connection.closed for connection in idle))

    def _make_head(self, method: str, path: str) -> bytes:
        head = make_head(method, self._prefix + path, self._headers)
        self._heads[method, path] = head
        return head

    async def _take_idle(self, now: float) -> Connection | None:
        """The connection that was used last, if there is one that is still good."""
        while self._idle:
            connection = self._idle.pop()
            rested = now - connection.was_used_at
            if rested > self._rested:
                # A close that has come already is heard of only in the loop's next two rounds.
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            if connection.is_open and rested < _KEPT:
                return connection
            connection.abort()
        return None
