"""Who may ask: this page in this browser, opened by whoever has the token.

A page of another origin cannot read answers, but it could send requests, and by a name of its own that
resolves to this machine (DNS rebinding) it could read, too. So the names in Host and Origin are held against
those the server is known by, and data go out only with a cookie that a token bought.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256

from aiohttp import web

from oversight.harness.machine import host_name
from oversight.harness.web import refuse

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_OPEN = ("/", "/script.js", "/style.css", "/session")
"""What is nothing of the study; all else needs the cookie."""
_HOST = re.compile(r"(?P<name>\[[^]]*\]|[^:]*)(?::(?P<port>\d+))?")
_LOCAL = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """What requests are held against.

    Attributes
    ----------
    token
        Whoever has it may read the study.
    port
        Where the server listens.
    exposed
        Address or name that other machines may ask by, beside every address and the name of this one; empty
        where none may.
    """

    token: str
    port: int
    exposed: str = ""

    @property
    def cookie(self) -> str:
        """Name of the cookie; browsers share cookies among the ports of a machine."""
        return f"oversight-{self.port}"

    @property
    def session(self) -> str:
        """What the cookie holds: it tells that its owner had the token, and does not tell the token."""
        return hmac.new(self.token.encode(), b"session", sha256).hexdigest()

    def is_own(self, host: str) -> bool:
        """Whether a name with its port, as in Host, is one that the server is known by."""
        found = _HOST.fullmatch(host.lower())
        if found is None or (found["port"] or "80") != str(self.port):  # browsers leave out 80
            return False
        own = (self.exposed.lower(), host_name().lower())
        name = found["name"]
        return name in _LOCAL or (bool(self.exposed) and (_is_address(name) or name in own))

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse with 403 what comes by another name, from another page, or without the cookie."""
        hosts = request.headers.getall("Host", [])
        if len(hosts) != 1 or not self.is_own(hosts[0]):
            return refuse(403, "this server is not known by that name")
        origin = request.headers.get("Origin")
        if origin is not None and origin != f"http://{hosts[0]}":
            return refuse(403, "requests of other pages are not answered")
        if request.path not in _OPEN and not self._has_session(request):
            return refuse(403, "open the address that oversight view printed; it holds the token")
        return await handler(request)

    async def begin_session(self, request: web.Request) -> web.StreamResponse:
        """Exchange the token for the cookie."""
        kind, _, given = request.headers.get("Authorization", "").partition(" ")
        if kind != "Bearer" or not _is_same(given, self.token):
            return refuse(403, "the token is wrong; open the address that oversight view printed last")
        response = web.json_response({})
        response.set_cookie(self.cookie, self.session, httponly=True, samesite="Strict", path="/")
        return response

    def _has_session(self, request: web.Request) -> bool:
        return _is_same(request.cookies.get(self.cookie, ""), self.session)


def _is_same(given: str, secret: str) -> bool:
    """Whether a secret was given, in a time that does not tell how much of it; headers may hold any byte."""
    return hmac.compare_digest(given.encode(errors="surrogateescape"), secret.encode())


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
