"""Call a Label Studio server through its SDK; no other module uses the SDK.

Every failure becomes an error of this project, with the token removed. Reading is retried while a server
restarts. Writing is not retried: after a failure, callers check what has arrived before they write again.

`oversight doctor` checks a server step by step without the SDK, so that only the first problem (address,
token, version or rights) is reported, with its solution.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from oversight.harness import ConfigError, LabelStudioError
from oversight.harness.output import keep_secret
from oversight.harness.types import Finding
from oversight.protocols.collect.label_studio.server.own_server import VERSION, require_client

URL, KEY = "LABEL_STUDIO_URL", "LABEL_STUDIO_API_KEY"
NAME = "Label Studio"
_MEND = "make a new one under Account & Settings → Personal Access Token"


@dataclass(frozen=True, slots=True)
class Connection:
    """A server and a token for it; the token is never shown.

    `public_url` is the address for people on other machines, if it is a different one.
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
        # A token of three parts is a JWT, whose claims name its type.
        if len(parts) == 3:
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
        Name of a server of ``oversight server start label-studio``. None takes the server that the
        environment variables name or, if they name none, the running local server.

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
        raise ConfigError(
            f"the isolated server {server!r} is not running; start it with: oversight server start "
            "label-studio"
        )
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
        raise ConfigError(f"{KEY} contains spaces or invalid characters: copy only the token itself")
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise ConfigError(f"{URL} must not contain a user or password, because the token gives access")
    return Connection(url.rstrip("/"), token)


def check_server() -> list[Finding]:
    """Check the server that the environment variables name or, if they name none, the local server."""
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
    """Check that the server is a Label Studio, and return its version."""
    reply = http.get("/api/version")
    release = ""
    with contextlib.suppress(ValueError, AttributeError):
        release = str(reply.json().get("release") or "")
    if not release:
        raise ConfigError(
            f"{connection.url} answers (status {reply.status_code}), but is not Label Studio: {URL} must be "
            "Label Studio's address without /api or /projects"
        )
    if release.split(".")[:2] == VERSION.split(".")[:2]:
        return Finding(f"{NAME} version", "ok", f"{release} at {connection.url}")
    return Finding(f"{NAME} version", "missing", f"{release}; tested with {VERSION} only")


def _token(http: httpx.Client, connection: Connection) -> tuple[str, Finding]:
    """Check the token. Returns the HTTP header that contains it, and a finding with its kind and owner."""
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
            f"the server answers HTTP {reply.status_code} when asked for the owner of the token {KEY}: {URL} "
            "must be the server's address without /api or /projects"
        )
    return header, Finding(f"{NAME} token", "ok", f"{kind} token of {reply.json().get('email')}")


def _rights(http: httpx.Client, header: str) -> Finding:
    """Check that the account has the rights for push and pull."""
    for what, path in (("projects", "/api/projects?page_size=1"), ("users", "/api/users")):
        reply = http.get(path, headers={"Authorization": header})
        if reply.status_code in (401, 403):
            raise ConfigError(
                f"the token's account is not allowed to list {what}: use the token of an owner or "
                "administrator"
            )
        if reply.status_code != 200:
            raise ConfigError(f"the server answers HTTP {reply.status_code} when asked for its {what}")
    return Finding(f"{NAME} rights", "ok", "the account is allowed to list projects and users")


if TYPE_CHECKING:
    import httpx


PAGE = 1000


def _as_is(row: Any) -> Any:
    return row


class Transport:
    """A server, and methods to call it.

    Calls have the SDK's names, for example ``"projects.list"``. The SDK's types are not used, because they
    differ from the replies of the Community edition.

    Parameters
    ----------
    connection
        Address and token.
    patience
        Seconds for which reading is retried if the server does not answer.
    timeout
        Seconds to wait for one reply.

    Attributes
    ----------
    public_url
        The address to show to people.
    """

    def __init__(self, connection: Connection, *, patience: float = 20.0, timeout: float = 120.0) -> None:
        self.url, self.connection = connection.url, connection
        self.public_url = connection.public_url or connection.url
        self._patience, self._timeout = patience, timeout

    def close(self) -> None:
        """Close the connection."""
        if "_http" in self.__dict__:
            self._http.close()

    def read_pages(self, call: str, keep: Callable[[Any], Any] = _as_is, **arguments: Any) -> list[Any]:
        """Return the rows on all pages of a list: as many as the server states, without duplicates.

        If the list changes while it is read, it is read again.

        Parameters
        ----------
        call
            Name of the call in the SDK.
        keep
            Function that returns the data to keep of each row. The SDK's objects need several times the
            memory of these data.
        """
        for _ in range(4):
            rows: dict[int, Any] = {}
            number, total, steady = 1, 0, True
            while number == 1 or (len(rows) < total and steady):
                try:
                    found = self.call_with_retries(call, page=number, page_size=PAGE, **arguments)
                except MissingError:
                    if number == 1:
                        raise
                    break  # the list became shorter while it was read
                items, reply = list(found.items or ()), found.response
                # The number of rows is called `total` in one kind of list and `count` in the other.
                count = int(getattr(reply, "total", None) or getattr(reply, "count", 0) or 0)
                steady = bool(items) and (number == 1 or count == total)
                rows |= {int(row.id): keep(row) for row in items}
                number, total = number + 1, count
            if len(rows) == total:
                return list(rows.values())
        raise LabelStudioError(
            f"{self.url}: the server returned {len(rows)} of {total} entries of a list; run the command again"
        )

    def read_total(self, call: str, **arguments: Any) -> int:
        """Return the total number of rows in the list that a call returns."""
        reply = self.call_with_retries(call, page=1, page_size=1, **arguments).response
        return int(getattr(reply, "total", None) or getattr(reply, "count", 0) or 0)

    def call_with_retries(self, call: str, *, patient: bool = True, **arguments: Any) -> Any:
        """Call the server, and retry while it does not answer; the first delays are short."""
        import tenacity

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_AwayError),
            stop=tenacity.stop_before_delay(self._patience if patient else 0),
            wait=tenacity.wait_exponential(multiplier=0.2, max=2.0),
            reraise=True,
        )
        try:
            return retrying(self.call_once, call, **arguments)
        except _AwayError as error:
            raise LabelStudioError(str(error)) from None

    def call_once(self, call: str, **arguments: Any) -> Any:
        """Call the server once, without retries; after a failure, it is unknown whether the server acted."""
        import httpx
        from label_studio_sdk.core.api_error import ApiError

        try:
            return attrgetter(call)(self._sdk)(**arguments)
        except httpx.TimeoutException:
            raise _AwayError(f"{self.url} did not answer within {self._timeout:.0f} s") from None
        except httpx.HTTPError as error:
            raise _AwayError(f"{self.url} cannot be reached: {self._clean(str(error))}") from None
        except ApiError as error:
            raise self._error(error.status_code or 0, error.body) from None
        except ValueError as error:  # the reply is not JSON, or has another form
            raise _AwayError(f"{self.url} sent an unreadable answer: {self._clean(str(error))}") from None

    def _error(self, status: int, body: object) -> Exception:
        detail = (
            body.get("detail") or body.get("validation_errors") or body if isinstance(body, dict) else body
        )
        said = self._clean(str(detail))
        if status == 401:
            return ConfigError(
                f"{self.url} refuses the token ({said}): run oversight doctor for the reason and the remedy"
            )
        if status == 403:
            return ConfigError(
                f"{self.url}: the account is not allowed to do this ({said}): use the token of an owner "
                "or administrator"
            )
        if status >= 500 or status in (0, 200, 201, 429):
            return _AwayError(f"{self.url} failed with status {status}: {said}")
        kind = MissingError if status == 404 else LabelStudioError
        return kind(f"{self.url} answered with status {status}: {said}")

    def _clean(self, text: str) -> str:
        return " ".join(text.replace(self.connection.token, "[token]").split())[:200]

    @cached_property
    def _http(self) -> httpx.Client:
        import httpx

        local = self.connection.is_local
        return httpx.Client(
            timeout=self._timeout,
            follow_redirects=True,
            trust_env=not local,
            # On a kept connection, a reply of the local server waits 40 ms for a delayed acknowledgement.
            # For other servers, opening a new connection takes longer than these 40 ms.
            limits=httpx.Limits(max_keepalive_connections=0 if local else None),
        )

    @cached_property
    def _sdk(self) -> Any:
        # Import the SDK here, because the import takes seconds.
        from label_studio_sdk import LabelStudio

        # Use Any, because the SDK's client is untyped.
        make: Any = LabelStudio
        return make(base_url=self.url, api_key=self.connection.token, max_retries=0, httpx_client=self._http)


class MissingError(LabelStudioError):
    """The requested object does not exist on the server."""


class _AwayError(LabelStudioError):
    """The server does not answer or is overloaded, so a retry may help."""
