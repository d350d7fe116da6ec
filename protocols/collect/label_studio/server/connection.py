"""Where the server is and how to get in: the environment, or the server this project started."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from harness import ConfigError

URL, KEY = "LABEL_STUDIO_URL", "LABEL_STUDIO_API_KEY"


@dataclass(frozen=True, slots=True)
class Connection:
    """A server and a token for it; the token is never shown."""

    url: str
    token: str = field(repr=False)

    @property
    def kind(self) -> str:
        """What the token is: ``"legacy"``, ``"personal"`` (a JWT that is exchanged), or ``"access"``."""
        parts, claims = self.token.split("."), None
        if len(parts) == 3:  # a JWT says of itself what it is
            with contextlib.suppress(ValueError):
                claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        if not isinstance(claims, dict):
            return "legacy"
        return "personal" if claims.get("token_type") == "refresh" else "access"

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine."""
        return urlsplit(self.url).hostname in ("127.0.0.1", "localhost", "::1")


def connect(server: str | None = None) -> Connection:
    """Find the server to talk to.

    Parameters
    ----------
    server
        Name of a server of ``oversight label-studio start``; None for the one that the environment
        names or, if it names none, the local one that runs.

    Raises
    ------
    ConfigError
        If there is none, or the environment names it only half or in a wrong form.
    """
    from protocols.collect.label_studio.server.own_server import MAIN, find_server

    if server is None and (os.environ.get(URL) or os.environ.get(KEY)):
        return _from_environment()
    running = find_server(server or MAIN)
    if running is not None:
        return Connection(running.url, running.token)
    if server is not None:
        raise ConfigError(
            f"the isolated server {server!r} does not run: oversight label-studio start --isolated"
        )
    raise ConfigError(
        f"no Label Studio server: set {URL} and {KEY}, or start one with oversight label-studio start"
    )


def _from_environment() -> Connection:
    url, token = os.environ.get(URL, "").strip(), os.environ.get(KEY, "").strip()
    for name, value, what in ((URL, url, "the server's address"), (KEY, token, "the token for it")):
        if not value:
            other = KEY if name == URL else URL
            raise ConfigError(f"{other} is set, but {name} is not: set it to {what}")
    if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", url):
        raise ConfigError(f"{URL} must be an address such as https://labels.example.org, is {url!r}")
    if re.search(r"\s", token) or not token.isascii():
        raise ConfigError(f"{KEY} holds blanks or foreign characters: copy the token again, nothing else")
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise ConfigError(f"{URL} must not hold a user or password: the token alone lets in")
    return Connection(url.rstrip("/"), token)
