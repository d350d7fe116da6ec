"""Server that sends the page, the parts of the page as JSON, and a stream of changes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import stat
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from aiohttp import web

from oversight.harness.config import STUDY_FILE, Study
from oversight.harness.errors import BadInput, ConfigError, OversightError
from oversight.harness.output import say
from oversight.harness.platform import cache_dir, hold_start_lock, write_whole
from oversight.harness.store import Store, has_database
from oversight.harness.view.page_parts import FOLDER, make_page, read_style
from oversight.harness.view.server.live import ChangeFeed
from oversight.harness.view.server.parts import Parts
from oversight.harness.web import (
    LOCAL,
    OPEN,
    Handler,
    PublicAddress,
    add_headers,
    derive_session,
    is_same_secret,
    keep_keys,
    open_listener,
    read_bearer,
    read_script,
    refuse,
    refuse_foreign,
    serving,
    write_json,
)

_SQLITE = "sqlite:///"
_OUTDATED = "the study file was changed, but this page shows the former settings; start oversight view again"


def read_token(store_url: str) -> str:
    """Return the token of a database; the first call stores it in a file that only its owner can read.

    Raises
    ------
    ConfigError
        If the file belongs to another user, can be read by others, or cannot be written.
    """
    path = cache_dir() / "view" / f"{sha256(_name(store_url).encode()).hexdigest()[:32]}.token"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with hold_start_lock(path.parent):  # two servers that start at once must use the same token
            return _read(path) or _make(path)
    except OSError as error:
        raise ConfigError(f"{path}: the token cannot be stored: {error.strerror}") from error


def _name(store_url: str) -> str:
    """Return a name that differs between databases, but is equal for all paths to one database file."""
    if not store_url.startswith(_SQLITE):
        return store_url
    return f"{_SQLITE}{Path(store_url.removeprefix(_SQLITE)).resolve()}"


def _read(path: Path) -> str:
    """Return the stored token; empty if none is stored."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return ""
    mine = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
    if not (mine and stat.S_ISREG(found.st_mode)):
        raise ConfigError(f"{path}: another user owns this token file or can read it; remove the file")
    token = path.read_text(encoding="ascii", errors="replace").strip()
    return token if len(token) >= 32 and token.isascii() else ""


def _make(path: Path) -> str:
    token = secrets.token_urlsafe(32)
    write_whole(token, path, mode=0o600)
    return token


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Check of requests to the server, by token, cookie and address.

    Attributes
    ----------
    token
        Secret that allows its holder to read the study.
    address
        Address at which the server listens. Other machines can connect only if it is not a loopback address.
    """

    token: str
    address: PublicAddress

    @property
    def cookie(self) -> str:
        """Name of the cookie, which contains the port because browsers share cookies among ports."""
        return f"oversight-{self.address.port}"

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse (403) a request that names another host, comes from another page, or lacks the cookie."""
        if (refused := refuse_foreign(request, self.address)) is not None:
            return refused
        if request.path not in OPEN and not self._has_session(request):
            return refuse(403, "open the address that oversight view printed; it contains the token")
        return await handler(request)

    async def begin_session(self, request: web.Request) -> web.StreamResponse:
        """Set the session cookie if the request has the token."""
        if not is_same_secret(read_bearer(request), self.token):
            return refuse(403, "the token is wrong; open the address that oversight view printed last")
        response = web.json_response({})
        session = derive_session(self.token)
        response.set_cookie(self.cookie, session, httponly=True, samesite="Strict", path="/")
        return response

    def _has_session(self, request: web.Request) -> bool:
        return is_same_secret(request.cookies.get(self.cookie, ""), derive_session(self.token))


def serve_study(
    study: Study,
    *,
    host: str = LOCAL,
    port: int = 0,
    ready: Callable[[str], None] = say,
    file: str | Path = STUDY_FILE,
) -> None:
    """Serve a study's page until SIGINT or SIGTERM.

    Parameters
    ----------
    host
        Address to listen at; if it is not a loopback address, other machines can connect with the token.
    port
        Port to listen at; 0 takes any free port.
    ready
        Called with the page's address, which contains the token, when the server is ready.
    file
        The study file. If it changes, the page tells the reader to start the server again.

    Raises
    ------
    BadInput
        If nothing is stored yet.
    ConfigError
        If the server cannot listen at the address.
    """
    if not has_database(study.store_url):
        raise BadInput("nothing is stored yet; see: oversight label route, or oversight run --help")
    keep_keys(study)
    with Store(study.store_url) as store, open_listener("view", host, port) as listening:
        path = Path(file)
        feed = ChangeFeed(store, path / STUDY_FILE if path.is_dir() else path)
        asyncio.run(_serve(study, feed, store, listening, host, ready))


async def _serve(
    study: Study,
    feed: ChangeFeed,
    store: Store,
    listening: socket.socket,
    host: str,
    ready: Callable[[str], None],
) -> None:
    port = int(listening.getsockname()[1])
    guard = Guard(token=read_token(study.store_url), address=PublicAddress(host=host, port=port))
    store.columns.remember(lambda: feed.version)
    parts = Parts(study, store, feed)
    async with serving(make_application(guard, feed, parts), listening) as ended:
        following = [asyncio.create_task(work) for work in (feed.follow(), parts.prepare())]
        try:
            ready(f"{guard.address.url}/#/?pass={guard.token}")
            await ended.wait()
        finally:
            feed.end()  # end all streams, so that shutdown does not wait for them
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)


def make_application(guard: Guard, feed: ChangeFeed, parts: Parts) -> web.Application:
    """Return the server's routes; all except the page itself require the guard's cookie."""

    async def send_part(request: web.Request) -> web.StreamResponse:
        body = await parts.read_part(request.match_info["name"], dict(request.query))
        return web.Response(body=body, content_type="application/json")

    async def send_changes(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            async for version in feed.versions():
                told = {"version": version, "trouble": feed.trouble or _OUTDATED * feed.is_outdated}
                line = b":\n\n" if version is None else b"data: %b\n\n" % write_json(told)
                await response.write(line)
        return response

    application = web.Application(middlewares=[_say_errors, guard.check], client_max_size=1 << 16)
    application.on_response_prepare.append(add_headers)
    application.add_routes(
        [
            web.get("/", _send(make_page(), "text/html")),
            web.get("/script.js", _send(read_script(FOLDER), "text/javascript")),
            web.get("/style.css", _send(read_style(), "text/css")),
            web.post("/session", guard.begin_session),
            web.get("/api/changes", send_changes, allow_head=False),
            web.get("/api/{name}", send_part),
        ]
    )
    return application


@web.middleware
async def _say_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Send an error as text; an unexpected error is printed on the terminal and not shown to the reader."""
    try:
        return await handler(request)
    except OversightError as error:
        return refuse(400 if isinstance(error, BadInput) else 500, str(error))
    except web.HTTPException as error:
        return refuse(error.status, error.reason)
    except Exception as error:  # noqa: BLE001  an error of one request must not affect others
        say(f"view: {request.path}: {type(error).__name__}: {error}")
        return refuse(500, "this part of the page failed; the terminal of oversight view shows the error")


def _send(text: str, kind: str) -> Handler:
    async def send(_request: web.Request) -> web.StreamResponse:
        return web.Response(text=text, content_type=kind)

    return send
