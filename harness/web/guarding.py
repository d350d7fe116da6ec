"""Refuse requests from other pages, and compare the secrets that open a page.

A page of another origin cannot read answers, but it can send requests. Under its own name that resolves to
this machine (DNS rebinding), it could also read answers. So the names in Host and Origin must be the server's
names, and data require a cookie, which the server sets in exchange for a token.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias

from oversight.harness.web.pages import refuse
from oversight.harness.web.public_address import PublicAddress

if TYPE_CHECKING:
    from aiohttp import web

Handler: TypeAlias = "Callable[[web.Request], Awaitable[web.StreamResponse]]"
OPEN = ("/", "/script.js", "/style.css", "/session")
"""Paths without data of the study; all other paths require the cookie."""


def refuse_foreign(request: web.Request, address: PublicAddress) -> web.Response | None:
    """Refuse with 403 a request to another host name or from another page; None if it may be answered."""
    hosts = request.headers.getall("Host", [])
    if len(hosts) != 1 or not address.knows(hosts[0]):
        return refuse(403, "this server does not have that name")
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site", "none")
    is_page = request.path == "/" and request.method in ("GET", "HEAD")  # links in mails lead to it
    is_foreign = origin is not None and not address.sent_from_here(origin, hosts[0])
    if is_foreign or (site not in ("same-origin", "none") and not is_page):
        return refuse(403, "requests from other pages are refused")
    return None


def read_bearer(request: web.Request) -> str:
    """Read the token of a request; empty if it has none."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return token if kind == "Bearer" else ""


def is_same_secret(given: str, secret: str) -> bool:
    """Compare secrets in a time that does not depend on how many characters are equal.

    Examples
    --------
    >>> is_same_secret("a token", "a token")
    True
    """
    return hmac.compare_digest(given.encode(errors="surrogateescape"), secret.encode())


def derive_session(token: str) -> str:
    """Return the value that a browser keeps instead of the token, from which the token cannot be derived."""
    return hmac.new(token.encode(errors="surrogateescape"), b"session", sha256).hexdigest()
