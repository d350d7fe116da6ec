"""Where requests go: a URL taken apart, with nothing in it that could end a header early."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, urlsplit

from oversight.harness.errors import ConfigError

_PORTS = {"http": 80, "https": 443}
_UNSAFE = re.compile(r"[\x00-\x20\x7f]")
_IN_PATHS = "/%:@!$&'()*+,;=~-._"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A server and a path on it.

    Attributes
    ----------
    scheme
        ``"http"`` or ``"https"``.
    host
        Name in ASCII or IP address, without brackets.
    port
        As written, else the scheme's own.
    path
        Percent-encoded, without a slash at its end.
    user, password
        As written before the host; empty without any.
    """

    scheme: str
    host: str
    port: int
    path: str
    user: str | None = None
    password: str | None = None

    @classmethod
    def parse(cls, url: str, what: str) -> Self:
        """Take a URL apart.

        Parameters
        ----------
        url
            Absolute; a query or a fragment is refused.
        what
            How messages name it: they never show it, since it may hold a password.

        Raises
        ------
        ConfigError
            If it is no such URL, or holds spaces, line breaks or other control characters.
        """
        if _UNSAFE.search(url):
            raise ConfigError(f"{what} holds a space, a line break or another control character")
        try:
            parts = urlsplit(url)
            host, port = (parts.hostname or "").rstrip("."), parts.port
            host = host if host.isascii() else host.encode("idna").decode()
        except ValueError:
            raise ConfigError(f"{what} is no URL") from None
        if parts.scheme not in _PORTS or not host:
            raise ConfigError(f"{what} is no URL that begins with http:// or https:// and a host")
        if parts.query or parts.fragment:
            raise ConfigError(f"{what} has a query or a fragment (after ? or #); give the base URL alone")
        return cls(
            scheme=parts.scheme,
            host=host,
            port=port or _PORTS[parts.scheme],
            path=quote(parts.path.rstrip("/"), safe=_IN_PATHS),
            user=parts.username,
            password=parts.password,
        )

    @property
    def is_secure(self) -> bool:
        """Whether TLS is spoken."""
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """Host and port, as tunnels are asked for and messages name the server."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def host_header(self) -> str:
        """Host, and the port where it is not the scheme's own."""
        return self.authority.removesuffix(f":{_PORTS[self.scheme]}")
