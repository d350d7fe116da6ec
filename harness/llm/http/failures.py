"""What may go wrong between a request and its reply; time-outs are the built-in `TimeoutError`.

No message holds a header, a key or a password.
"""

from __future__ import annotations


class HttpFailure(Exception):
    """A request without a reply."""


class NoConnection(HttpFailure):
    """The server or the proxy cannot be reached, or is not who it says it is; nothing was sent."""


class ConnectionLost(HttpFailure):
    """The connection ended before a reply; the server may have done what it was asked."""


class BadReply(HttpFailure):
    """What came is no HTTP reply, is larger than allowed, or was cut short."""
