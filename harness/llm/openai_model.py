"""Models behind OpenAI-compatible endpoints; the only module that imports openai."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai

from harness.config import LOCAL_ENDPOINT, ModelSection, api_key
from harness.errors import ConfigError, FatalModelError, ModelError, TransientModelError
from harness.llm import local
from harness.llm.model import Reply

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

    from harness.llm.model import Request

_TRANSIENT_STATUS = frozenset({408, 409, 425, 429})


class OpenAIModel:
    """One model of one endpoint.

    Parameters
    ----------
    settings
        From study.toml; the key is read from the environment here and kept nowhere else.

    Raises
    ------
    ConfigError
        If the key is not set, or the local server is wanted and not running.
    """

    def __init__(self, settings: ModelSection) -> None:
        self._settings = settings
        self._client = openai.AsyncOpenAI(
            base_url=_base_url(settings),
            api_key=api_key(settings),
            timeout=settings.timeout,
            max_retries=0,  # one layer retries: harness.llm.retry
        )

    async def ask(self, request: Request) -> Reply:
        """Send a request and return what came back; see `harness.llm.model.Model`."""
        try:
            completion = await self._client.chat.completions.create(
                model=self._settings.model,
                **_body(request),
            )
        except openai.APIStatusError as error:
            raise self._status_error(error) from error
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise TransientModelError(
                f"{self._settings.endpoint}: {type(cause).__name__}: {cause}"
            ) from error
        except (openai.APIResponseValidationError, ValueError) as error:
            raise TransientModelError(f"malformed response: {error}") from error
        return _reply(completion)

    async def close(self) -> None:
        """Close the connection pool."""
        await self._client.close()

    def _status_error(self, error: openai.APIStatusError) -> ModelError:
        message = f"HTTP {error.status_code}: {error.message}"
        if error.status_code in _TRANSIENT_STATUS or error.status_code >= 500:
            return TransientModelError(message, retry_after=_retry_after(error))
        if error.status_code in (401, 403):
            message += f"; check the key in {self._settings.api_key_env}"
        elif error.status_code == 404:
            message += f"; check the model name {self._settings.model!r} and the endpoint"
        return FatalModelError(message)


def _body(request: Request) -> dict[str, Any]:
    """Return the request's part of the body; what is left to the endpoint is left out."""
    schema = request.schema and {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": dict(request.schema)},
    }
    body: dict[str, Any] = {
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        "temperature": request.temperature,
        "max_completion_tokens": request.max_tokens,
        "stop": list(request.stop) or None,
        "response_format": schema,
    }
    return {name: value for name, value in body.items() if value is not None}


def _reply(completion: ChatCompletion) -> Reply:
    # The SDK does not validate: another body in a 200 arrives here as a shell without its parts.
    try:
        choice, usage = completion.choices[0], completion.usage
        return Reply(
            text=choice.message.content or "",
            finish_reason=choice.finish_reason,
            input_tokens=usage.prompt_tokens if usage else 0,
            output_tokens=usage.completion_tokens if usage else 0,
        )
    except (AttributeError, IndexError, TypeError) as error:
        raise TransientModelError("malformed response: it holds no message") from error


def _retry_after(error: openai.APIStatusError) -> float | None:
    value = error.response.headers.get("retry-after", "")
    return float(value) if value.replace(".", "", 1).isdigit() else None


def _base_url(settings: ModelSection) -> str:
    if settings.endpoint != LOCAL_ENDPOINT:
        return settings.endpoint
    server = local.status()
    if server is None:
        raise ConfigError("the local model is not running; start it with: oversight model start")
    return server.url
