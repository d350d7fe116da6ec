"""Admit only requests from this page, in a browser that was opened with the token."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from oversight.harness.web import (
    OPEN,
    Handler,
    PublicAddress,
    derive_session,
    is_same_secret,
    read_bearer,
    refuse,
    refuse_foreign,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """The values that requests are compared with.

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
        """Refuse with 403 a request to another host name, from another page, or without the cookie."""
        if (refused := refuse_foreign(request, self.address)) is not None:
            return refused
        if request.path not in OPEN and not self._has_session(request):
            return refuse(403, "open the address that oversight view printed; it contains the token")
        return await handler(request)

    async def begin_session(self, request: web.Request) -> web.StreamResponse:
        """Exchange the token for the cookie."""
        if not is_same_secret(read_bearer(request), self.token):
            return refuse(403, "the token is wrong; open the address that oversight view printed last")
        response = web.json_response({})
        session = derive_session(self.token)
        response.set_cookie(self.cookie, session, httponly=True, samesite="Strict", path="/")
        return response

    def _has_session(self, request: web.Request) -> bool:
        return is_same_secret(request.cookies.get(self.cookie, ""), derive_session(self.token))
