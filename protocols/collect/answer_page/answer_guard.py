"""Access control: a request must come from this server's page, in a browser signed in with a personal code.

Only the holder of a code receives data of the study. The reason for a refusal is not disclosed.
"""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from aiohttp import web

from oversight.harness.store import AnswerLink, Store, write_moment
from oversight.harness.web import (
    OPEN,
    Handler,
    PublicAddress,
    derive_session,
    is_loopback,
    read_bearer,
    refuse,
    refuse_foreign,
    run_apart,
)
from oversight.protocols.collect.answer_page.expert_codes import normalise_code, open_link, sign_in

_MOST_KEPT = 10_000
"""Maximum number of buckets; the least recently used one is dropped, and is full when used again."""


@dataclass(slots=True)
class RequestLimit:
    """Token buckets by name.

    Attributes
    ----------
    burst
        Number of requests that are allowed at once.
    each
        Seconds until one more request is allowed.
    clock
        Returns the time in seconds.
    """

    burst: int
    each: float
    clock: Callable[[], float] = time.monotonic
    _buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def wait(self, name: str) -> float:
        """Return the seconds until the bucket called `name` has a token; 0 if it has one now."""
        left = self._left(name)
        return 0.0 if left >= 1 else (1 - left) * self.each

    def spend(self, name: str) -> None:
        """Take a token from a bucket."""
        left = self._left(name)
        self._buckets[name] = max(0.0, left - 1), self.clock()
        self._buckets.move_to_end(name)
        while len(self._buckets) > _MOST_KEPT:
            self._buckets.popitem(last=False)

    def _left(self, name: str) -> float:
        left, since = self._buckets.get(name, (float(self.burst), self.clock()))
        return min(float(self.burst), left + (self.clock() - since) / self.each)


def network_of(address: str) -> str:
    """Return the address under which a client's attempts are counted; for IPv6, its 64-bit network."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        mapped = found.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


_NO_LINK = "this code is not valid; correct it, or ask the person who sent it for a new one"
_LINK_ID = 12
_LONGEST_SESSION = 200
_SEEN_EVERY = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class AnswerGuard:
    """Checks that requests come from a signed-in browser, and limits their number.

    Attributes
    ----------
    store
        Database that contains the hashes of codes and cookies.
    address
        Addresses of the page.
    guesses, requests
        Limits on wrong codes per address and on requests per link.
    """

    store: Store
    address: PublicAddress
    guesses: RequestLimit = field(default_factory=lambda: RequestLimit(20, 3.0))
    requests: RequestLimit = field(default_factory=lambda: RequestLimit(120, 0.25))

    def cookie_of(self, link_id: str) -> str:
        """Return the name of a link's cookie.

        The name contains the port, because browsers send a host's cookies to all of its ports.
        """
        prefix = "__Host-" if self.address.is_secure else ""
        return f"{prefix}oversight-answers-{self.address.port}-{link_id}"

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse a request that names another host, comes from another site, or has no valid link."""
        if (refused := refuse_foreign(request, self.address)) is not None:
            return refused
        if request.path in OPEN and request.method != "DELETE":
            return await handler(request)
        link = await self._find_link(request)
        if link is None:
            return refuse(403, _NO_LINK)
        if (wait := self.requests.wait(link.id)) > 0:
            return _refuse_for_now(wait)
        self.requests.spend(link.id)
        request["link"] = link
        return await handler(request)

    async def begin_session(self, request: web.Request) -> web.StreamResponse:
        """Exchange a personal code for a cookie."""
        asker = network_of(self._find_asker(request))
        if (wait := self.guesses.wait(asker)) > 0:
            return _refuse_for_now(wait)
        secret = normalise_code(read_bearer(request))
        link = await run_apart(sign_in, self.store, secret) if secret else None
        if link is None:
            self.guesses.spend(asker)
            return refuse(403, _NO_LINK)
        await run_apart(self.store.people.note_seen, link.id)
        former = await run_apart(self.store.people.find_link_ids, link.expert)
        response = web.json_response(
            {"link": link.id, "former": [name for name in former if name != link.id]}
        )
        lasting = datetime.fromisoformat(link.expires) - datetime.now(UTC)
        response.set_cookie(
            self.cookie_of(link.id),
            derive_session(secret),
            max_age=max(1, math.ceil(lasting.total_seconds())),
            httponly=True,
            samesite="Strict",
            secure=self.address.is_secure,
            path="/",
        )
        return response

    async def end_session(self, request: web.Request) -> web.StreamResponse:
        """Remove the cookie of a link from this browser."""
        response = web.json_response({})
        name, is_secure = self.cookie_of(request["link"].id), self.address.is_secure
        response.del_cookie(name, path="/", secure=is_secure, httponly=True, samesite="Strict")
        return response

    async def _find_link(self, request: web.Request) -> AnswerLink | None:
        """Return the link that a request names, if its cookie shows that this browser signed in to it."""
        link_id = request.headers.get("X-Link", "")
        if len(link_id) != _LINK_ID or not (link_id.isascii() and link_id.isalnum()):
            return None
        session = request.cookies.get(self.cookie_of(link_id), "")
        if not 0 < len(session) <= _LONGEST_SESSION:
            return None
        return await run_apart(self._open, link_id, session)

    def _open(self, link_id: str, session: str) -> AnswerLink | None:
        link = open_link(self.store, link_id, session)
        if link is not None and link.seen < write_moment(datetime.now(UTC) - _SEEN_EVERY):
            self.store.people.note_seen(link_id)
        return link

    def _find_asker(self, request: web.Request) -> str:
        """Return the client's address. If a local proxy sent the request, the proxy reports this address."""
        peer, named = request.remote or "", request.headers.getall("X-Forwarded-For", [])
        if self.address.public and is_loopback(peer) and named:
            return named[-1].rpartition(",")[2].strip()
        return peer


def _refuse_for_now(wait: float) -> web.Response:
    response = refuse(429, "too many requests; wait a little")
    response.headers["Retry-After"] = str(math.ceil(wait))
    return response
