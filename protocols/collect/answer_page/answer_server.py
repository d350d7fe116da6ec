"""Run the server of the answer page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage

from oversight.harness import BadInput, LostDatabase, OversightError
from oversight.harness.config import Study
from oversight.harness.output import say
from oversight.harness.store import Store, has_database
from oversight.harness.web import (
    LOCAL,
    Handler,
    PublicAddress,
    add_headers,
    open_listener,
    read_script,
    refuse,
    run_apart,
    serving,
)
from oversight.protocols.collect.answer_page.answer_desk import AnswerDesk, Outcome
from oversight.protocols.collect.answer_page.answer_guard import AnswerGuard
from oversight.protocols.collect.answer_page.given_answer import WrongAnswer, parse_answer

_FOLDER = Path(__file__).parent / "page"
_LARGEST_BODY = 1 << 16
_SHORT = 1000
"""Size in bytes up to which replies are not compressed."""
_PATIENCE = 20.0
"""Seconds within which the body of a request must arrive."""
_TICK = 0.05
"""Seconds between ticks; replies about questions are sent at ticks, so that timing reveals nothing."""
_LOST = web.AppKey("lost", asyncio.Event)
"""Set when the database was moved, replaced or overwritten; the server then ends with that error."""
_STATUS = {Outcome.STORED: 200, Outcome.REPEATED: 200, Outcome.NOT_HELD: 404}
_WHY = {
    Outcome.ELSEWHERE: "this question was answered elsewhere; that answer stays",
    Outcome.CHANGED: "this question was answered in another window; that answer stays",
    Outcome.REWORDED: "this question was changed after you read it; that answer was not stored",
    Outcome.KEY_IN_USE: "another answer was sent under the same key",
    Outcome.NOT_HELD: "you have no such question",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPageOptions:
    """Addresses of the page.

    Attributes
    ----------
    host
        Address to listen on; any address except loopback lets other machines connect.
    port
        Port to listen on; 0 takes any free one.
    public
        Scheme and host of the page behind a proxy; empty without a proxy.
    """

    host: str = LOCAL
    port: int = 0
    public: str = ""


def serve_answers(
    study: Study, options: AnswerPageOptions, ready: Callable[[Store, PublicAddress], None]
) -> None:
    """Serve the page until SIGINT or SIGTERM.

    Parameters
    ----------
    ready
        Called with the study's database and the page's addresses when the server is ready.

    Raises
    ------
    BadInput
        If no question was drawn yet.
    ConfigError
        If the server cannot listen on the address.
    LostDatabase
        If the database was moved, replaced or overwritten while the server ran.
    """
    if not has_database(study.store_url):
        raise BadInput("no questions yet; draw them with: oversight label route")
    with Store(study.store_url) as store:
        store.marks.refuse_mark()
        desk = AnswerDesk(study, store)
        _check_texts(store)
        with open_listener("label serve", options.host, options.port) as listening:
            port = int(listening.getsockname()[1])
            address = PublicAddress(host=options.host, port=port, public=options.public)

            async def serve() -> None:
                application = make_application(AnswerGuard(store, address), desk)
                async with serving(application, listening) as ended:
                    ready(store, address)
                    waits = [asyncio.ensure_future(event.wait()) for event in (ended, application[_LOST])]
                    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)

            asyncio.run(serve())


def make_application(guard: AnswerGuard, desk: AnswerDesk) -> web.Application:
    """Return the server's application; all its routes except the page itself require an expert's cookie."""

    async def send_state(request: web.Request) -> web.StreamResponse:
        return web.json_response(await run_apart(desk.tell_state, request["link"].expert))

    async def send_previous(request: web.Request) -> web.StreamResponse:
        before, named = request.query.get("before", ""), request.query.get("id", "")
        return web.json_response(await run_apart(desk.tell_previous, request["link"].expert, before, named))

    async def send_given(request: web.Request) -> web.StreamResponse:
        return web.json_response({"given": await run_apart(desk.tell_given, request["link"].expert)})

    async def take_answer(request: web.Request) -> web.StreamResponse:
        if request.content_type != "application/json":
            return refuse(415, "answers are JSON")
        try:
            async with asyncio.timeout(_PATIENCE):
                body = await request.read()
        except (web.RequestPayloadError, BadHttpMessage):
            return refuse(400, "the body cannot be unpacked")
        given, link = parse_answer(body), request["link"]
        outcome = await run_apart(desk.store_answer, link.expert, given, link.id)
        told = {"outcome": outcome.value, "error": _WHY.get(outcome, "")}
        state = await run_apart(desk.tell_state, link.expert)
        return web.json_response({**told, "state": state}, status=_STATUS.get(outcome, 409))

    application = web.Application(
        middlewares=[_say_errors, _compress, guard.check, _even_out], client_max_size=_LARGEST_BODY
    )
    application[_LOST] = asyncio.Event()
    application.on_response_prepare.append(add_headers)
    application.add_routes(
        [
            web.get("/", _send("page.html", "text/html")),
            web.get("/script.js", _send_script),
            web.get("/style.css", _send("style.css", "text/css")),
            web.post("/session", guard.begin_session),
            web.get("/api/state", send_state),
            web.get("/api/previous", send_previous),
            web.get("/api/given", send_given),
            web.delete("/session", guard.end_session),
            web.post("/api/answers", take_answer),
        ]
    )
    return application


@web.middleware
async def _say_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Send the error of a bad request to the browser; print the server's own errors only on its terminal."""
    try:
        return await handler(request)
    except TimeoutError:
        return refuse(408, "the request took too long")
    except web.HTTPException as error:
        return refuse(error.status, error.reason)
    except Exception as error:  # noqa: BLE001  an error in one request must not affect others
        if isinstance(error, WrongAnswer):
            return refuse(400, str(error))
        shown = str(error) if isinstance(error, OversightError) else f"{type(error).__name__}: {error}"
        say(f"label serve: {request.path}: {shown}")
        if isinstance(error, LostDatabase):
            request.app[_LOST].set()
        return refuse(503, "not possible at the moment; the page will try again")


@web.middleware
async def _compress(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Compress large replies; no reply contains a secret that the compressed length could reveal."""
    response = await handler(request)
    if isinstance(response, web.Response) and (response.content_length or 0) > _SHORT:
        response.enable_compression()
    return response


async def _send_script(_request: web.Request) -> web.StreamResponse:
    return web.Response(text=read_script(_FOLDER), content_type="text/javascript")


@web.middleware
async def _even_out(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Delay a reply about questions to the next clock tick, so that its processing time stays hidden."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    try:
        return await handler(request)
    finally:
        if request.path.startswith("/api/"):
            await asyncio.sleep(_TICK - (loop.time() - begun) % _TICK)


def _send(name: str, kind: str) -> Handler:
    text = (_FOLDER / name).read_text(encoding="utf-8")

    async def send(_request: web.Request) -> web.StreamResponse:
        return web.Response(text=text, content_type=kind)

    return send


def _check_texts(store: Store) -> None:
    """Raise an error for an item without text, because its expert would see an empty page."""
    for item in store.read_shown_items().values():
        if not item.text.strip():
            raise BadInput(f"the item {item.id!r} has no text: an expert would see an empty page")
