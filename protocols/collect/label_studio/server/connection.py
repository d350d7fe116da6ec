"""Find the server and a token: from the environment, or of the server that this project started.

`oversight doctor` checks a server step by step without the SDK, so that only the first problem (address,
token, version or rights) is reported, with its solution.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from oversight.harness import ConfigError
from oversight.harness.output import keep_secret
from oversight.harness.types import Finding
from oversight.protocols.collect.label_studio.server.install import VERSION, require_client

if TYPE_CHECKING:
    import httpx

URL, KEY = "LABEL_STUDIO_URL", "LABEL_STUDIO_API_KEY"
NAME = "Label Studio"
_MEND = "make a new one under Account & Settings → Personal Access Token"


@dataclass(frozen=True, slots=True)
class Connection:
    """A server and a token for it; the token is never shown.

    `public_url` is the address that others use, if it differs.
    """

    url: str
    token: str = field(repr=False)
    public_url: str = ""

    def __post_init__(self) -> None:
        keep_secret(self.token)

    @property
    def kind(self) -> str:
        """Kind of the token: ``"legacy"``, ``"personal"`` (a JWT that is exchanged), or ``"access"``."""
        parts, claims = self.token.split("."), None
        if len(parts) == 3:  # a JWT names its own type
            with contextlib.suppress(ValueError):
                claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        if not isinstance(claims, dict):
            return "legacy"
        return "personal" if claims.get("token_type") == "refresh" else "access"

    @property
    def is_local(self) -> bool:
        """Whether the server runs on this machine."""
        return urlsplit(self.url).hostname in ("127.0.0.1", "localhost", "::1")


def connect(server: str | None = None) -> Connection:
    """Return the address and token of the server to use.

    Parameters
    ----------
    server
        Name of a server of ``oversight server start label-studio``; None for the one that the environment
        names or, if it names none, the running local one.

    Raises
    ------
    ConfigError
        If no server is found, or the environment variables are incomplete or malformed.
    """
    require_client()
    from oversight.protocols.collect.label_studio.server.own_server import MAIN, find_server

    if server is None and (os.environ.get(URL) or os.environ.get(KEY)):
        return _from_environment()
    running = find_server(server or MAIN)
    if running is not None:
        return Connection(running.url, running.token, running.public_url)
    if server is not None:
        raise ConfigError(f"the isolated server {server!r} does not run: oversight server start label-studio")
    raise ConfigError(
        f"no Label Studio server: set {URL} and {KEY}, or start one with oversight server start label-studio"
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
        raise ConfigError(f"{KEY} contains spaces or invalid characters: copy only the token again")
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise ConfigError(f"{URL} must not contain a user or password, because the token gives access")
    return Connection(url.rstrip("/"), token)


def check_server() -> list[Finding]:
    """Check the server that the environment names, or the local one."""
    try:
        require_client()
    except ConfigError as error:
        return [Finding(NAME, "missing", str(error))]
    try:
        connection = connect()
    except ConfigError as error:
        state = "missing" if str(error).startswith("no Label Studio server") else "wrong"
        return [Finding(NAME, state, str(error))]
    import httpx

    done = []
    with httpx.Client(
        base_url=connection.url, timeout=20.0, follow_redirects=True, trust_env=not connection.is_local
    ) as http:
        try:
            done.append(_version(http, connection))
            header, whose = _token(http, connection)
            done.append(whose)
            done.append(_rights(http, header))
        except ConfigError as error:
            done.append(Finding(NAME, "wrong", str(error)))
        except httpx.HTTPError as error:
            why = " ".join(f"{type(error).__name__} {error}".split())[:160]
            told = f"{connection.url} cannot be reached ({why}): check that it runs and that {URL} is right"
            done.append(Finding(f"{NAME} address", "wrong", told))
    return done


def _version(http: httpx.Client, connection: Connection) -> Finding:
    """Check that it is a Label Studio, and return its version."""
    reply = http.get("/api/version")
    release = ""
    with contextlib.suppress(ValueError, AttributeError):
        release = str(reply.json().get("release") or "")
    if not release:
        raise ConfigError(
            f"{connection.url} answers (status {reply.status_code}), but is not Label Studio: {URL} must be "
            "its address without /api or /projects"
        )
    if release.split(".")[:2] == VERSION.split(".")[:2]:
        return Finding(f"{NAME} version", "ok", f"{release} at {connection.url}")
    return Finding(f"{NAME} version", "missing", f"{release}; tested with {VERSION} only")


def _token(http: httpx.Client, connection: Connection) -> tuple[str, Finding]:
    """Check the token. Returns the header that uses it, and a finding with the token's kind and owner."""
    kind = connection.kind
    if kind == "access":
        raise ConfigError(
            f"{KEY} is an access token, which expires after five minutes; use the personal token it came "
            "from, or " + _MEND
        )
    if kind == "personal":
        reply = http.post("/api/token/refresh/", json={"refresh": connection.token})
        if reply.status_code != 200:
            raise ConfigError(f"{KEY}: the personal token was revoked or belongs to another server; {_MEND}")
        header = f"Bearer {reply.json()['access']}"
    else:
        header = f"Token {connection.token}"
    reply = http.get("/api/current-user/whoami", headers={"Authorization": header})
    if reply.status_code == 401 and "legacy token authentication has been disabled" in reply.text:
        raise ConfigError(
            f"{KEY} is a legacy token, which this server does not accept; {_MEND}, or switch legacy tokens "
            "on under Organization → API Tokens Settings"
        )
    if reply.status_code == 401:
        raise ConfigError(f"{KEY}: the server does not know this token; copy it again, or {_MEND}")
    if reply.status_code != 200:
        raise ConfigError(
            f"asked whose token {KEY} is, the server answers {reply.status_code}: {URL} must be its address "
            "without /api or /projects"
        )
    return header, Finding(f"{NAME} token", "ok", f"{kind} token of {reply.json().get('email')}")


def _rights(http: httpx.Client, header: str) -> Finding:
    """Check that the account has the rights for push and pull."""
    for what, path in (("projects", "/api/projects?page_size=1"), ("users", "/api/users")):
        reply = http.get(path, headers={"Authorization": header})
        if reply.status_code in (401, 403):
            raise ConfigError(
                f"the token's account may not list {what}: use the token of an owner or administrator"
            )
        if reply.status_code != 200:
            raise ConfigError(f"asked for its {what}, the server answers {reply.status_code}")
    return Finding(f"{NAME} rights", "ok", "may list projects and users")
