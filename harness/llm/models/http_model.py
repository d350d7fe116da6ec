"""Models at OpenAI-compatible endpoints, called through plain HTTP."""

from __future__ import annotations

from dataclasses import replace

import orjson

from oversight.harness.config import ModelSection, api_key
from oversight.harness.errors import FatalModelError, TransientModelError
from oversight.harness.llm.models.chat_completions import (
    LimitField,
    base_url,
    read_limits,
    read_refusal,
    request_body,
)
from oversight.harness.llm.models.completions import parse_completion
from oversight.harness.llm.models.http_client import HttpClient, HttpReply
from oversight.harness.llm.models.interface import ModelReply, Request

_LOOK_SECONDS = 10.0
MAX_REPLY_BYTES = 4_000_000
"""Maximum size in bytes of a decompressed reply body; a larger body is an error."""


class HttpModel:
    """A model at an OpenAI-compatible endpoint.

    Parameters
    ----------
    settings
        Settings from study.toml. The API key is read from the environment.

    Raises
    ------
    ConfigError
        If the API key is not set or has characters that a header cannot contain, the endpoint is not a valid
        URL, or the local server is not running.
    """

    def __init__(self, settings: ModelSection) -> None:
        self._settings, self._limit = settings, LimitField(settings)
        url, key = base_url(settings), api_key(settings)
        headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
        self._client = HttpClient(url, headers, timeout=settings.timeout, max_reply_bytes=MAX_REPLY_BYTES)

    async def ask(self, request: Request) -> ModelReply:
        """Send a request and return the reply; see `oversight.harness.llm.models.interface.Model`."""
        field = self._limit.name
        reply = await self._send(request, field)
        if request.max_tokens is not None and self._limit.learn(field, reply.status, reply.body):
            reply = await self._send(request, self._limit.name)
        if 200 <= reply.status < 300:
            found, limits = parse_completion(reply.body), read_limits(reply.headers)
            return found if limits is None else replace(found, limits=limits)
        return self._refused(reply)

    async def _send(self, request: Request, limit_field: str) -> HttpReply:
        body = orjson.dumps(request_body(request, self._settings, limit_field))
        return await self._client.request("POST", "/chat/completions", body)

    async def _list_models(self, seconds: float) -> HttpReply:
        return await self._client.request("GET", "/models", seconds=seconds)

    async def check(self) -> None:
        """Check that the endpoint answers and accepts the key, before any paid call.

        This requests the list of models, which is free. An endpoint without this list passes.

        Raises
        ------
        FatalModelError
            If no server answers at the endpoint, or the key is refused.
        """
        try:
            reply = await self._list_models(min(_LOOK_SECONDS, self._settings.timeout))
        except TransientModelError as error:
            if error.sent:  # a slow list of models still shows that the endpoint answers
                return
            raise FatalModelError(f"{self._settings.endpoint} cannot be reached: {error}") from error
        if reply.status in (401, 403):
            self._refused(reply)
            raise FatalModelError(f"HTTP {reply.status}: content filter")

    async def close(self) -> None:
        """Close the connection pool."""
        await self._client.close()

    def _refused(self, reply: HttpReply) -> ModelReply:
        return read_refusal(reply.status, reply.body, reply.headers, self._settings)
