"""The addresses under which browsers reach the page, and the host names that requests may use."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from oversight.harness.errors import ConfigError
from oversight.harness.machine import host_name
from oversight.harness.web.listening import LOCAL, is_loopback, shown_host

_LOCAL_NAMES = (LOCAL, "localhost", "[::1]")
_NAME = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]")
_HOST = re.compile(r"(?P<name>\[[^]]*\]|[^:]*)(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicAddress:
    """Addresses of a page.

    Attributes
    ----------
    host, port
        Address that the server listens on.
    public
        Scheme and host of the page behind a proxy, for example ``https://answers.example.org``; empty if
        there is none.
    """

    host: str
    port: int
    public: str = ""

    @property
    def url(self) -> str:
        """The address that experts open."""
        return self.public or f"http://{shown_host(self.host)}:{self.port}"

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach the page only with TLS."""
        return self.public.startswith("https://")

    @property
    def is_readable(self) -> bool:
        """Whether tokens and answers may cross a network unencrypted."""
        plain = self.public.startswith("http://") and not is_loopback(urlsplit(self.public).hostname or "")
        return plain or not is_loopback(self.host)

    def knows(self, host: str) -> bool:
        """Whether a name with its port, as in the header Host, belongs to the page."""
        return (bool(self.public) and host.lower() == urlsplit(self.public).netloc) or self._is_own(host)

    def sent_from_here(self, origin: str, host: str) -> bool:
        """Whether an origin is the page itself, for a request to this Host."""
        if self.public and origin == self.public:
            return True
        return origin == f"http://{host}" and self._is_own(host)

    def _is_own(self, host: str) -> bool:
        found = _HOST.fullmatch(host.lower())
        if found is None or (found["port"] or "80") != str(self.port):  # browsers leave out 80
            return False
        name = found["name"]
        if name in _LOCAL_NAMES:
            return True
        exposed = not is_loopback(self.host)
        return exposed and (_is_address(name) or name in (self.host.lower(), host_name().lower()))


def read_public_url(text: str) -> str:
    """Return scheme and host of an address behind a proxy.

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
