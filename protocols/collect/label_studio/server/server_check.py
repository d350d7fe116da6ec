"""The findings of ``oversight doctor`` on Label Studio: address, token, version and rights, told apart.

Asked step by step and without the SDK, so that the first thing wrong is named alone, with its mend.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from harness import ConfigError
from harness.types import Finding
from protocols.collect.label_studio.server.connection import KEY, URL, Connection, connect
from protocols.collect.label_studio.server.install import VERSION

if TYPE_CHECKING:
    import httpx

NAME = "Label Studio"
_MEND = "make a new one under Account & Settings → Personal Access Token"


def check_server() -> list[Finding]:
    """Look at the server that the environment names, or at the local one."""
    import httpx

    try:
        connection = connect()
    except ConfigError as error:
        state = "missing" if str(error).startswith("no Label Studio server") else "wrong"
        return [Finding(NAME, state, str(error))]
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
            told = f"{connection.url} cannot be reached ({why}): is it running, is {URL} right?"
            done.append(Finding(f"{NAME} address", "wrong", told))
    return done


def _version(http: httpx.Client, connection: Connection) -> Finding:
    """Make sure that it is a Label Studio, and say which."""
    reply = http.get("/api/version")
    release = ""
    with contextlib.suppress(ValueError, AttributeError):
        release = str(reply.json().get("release") or "")
    if not release:
        raise ConfigError(
            f"{connection.url} answers (status {reply.status_code}), but is no Label Studio: {URL} must be "
            "its address without /api or /projects"
        )
    if release.split(".")[:2] == VERSION.split(".")[:2]:
        return Finding(f"{NAME} version", "ok", f"{release} at {connection.url}")
    return Finding(f"{NAME} version", "missing", f"{release}; tested with {VERSION} only")


def _token(http: httpx.Client, connection: Connection) -> tuple[str, Finding]:
    """Say what kind of token it is, and whose; return the header that uses it."""
    kind = connection.kind
    if kind == "access":
        raise ConfigError(
            f"{KEY} is an access token, which lives for five minutes; use the personal token it came "
            "from, or " + _MEND
        )
    if kind == "personal":
        reply = http.post("/api/token/refresh/", json={"refresh": connection.token})
        if reply.status_code != 200:
            raise ConfigError(f"{KEY}: the personal token was revoked or is another server's; {_MEND}")
        header = f"Bearer {reply.json()['access']}"
    else:
        header = f"Token {connection.token}"
    reply = http.get("/api/current-user/whoami", headers={"Authorization": header})
    if reply.status_code == 401 and "legacy token authentication has been disabled" in reply.text:
        raise ConfigError(
            f"{KEY} is a legacy token, and this server has those switched off; {_MEND}, or switch them "
            "on under Organization → API Tokens Settings"
        )
    if reply.status_code == 401:
        raise ConfigError(f"{KEY}: the server knows no such token; copy it again, or {_MEND}")
    if reply.status_code != 200:
        raise ConfigError(
            f"asked whose token {KEY} is, the server answers {reply.status_code}: {URL} must be its address "
            "without /api or /projects"
        )
    return header, Finding(f"{NAME} token", "ok", f"{kind} token of {reply.json().get('email')}")


def _rights(http: httpx.Client, header: str) -> Finding:
    """See whether the account may do what push and pull do."""
    for what, path in (("projects", "/api/projects?page_size=1"), ("users", "/api/users")):
        reply = http.get(path, headers={"Authorization": header})
        if reply.status_code in (401, 403):
            raise ConfigError(
                f"the token's account may not list {what}: use the token of an owner or administrator"
            )
        if reply.status_code != 200:
            raise ConfigError(f"asked for its {what}, the server answers {reply.status_code}")
    return Finding(f"{NAME} rights", "ok", "may list projects and users")
