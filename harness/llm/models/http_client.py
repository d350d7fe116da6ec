"""Send requests to one endpoint with pyreqwest, and convert its errors into this project's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple
from urllib.request import getproxies, proxy_bypass

from pyreqwest import exceptions
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.http import HeaderMap, Url
from pyreqwest.proxy import ProxyBuilder
from pyreqwest.response import Response

from oversight.harness.errors import ConfigError, Fault, TransientModelError
from oversight.harness.llm.models.completions import one_line

_CONNECT_SECONDS = 9.0
_KEPT = 4.0
"""Seconds for which an idle connection is reused; common servers close idle connections after 5 s."""
_UNSAFE = re.compile(r"[\x00-\x20\x7f]")


class HttpReply(NamedTuple):
    """An HTTP reply with any status, header names in lower case, and the decompressed body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """Sends requests to one endpoint; it follows no redirects and keeps no cookies.

    The connection pool has no size limit, because callers limit concurrent requests. A cancelled request is
    still sent and answered; only its reply is dropped.

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
        if self._server.username or self._server.password is not None:
            raise ConfigError(
                "the endpoint contains a user or a password; put the key into the environment variable that "
                "api_key_env names"
            )
        self._proxy = _find_proxy(self._server)
        self._base = str(self._server).rstrip("/")
        self._headers = {"Accept-Encoding": "gzip", **headers}
        self._seconds, self._most = timeout, max_reply_bytes
        # A shorter timeout for connecting distinguishes a request that was not sent from a slow reply.
        self._connect_seconds = min(_CONNECT_SECONDS, 0.9 * timeout)
        self._client: Client | None = None

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
        seconds = self._seconds if seconds is None else seconds
        if self._client is None:
            self._client = self._open_client()
        request = self._client.request(method, f"{self._base}{path}").timeout(timedelta(seconds=seconds))
        try:
            async with request.body_bytes(body).build_streamed() as reply:
                return HttpReply(reply.status, _read_headers(reply.headers), await self._read(reply))
        except exceptions.RequestError as error:
            raise self._translate(error, seconds) from error

    async def close(self) -> None:
        """Close all connections; a later request opens new connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _open_client(self) -> Client:
        builder = (
            ClientBuilder()
            .default_headers(self._headers)
            .user_agent("oversight")
            .follow_redirects(False)
            .connect_timeout(timedelta(seconds=self._connect_seconds))
            .pool_idle_timeout(timedelta(seconds=_KEPT))
            .no_proxy()
        )
        return (builder if self._proxy is None else builder.proxy(ProxyBuilder.all(self._proxy))).build()

    async def _read(self, reply: Response) -> bytes:
        """Read a body, stopping with an error at the maximum size."""
        body = bytearray()
        while (part := await reply.body_reader.read_chunk()) is not None:
            body += memoryview(part)
            if len(body) > self._most:
                message = f"the reply is larger than {self._most:,} bytes"
                raise TransientModelError(message, fault=Fault.MALFORMED)
        return bytes(body)

    def _translate(self, error: exceptions.RequestError, seconds: float) -> TransientModelError:
        causes = [cause["message"] for cause in error.details["causes"] or ()] or [str(error)]
        if "client error (Connect)" in causes:
            timeout = isinstance(error, TimeoutError)
            return self._unreached(f"timeout after {self._connect_seconds:.3g} s" if timeout else causes[-1])
        if isinstance(error, TimeoutError):
            fault, message = Fault.TIMEOUT, f"no answer within {seconds:g} s"
        elif isinstance(error, exceptions.NetworkError):
            fault, message = Fault.CONNECTION, "the connection was closed without a reply"
        else:
            reason = one_line(causes[-1], 200)
            fault, message = Fault.MALFORMED, f"this is not an HTTP reply: {reason}"
        return TransientModelError(message, fault=fault)

    def _unreached(self, reason: str) -> TransientModelError:
        via = f" through the proxy {_authority(self._proxy)}" if self._proxy else ""
        message = f"no connection to {_authority(self._server)}{via}: {reason}"
        return TransientModelError(message, fault=Fault.CONNECTION, sent=False)


def _read_headers(headers: HeaderMap) -> dict[str, str]:
    """Return the headers without those whose values are no text."""
    try:
        return dict(headers)
    except ValueError:
        texts = {}
        for name in headers:
            with suppress(ValueError):
                texts[name] = headers[name]
        return texts


def _authority(url: Url) -> str:
    return f"{url.host_str}:{url.port_or_known_default}"


def _parse_url(url: str, what: str) -> Url:
    """Parse a base URL; error messages contain `what` instead of the URL, which may contain a password."""
    if _UNSAFE.search(url):
        raise ConfigError(f"{what} contains a space, a line break or another control character")
    form = f"{what} is not a URL of the form http://HOST or https://HOST"
    try:
        parsed = Url(url)
    except ValueError:
        raise ConfigError(form) from None
    if parsed.scheme not in ("http", "https"):
        raise ConfigError(form)
    if parsed.query_string is not None or parsed.fragment is not None:
        raise ConfigError(f"{what} has a query or a fragment (after ? or #); give the base URL alone")
    return parsed


def _find_proxy(server: Url) -> Url | None:
    """Return the proxy set in HTTP_PROXY or HTTPS_PROXY (any case); None if NO_PROXY names the server."""
    url = getproxies().get(server.scheme)
    if not url or proxy_bypass(_authority(server)) or proxy_bypass(server.host_str or ""):
        return None
    what = f"the proxy in {server.scheme.upper()}_PROXY"
    return _parse_url(url if "://" in url else f"http://{url}", what)
