"""One connection: a request goes out, its reply comes in, then the next may follow."""

from __future__ import annotations

import asyncio
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from oversight.harness.llm.http.failures import BadReply, ConnectionLost
from oversight.harness.llm.http.reply import HttpReply, ReplyBody

_HEAD_BYTES = 64 * 1024
_FRAMING = 8
"""Bytes of chunk sizes that a byte of body may come with: one alone in its chunk needs five."""


class Connection(asyncio.Protocol):
    """A connection for one request at a time.

    Parameters
    ----------
    loop
        The event loop it lives in.
    most
        Bytes that a reply's body may have.

    Attributes
    ----------
    transport
        What it writes to; through a tunnel, first the proxy's and then TLS over it.
    is_open
        Whether another request can be sent.
    was_used_at
        When its last reply was complete, by the loop's clock; when it was made, before the first.
    closed
        Done once nothing of it is left.
    """

    transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop, most: int) -> None:
        self._loop, self._most = loop, most
        self._waiter: asyncio.Future[HttpReply] | None = None
        self._headers: dict[str, str] = {}
        self._body: ReplyBody | None = None
        self._arrived = 0
        self._is_tunnel = False
        self._deadline, self._timer = 0.0, cast("asyncio.TimerHandle | None", None)
        self.is_open = False
        self.was_used_at = loop.time()
        self.closed = loop.create_future()
        self._parser = HttpResponseParser(self)

    async def ask(self, request: bytes, deadline: float) -> HttpReply:
        """Send a whole request and return the reply.

        Parameters
        ----------
        request
            Head and body.
        deadline
            When to give up, by the loop's clock.

        Raises
        ------
        TimeoutError
            If the reply is not complete by then.
        ConnectionLost, BadReply
            If none comes, or none that can be read; the connection is closed then.
        """
        waiter: asyncio.Future[HttpReply] = self._loop.create_future()
        self._waiter = waiter
        self._body, self._arrived = None, 0
        self._deadline = deadline
        if self._timer is None or deadline < self._timer.when():
            self._set_timer()
        self.transport.write(request)
        try:
            return await waiter
        except asyncio.CancelledError:
            self.abort()  # its reply may still come, and belongs to nobody
            raise
        finally:
            self._waiter = None

    async def open_tunnel(self, request: bytes, deadline: float) -> int:
        """Ask a proxy for a tunnel and return the status; what follows the head is no longer HTTP."""
        self._is_tunnel = True
        reply = await self.ask(request, deadline)
        self._is_tunnel, self._parser = False, HttpResponseParser(self)
        return reply.status

    def abort(self) -> None:
        """Close at once, whatever is under way."""
        self.is_open = False
        self._drop_timer()
        self.transport.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; also once TLS is spoken over what was made before."""
        self.transport = cast("asyncio.Transport", transport)
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        """Read what came; what nobody asked for ends the connection."""
        if self._waiter is None or self._waiter.done():
            self.abort()
            return
        self._arrived += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self._fail(BadReply("the server changes to another protocol"))
        except HttpParserError as error:
            cause = error.__context__  # what one of the methods below raised
            unread = BadReply(f"this is no HTTP reply: {error}")
            self._fail(cause if isinstance(cause, BadReply) else unread)
        around = self._arrived - (self._body.arrived if self._body else 0)
        allowed = _HEAD_BYTES + _FRAMING * (self._body.arrived if self._body else 0)
        if around > allowed and not self._waiter.done():
            self._fail(BadReply(f"the reply's head is larger than {_HEAD_BYTES:,} bytes"))

    def eof_received(self) -> None:
        """The server sends no more, which may be the end of a body."""
        self.is_open = False
        self._end()

    def connection_lost(self, error: Exception | None) -> None:
        """Nothing more will come."""
        self.is_open = False
        self._end(error)
        self._drop_timer()
        if not self.closed.done():
            self.closed.set_result(None)

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Begin another reply; a second one to one request spoils the connection."""
        if self._body is not None:
            self.is_open = False
        self._headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; those after the body (trailers) are left out."""
        if self._body is None:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            before = self._headers.get(key)
            self._headers[key] = text if before is None else f"{before}, {text}"

    def on_headers_complete(self) -> None:
        """Begin the body, unless this only says that the reply is to follow (1xx)."""
        if self._body is not None or self._parser.get_status_code() < 200:
            return
        self._body = ReplyBody(self._headers, self._most)
        coding = self._headers.get("transfer-encoding", "chunked")
        if coding.lower() != "chunked":
            raise BadReply(f"the reply comes as {coding[:40]!r}, which was not offered")
        if self._is_tunnel:
            self._finish()
        elif not self._parser.should_keep_alive():
            self.is_open = False

    def on_body(self, data: bytes) -> None:
        """Take in a part of the body."""
        if self._body is not None and not self._is_tunnel:
            self._body.add(data)

    def on_message_complete(self) -> None:
        """Hand the reply over; interim ones have no body."""
        if self._body is not None:
            self._finish()

    def _finish(self) -> None:
        if self._waiter is None or self._waiter.done() or self._body is None:
            return
        reply = HttpReply(self._parser.get_status_code(), self._headers, self._body.join())
        self.was_used_at = self._loop.time()
        self._waiter.set_result(reply)

    def _end(self, error: Exception | None = None) -> None:
        """Nothing more comes: a body without a length is complete, all else is lost."""
        if self._waiter is None or self._waiter.done():
            return
        if self._body is None:
            begun = "in the middle of the reply" if self._arrived else "without a reply"
            detail = f": {error}" if error else ""
            lost = BadReply if self._arrived else ConnectionLost
            self._fail(lost(f"the connection was closed {begun}{detail}"))
        elif error or not self._headers.keys().isdisjoint(("content-length", "transfer-encoding")):
            self._fail(BadReply("the body was cut short"))
        else:
            try:
                self._finish()
            except BadReply as cut:
                self._fail(cut)

    def _set_timer(self) -> None:
        """Look at the deadline when it comes: one timer for many requests, as each would cost more."""
        self._drop_timer()
        self._timer = self._loop.call_at(self._deadline, self._look_at_deadline)

    def _look_at_deadline(self) -> None:
        self._timer = None
        if self._waiter is None:
            return
        if self._loop.time() < self._deadline:
            self._set_timer()
        else:
            self._fail(TimeoutError())

    def _drop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fail(self, error: BaseException) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
        self.abort()
