"""Send requests to one endpoint with aiohttp, and convert aiohttp's errors into this project's."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from typing import NamedTuple
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from oversight.harness.errors import ConfigError, Fault, TransientModelError
from oversight.harness.llm.models.completions import one_line

_CONNECT_SECONDS = 15.0
_KEPT = 4.0
"""Seconds for which an idle connection is reused; common servers close idle connections after 5 s."""
_UNSAFE = re.compile(r"[\x00-\x20\x7f]")


class HttpReply(NamedTuple):
    """An HTTP reply with any status; header names are case-insensitive, and the body is decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """Sends requests to one endpoint; it follows no redirects and keeps no cookies.

    The connection pool has no size limit, because callers limit concurrent requests. From its first request
    until it is closed, a client belongs to one event loop.

    Parameters
    ----------
    base_url
        URL that begins with ``http://`` or ``https://``; request paths are appended to it.
    headers
        Headers sent with every request.
    timeout
        Seconds for a request, including the time to connect.
    max_reply_bytes
        Maximum size of a decompressed reply body.

    Raises
    ------
    ConfigError
        If the URL, or the proxy set in the environment, is invalid. The message contains neither URL nor
        proxy, because they may contain passwords.
    """

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        *,
        timeout: float,
        max_reply_bytes: int,
    ) -> None:
        self._server = _parse_url(base_url, "the endpoint")
        if self._server.user is not None:
            raise ConfigError(
                "the endpoint contains a user or a password; put the key into the environment variable that "
                "api_key_env names"
            )
        self._proxy = _find_proxy(self._server)
        self._headers = {"Accept-Encoding": "gzip, deflate", **headers}
        self._limits, self._most = _time_limits(timeout), max_reply_bytes
        self._session: aiohttp.ClientSession | None = None

    async def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        seconds: float | None = None,
    ) -> HttpReply:
        """Send a request and return the reply, whatever the reply's status is.

        Parameters
        ----------
        method, path
            HTTP method, and path that is appended to the base URL; it begins with a slash.
        body
            JSON; empty for no body.
        seconds
            Timeout of this request; None uses the client's timeout.

        Raises
        ------
        TransientModelError
            If no readable reply arrives in time; the error's `sent` is false if nothing was sent.
        """
        limits = self._limits if seconds is None else _time_limits(seconds)
        if self._session is None:
            self._session = self._open_session()
        try:
            async with self._session.request(
                method,
                f"{self._server}{path}",
                data=body,
                timeout=limits,
                proxy=self._proxy,
                allow_redirects=False,
            ) as reply:
                return HttpReply(reply.status, reply.headers, await self._read(reply))
        except (TimeoutError, OSError, RuntimeError, aiohttp.ClientError) as error:
            raise self._translate(error, limits) from error

    async def close(self) -> None:
        """Close all connections; a later request opens new connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open_session(self) -> aiohttp.ClientSession:
        # Load the certificate authorities only for TLS, because loading them is slow.
        is_secure = "https" in (self._server.scheme, self._proxy and self._proxy.scheme)
        connector = aiohttp.TCPConnector(
            limit=0, keepalive_timeout=_KEPT, ssl=ssl.create_default_context() if is_secure else True
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            skip_auto_headers=("User-Agent",),
        )

    async def _read(self, reply: aiohttp.ClientResponse) -> bytes:
        """Read a body, stopping with an error at the maximum size."""
        body = bytearray()
        while part := await reply.content.readany():
            body += part
            if len(body) > self._most:
                message = f"the reply is larger than {self._most:,} bytes"
                raise TransientModelError(message, fault=Fault.MALFORMED)
        return bytes(body)

    def _translate(self, error: Exception, limits: aiohttp.ClientTimeout) -> TransientModelError:
        match error:
            case aiohttp.ConnectionTimeoutError():
                return self._unreached(f"timeout after {limits.connect:.3g} s")
            case aiohttp.ClientHttpProxyError():
                return self._unreached(f"the proxy answers HTTP {error.status}")
            case aiohttp.ClientConnectorCertificateError(certificate_error=cause):
                return self._unreached(getattr(cause, "verify_message", None) or str(cause))
            case aiohttp.ClientConnectorError(os_error=cause):
                return self._unreached(str(cause) or type(cause).__name__)
            case TimeoutError():
                fault, message = Fault.TIMEOUT, f"no answer within {limits.total:g} s"
            # uvloop raises RuntimeError if the connection was closed
            case aiohttp.ServerDisconnectedError() | OSError() | RuntimeError():
                fault, message = Fault.CONNECTION, "the connection was closed without a reply"
            case _:
                fault, message = Fault.MALFORMED, f"this is not an HTTP reply: {one_line(str(error), 200)}"
        return TransientModelError(message, fault=fault)

    def _unreached(self, reason: str) -> TransientModelError:
        via = f" through the proxy {_authority(self._proxy)}" if self._proxy else ""
        message = f"no connection to {_authority(self._server)}{via}: {reason}"
        return TransientModelError(message, fault=Fault.CONNECTION, sent=False)


def _time_limits(seconds: float) -> aiohttp.ClientTimeout:
    # A shorter timeout for connecting distinguishes a request that was not sent from a slow reply.
    return aiohttp.ClientTimeout(total=seconds, connect=min(_CONNECT_SECONDS, 0.9 * seconds))


def _authority(url: URL) -> str:
    host = f"[{url.raw_host}]" if ":" in (url.raw_host or "") else url.raw_host
    return f"{host}:{url.port}"


def _parse_url(url: str, what: str) -> URL:
    """Parse a base URL; error messages contain `what` instead of the URL, which may contain a password."""
    if _UNSAFE.search(url):
        raise ConfigError(f"{what} contains a space, a line break or another control character")
    try:
        parsed = URL(url.rstrip("/"))
    except ValueError:
        raise ConfigError(f"{what} is not a URL") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConfigError(f"{what} is not a URL of the form http://HOST or https://HOST")
    if parsed.raw_query_string or parsed.raw_fragment:
        raise ConfigError(f"{what} has a query or a fragment (after ? or #); give the base URL alone")
    return parsed


def _find_proxy(server: URL) -> URL | None:
    """Return the proxy set in HTTP_PROXY or HTTPS_PROXY (any case); None if NO_PROXY names the server."""
    url = getproxies().get(server.scheme)
    if not url or proxy_bypass(_authority(server)) or proxy_bypass(server.raw_host or ""):
        return None
    what = f"the proxy in {server.scheme.upper()}_PROXY"
    return _parse_url(url if "://" in url else f"http://{url}", what)
