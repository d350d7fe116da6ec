"""Protect a local web page: refuse requests from other pages, check secrets, set headers, bundle its script.

A page of another origin cannot read responses, but it can send requests. If the page's host name resolves to
this machine (DNS rebinding), the page could also read responses. So the Host and Origin headers must contain
the server's names, and data require a cookie, which the server sets in exchange for a token.

A script consists of modules that import each other. It is sent as one text, in which each module follows the
modules that it imports, without import and export statements.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

import orjson

from oversight.harness.config import Study
from oversight.harness.errors import ConfigError
from oversight.harness.output import keep_secret, redact_bytes
from oversight.harness.platform import host_name
from oversight.harness.web.listening import LOCAL, is_loopback, shown_host

_LOCAL_NAMES = (LOCAL, "localhost", "[::1]")
_NAME = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]")
_HOST = re.compile(r"(?P<name>\[[^]]*\]|[^:]*)(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicAddress:
    """The addresses under which a page is served.

    Attributes
    ----------
    host, port
        Address that the server listens on.
    public
        Scheme and host under which a proxy serves the page, for example ``https://answers.example.org``;
        empty without a proxy.
    """

    host: str
    port: int
    public: str = ""

    @property
    def url(self) -> str:
        """Address that experts open."""
        return self.public or f"http://{shown_host(self.host)}:{self.port}"

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach the page only with TLS."""
        return self.public.startswith("https://")

    @property
    def is_readable(self) -> bool:
        """Whether tokens and answers are sent over a network unencrypted, so that others could read them."""
        plain = self.public.startswith("http://") and not is_loopback(urlsplit(self.public).hostname or "")
        return plain or not is_loopback(self.host)

    def knows(self, host: str) -> bool:
        """Return whether a Host header (name and port) names this page."""
        return (bool(self.public) and host.lower() == urlsplit(self.public).netloc) or self._is_own(host)

    def sent_from_here(self, origin: str, host: str) -> bool:
        """Return whether an Origin header names this page, for a request with this Host header."""
        if self.public and origin == self.public:
            return True
        return origin == f"http://{host}" and self._is_own(host)

    def _is_own(self, host: str) -> bool:
        found = _HOST.fullmatch(host.lower())
        if found is None or (found["port"] or "80") != str(self.port):  # browsers omit the default port 80
            return False
        name = found["name"]
        if name in _LOCAL_NAMES:
            return True
        exposed = not is_loopback(self.host)
        return exposed and (_is_address(name) or name in (self.host.lower(), host_name().lower()))


def read_public_url(text: str) -> str:
    """Return scheme and host of the address under which a proxy serves the page.

    Raises
    ------
    ConfigError
        If the text is not an ``http`` or ``https`` address, or has a path or other parts.
    """
    try:
        parts = urlsplit(text.strip().rstrip("/").lower())
        port, host = parts.port, f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    except ValueError:
        parts, port, host = urlsplit(""), None, None
    is_good = parts.scheme in ("http", "https") and host and _NAME.fullmatch(host)
    more = parts.path or parts.query or parts.fragment or parts.username or parts.password
    if not is_good or more:
        raise ConfigError(
            f"--public-url: give only scheme and host, such as https://answers.example.org, not {text!r}"
        )
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + ("" if port in (None, usual) else f":{port}")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


_IMPORT = re.compile(r"^import [^;]*?from \"[a-z_./]*?([a-z_]+)\.js\";\n", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?=async |function |const |let |class )", re.MULTILINE)
NOWHERE = "default-src 'none'; base-uri 'none'; form-action 'none'"
"""Start of a Content-Security-Policy that allows nothing."""
_POLICY = (
    f"{NOWHERE}; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'"
)
"""Content-Security-Policy of the served page: only its own files, and not inside frames."""
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def keep_keys(study: Study) -> None:
    """Register the API keys of all of a study's models as secrets, so that outputs mask them."""
    for name in study.models:
        keep_secret(os.environ.get(study.model(name).api_key_env))


def write_json(value: Any) -> bytes:
    """Return a value as JSON in which secrets are masked; NaN and infinite numbers become null."""
    written = orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY)
    return redact_bytes(written)


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


@cache
def read_script(folder: Path) -> str:
    """Return the modules in a page's folder `script` as one script that ends with ``main.js``."""
    ordered: list[str] = []
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("script/**/*.js"))}

    def add(name: str) -> None:
        if name not in ordered:
            for needed in _IMPORT.findall(texts[name]):
                add(needed)
            ordered.append(name)

    add("main")
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", texts[name])) for name in ordered)


async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Add the security headers to a response before it is sent."""
    response.headers.update(_HEADERS)


def refuse(status: int, why: str) -> web.Response:
    """Make a response with the reason why the request is refused."""
    from aiohttp import web  # imported here, because writing a page to a file does not need it

    return web.Response(status=status, body=write_json({"error": why}), content_type="application/json")


if TYPE_CHECKING:
    from aiohttp import web

Handler: TypeAlias = "Callable[[web.Request], Awaitable[web.StreamResponse]]"
OPEN = ("/", "/script.js", "/style.css", "/session")
"""Paths without data of the study; all other paths require the cookie."""


def refuse_foreign(request: web.Request, address: PublicAddress) -> web.Response | None:
    """Return a 403 response if a request is for another host or comes from another page, or None."""
    hosts = request.headers.getall("Host", [])
    if len(hosts) != 1 or not address.knows(hosts[0]):
        return refuse(403, "this server does not have that name")
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site", "none")
    # Allow links in other sites and in mails to open the page.
    is_page = request.path == "/" and request.method in ("GET", "HEAD")
    is_foreign = origin is not None and not address.sent_from_here(origin, hosts[0])
    if is_foreign or (site not in ("same-origin", "none") and not is_page):
        return refuse(403, "requests from other pages are refused")
    return None


def read_bearer(request: web.Request) -> str:
    """Read the token of a request; empty if it has none."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return token if kind == "Bearer" else ""


def is_same_secret(given: str, secret: str) -> bool:
    """Return whether secrets are equal, in a time that does not depend on how many characters are equal.

    Examples
    --------
    >>> is_same_secret("a token", "a token")
    True
    """
    return hmac.compare_digest(given.encode(errors="surrogateescape"), secret.encode())


def derive_session(token: str) -> str:
    """Return the cookie that a browser keeps instead of the token; the token cannot be derived from it."""
    return hmac.new(token.encode(errors="surrogateescape"), b"session", sha256).hexdigest()
