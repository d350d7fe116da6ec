"""The hot call: chat completions over plain HTTP, for runs of thousands of requests.

The openai SDK is kept for everything that is called a few times a run (model lists, files, batches,
Azure; see `oversight.harness.llm.models.openai_model`), but not here: per request it looks through its whole
pool, transforms parameters and builds validated objects that nobody reads, which costs many times the request
itself. This sends the same bytes through `oversight.harness.llm.http` and reads the few fields that matter.
"""

from __future__ import annotations

from dataclasses import replace

import orjson

from oversight.harness.config import ModelSection, api_key
from oversight.harness.errors import ConfigError, FatalModelError, Fault, TransientModelError
from oversight.harness.llm.http import BadReply, HttpClient, HttpFailure, HttpReply, NoConnection
from oversight.harness.llm.models.chat_completions import (
    LimitField,
    base_url,
    read_limits,
    read_refusal,
    request_body,
)
from oversight.harness.llm.models.completions import parse_completion
from oversight.harness.llm.models.interface import ModelReply, Request

_LOOK_SECONDS = 10.0


class HttpModel:
    """One model of one OpenAI-compatible endpoint.

    Parameters
    ----------
    settings
        From study.toml; the key is read from the environment here and kept nowhere else.

    Raises
    ------
    ConfigError
        If the key is not set or cannot stand in a header, the endpoint is no URL that can be used, or the
        local server is wanted and not running.
    """

    def __init__(self, settings: ModelSection) -> None:
        self._settings, url = settings, base_url(settings)
        self._limit = LimitField(settings)
        key = api_key(settings)
        if not (key.isascii() and key.isprintable()):
            raise ConfigError(
                f"the key in {settings.api_key_env} holds a line break or another character that no key has; "
                "set it again"
            )
        headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
        self._client = HttpClient(
            url,
            headers,
            timeout=settings.timeout,
        )

    async def ask(self, request: Request) -> ModelReply:
        """Send a request and return what came back; see `oversight.harness.llm.models.interface.Model`."""
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
        try:
            return await self._client.request("POST", "/chat/completions", body)
        except (TimeoutError, HttpFailure) as error:
            raise self._no_answer(error) from error

    async def check(self) -> None:
        """Make sure, before anything is paid for, that the endpoint is there and takes the key.

        Asks for the list of models, which costs nothing; endpoints without one pass.

        Raises
        ------
        FatalModelError
            If nothing answers at the address, or the key is refused.
        """
        try:
            seconds = min(_LOOK_SECONDS, self._settings.timeout)
            reply = await self._client.request("GET", "/models", seconds=seconds)
        except NoConnection as error:
            raise FatalModelError(f"{self._settings.endpoint} cannot be reached: {error}") from error
        except (TimeoutError, HttpFailure):  # slow to list is not unreachable
            return
        if reply.status in (401, 403):
            self._refused(reply)
            raise FatalModelError(f"HTTP {reply.status}: content filter")

    async def close(self) -> None:
        """Close the connection pool."""
        await self._client.close()

    def _refused(self, reply: HttpReply) -> ModelReply:
        return read_refusal(reply.status, reply.body, reply.headers, self._settings)

    def _no_answer(self, error: Exception) -> TransientModelError:
        if isinstance(error, TimeoutError):
            return TransientModelError(f"no answer within {self._settings.timeout:g} s", fault=Fault.TIMEOUT)
        fault = Fault.MALFORMED if isinstance(error, BadReply) else Fault.CONNECTION
        return TransientModelError(str(error), fault=fault, sent=not isinstance(error, NoConnection))
