"""Clients that use the openai SDK: for the Batch API and for Azure deployments.

No other module imports the SDK; other calls use `oversight.harness.llm.models.http_model`.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeAlias

import openai

from oversight.harness.config import ModelSection, api_key
from oversight.harness.errors import Fault, TransientModelError
from oversight.harness.llm.models.chat_completions import LimitField, base_url, request_body
from oversight.harness.llm.models.http_client import HttpReply
from oversight.harness.llm.models.http_model import HttpModel
from oversight.harness.llm.models.interface import Request

SdkClient: TypeAlias = openai.AsyncOpenAI


def sdk_client(settings: ModelSection) -> SdkClient:
    """Create an SDK client, which is an Azure client if `api_version` is set.

    Raises
    ------
    ConfigError
        If the API key is not set, or the local server is not running.
    """
    url, key, seconds = base_url(settings), api_key(settings), settings.timeout
    # max_retries is 0, because oversight.harness.llm.models.limited_model retries.
    if settings.api_version is None:
        return openai.AsyncOpenAI(base_url=url, api_key=key, timeout=seconds, max_retries=0)
    return openai.AsyncAzureOpenAI(
        azure_endpoint=url,
        api_key=key,
        api_version=settings.api_version,
        timeout=seconds,
        max_retries=0,
        # Redirects are not followed, because another host would receive the API key.
        http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
    )


class AzureModel(HttpModel):
    """A model deployment at Azure, called through the SDK.

    Parameters
    ----------
    settings
        Settings from study.toml, with an `api_version`.
    """

    def __init__(self, settings: ModelSection) -> None:
        self._settings, self._limit = settings, LimitField(settings)
        self._sdk = sdk_client(settings)

    async def _send(self, request: Request, limit_field: str) -> HttpReply:
        body = request_body(request, self._settings, limit_field)
        return await read_reply(self._sdk.chat.completions.with_raw_response.create(**body))

    async def _list_models(self, seconds: float) -> HttpReply:
        return await read_reply(self._sdk.models.with_raw_response.list(timeout=seconds))

    async def close(self) -> None:
        """Close the connection pool."""
        await self._sdk.close()


async def read_reply(call: Awaitable[Any]) -> HttpReply:
    """Await an SDK call and return its HTTP reply, whatever the status is.

    Raises
    ------
    TransientModelError
        If no reply arrives in time; the error's `sent` is false if nothing was sent.
    """
    try:
        response = (await call).http_response
    except openai.APIStatusError as error:
        response = error.response
    except openai.APIConnectionError as error:
        cause = error.__cause__ or error
        is_sent = type(cause).__name__ not in ("ConnectError", "ConnectTimeout")
        fault, message = Fault.CONNECTION, f"{type(cause).__name__}: {cause}"
        if isinstance(error, openai.APITimeoutError):
            fault, message = Fault.TIMEOUT, "no answer in time"
        raise TransientModelError(message, fault=fault, sent=is_sent) from error
    return HttpReply(response.status_code, response.headers, response.content)
