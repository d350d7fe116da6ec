"""The openai SDK, for whatever is not called by the thousand; the only module that imports it.

Model lists, files and batches go through `sdk_client`; endpoints that need more than a bearer key
(Azure's deployments) are asked through `OpenAIModel`. The plain call is
`oversight.harness.llm.models.http_model`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import openai

from oversight.harness.config import ModelSection, api_key
from oversight.harness.errors import FatalModelError, Fault, TransientModelError
from oversight.harness.llm.models.chat_completions import LimitField, base_url, read_refusal, request_body
from oversight.harness.llm.models.completions import parse_completion
from oversight.harness.llm.models.interface import ModelReply, Request


def sdk_client(settings: ModelSection) -> openai.AsyncOpenAI:
    """Make a client of the SDK; with an `api_version`, one of Azure.

    Raises
    ------
    ConfigError
        If the key is not set, or the local server is wanted and not running.
    """
    url, key = base_url(settings), api_key(settings)
    timeout, version = settings.timeout, settings.api_version
    # One layer retries: oversight.harness.llm.models.limited_model.
    if version is None:
        return openai.AsyncOpenAI(base_url=url, api_key=key, timeout=timeout, max_retries=0)
    return openai.AsyncAzureOpenAI(
        azure_endpoint=url, api_key=key, api_version=version, timeout=timeout, max_retries=0
    )


class OpenAIModel:
    """One model of one endpoint, asked through the SDK.

    Parameters
    ----------
    settings
        From study.toml; the key is read from the environment here and kept nowhere else.
    """

    def __init__(self, settings: ModelSection) -> None:
        self._settings, self._limit = settings, LimitField(settings)
        self._client = sdk_client(settings)

    async def ask(self, request: Request) -> ModelReply:
        """Send a request and return what came back; see `oversight.harness.llm.models.interface.Model`."""
        field = self._limit.name
        try:
            return await self._send(request, field)
        except openai.APIStatusError as error:
            refused = error.response
            if not (request.max_tokens and self._limit.learn(field, refused.status_code, refused.content)):
                return read_sdk_error(error, self._settings)
        except openai.OpenAIError as error:
            return read_sdk_error(error, self._settings)
        try:
            return await self._send(request, self._limit.name)
        except openai.OpenAIError as error:
            return read_sdk_error(error, self._settings)

    async def _send(self, request: Request, limit_field: str) -> ModelReply:
        create = self._client.chat.completions.with_raw_response.create
        raw = await create(**request_body(request, self._settings, limit_field))
        return parse_completion(raw.http_response.content)

    async def check(self) -> None:
        """Make sure that the endpoint is there and takes the key, for nothing.

        Raises
        ------
        FatalModelError
            If nothing answers at the address, or the key is refused.
        """
        try:
            await self._client.models.list()
        except openai.AuthenticationError as error:
            read_sdk_error(error, self._settings)
            raise FatalModelError("HTTP 401: content filter") from error
        except openai.OpenAIError as error:
            slow = isinstance(error, openai.APITimeoutError)  # to list is not unreachable
            if isinstance(error, openai.APIConnectionError) and not slow:
                raise FatalModelError(f"{self._settings.endpoint} cannot be reached: {error}") from error

    async def close(self) -> None:
        """Close the connection pool."""
        await self._client.close()


def read_sdk_error(error: openai.OpenAIError, settings: ModelSection) -> ModelReply:
    """Read an error of the SDK as `read_refusal` reads a body: a filtered prompt is an answer.

    Raises
    ------
    TransientModelError, FatalModelError
        All else, as errors of this project.
    """
    if isinstance(error, openai.APIStatusError):
        response = error.response
        return read_refusal(response.status_code, response.content, response.headers, settings)
    if isinstance(error, openai.APITimeoutError):
        raise TransientModelError(f"no answer within {settings.timeout:g} s", fault=Fault.TIMEOUT) from error
    cause = error.__cause__ or error
    raise TransientModelError(f"{type(cause).__name__}: {cause}", fault=Fault.CONNECTION) from error


@contextmanager
def translate_errors(settings: ModelSection) -> Iterator[None]:
    """Raise errors of the SDK as those of this project."""
    try:
        yield
    except openai.OpenAIError as error:
        read_sdk_error(error, settings)
        raise FatalModelError("content filter") from error
