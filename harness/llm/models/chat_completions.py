"""The chat-completions protocol: a request as a JSON body, and what came back as a `ModelReply` or an error.

Pure, so that every transport (plain HTTP, the SDK, the Batch API) reads and writes alike.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from harness.config import LOCAL_ENDPOINT, ModelSection
from harness.errors import ConfigError, FatalModelError, Fault, RefusedRequest, TransientModelError
from harness.llm.models.interface import ModelReply, Request
from harness.output import redact

_TRANSIENT_STATUS = frozenset({408, 409, 425, 429})
_FAULTS = {408: Fault.TIMEOUT, 429: Fault.RATE_LIMIT, 503: Fault.OVERLOADED, 529: Fault.OVERLOADED}
_LONGEST_MESSAGE = 500
_SECONDS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def request_body(request: Request, settings: ModelSection) -> dict[str, Any]:
    """Return the body of a request; what is left to the endpoint is left out."""
    response_format = None
    if request.schema is not None:
        schema = {"name": "answer", "strict": True, "schema": dict(request.schema)}
        response_format = {"type": "json_schema", "json_schema": schema}
    body = {
        "model": settings.model,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        "temperature": request.temperature,
        "max_completion_tokens": request.max_tokens,
        "stop": list(request.stop) or None,
        "response_format": response_format,
        "logprobs": request.logprobs or None,
    }
    return {name: value for name, value in body.items() if value is not None} | {
        **(request.constraint or {}),
        **settings.extra,
    }


def parse_completion(data: bytes) -> ModelReply:
    """Read the body of a 200; only what is needed, so that unknown parts of it do no harm.

    Raises
    ------
    TransientModelError
        If it is not JSON or holds no message, as from a proxy or a broken connection.
    """
    payload = load_body(data)
    try:
        choice = payload["choices"][0]
        message, usage = choice["message"], _given(payload.get("usage"), {})
        logprobs = _given(_given(choice.get("logprobs"), {}).get("content"), ())
        text = _text(message.get("content"))
        return ModelReply(
            text=_text(message.get("refusal")) if text == "" else text,
            finish_reason=_given(choice.get("finish_reason"), "stop"),
            input_tokens=_given(usage.get("prompt_tokens"), 0),
            output_tokens=_given(usage.get("completion_tokens"), 0),
            model=_given(payload.get("model"), ""),
            logprobs=tuple((t["token"], t["logprob"]) for t in logprobs),
        )
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise TransientModelError(f"it holds no message: {_short(data)!r}", fault=Fault.MALFORMED) from error


def load_body(data: bytes) -> Any:
    """Parse a body; half a surrogate pair, which orjson refuses, is half an emoji and no reason to pay again.

    Raises
    ------
    TransientModelError
        If it is not JSON, or nested too deep.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        with contextlib.suppress(ValueError, RecursionError):
            if b"\\u" in data:
                return json.loads(data)
        raise TransientModelError(f"not JSON: {_short(data)!r}", fault=Fault.MALFORMED) from error


def _text(content: Any) -> Any:
    """The text of a message; some endpoints send it in parts."""
    if isinstance(content, list) and all(part["type"] == "text" for part in content):
        return "".join(part["text"] for part in content)
    return _given(content, "")


def _given(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value


def read_refusal(status: int, data: bytes, headers: Mapping[str, str], settings: ModelSection) -> ModelReply:
    """Read the body of another status than 200; a filtered prompt is an answer, all else an error.

    Raises
    ------
    TransientModelError, FatalModelError
        As the status says.
    """
    code, said = _said(data)
    if code == "content_filter":
        return ModelReply("", finish_reason="content_filter")
    message = f"HTTP {status}: {said}"
    if status in _TRANSIENT_STATUS or status >= 500:
        if code == "insufficient_quota":
            raise FatalModelError(f"{message}; the account behind {settings.api_key_env} has nothing left")
        fault = _FAULTS.get(status, Fault.SERVER)
        raise TransientModelError(message, fault=fault, retry_after=retry_after(headers))
    if status in (400, 413, 422):
        message += "; if the prompt is too long, set max_words under [prompt]"
    elif status in (401, 403):
        message += f"; check the key in {settings.api_key_env}"
    elif status == 404:
        message += f"; check the model name {settings.model!r} and the endpoint {settings.endpoint}"
    if status in (400, 403, 404, 413, 422):
        raise RefusedRequest(message, status=status)
    raise FatalModelError(message)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Read Retry-After in either form, seconds or an HTTP date; None if absent or unreadable."""
    value = (headers.get("retry-after") or headers.get("Retry-After") or "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", value):
        return float(value)
    try:
        until = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())


def read_limits(headers: Mapping[str, str]) -> tuple[float, float] | None:
    """Read x-ratelimit-limit-requests and the seconds of its reset, which may be ``6m0s``; None if absent."""
    limit = headers.get("x-ratelimit-limit-requests")
    if limit is None:
        return None
    reset = headers.get("x-ratelimit-reset-requests", "")
    found = re.findall(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d|$)", reset)
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in found)
    return (float(limit), seconds) if re.fullmatch("[0-9]{1,9}", limit) and seconds else None


def _said(data: bytes) -> tuple[str, str]:
    """Code and message of an error's body, whatever its shape."""
    try:
        payload = orjson.loads(data)
    except orjson.JSONDecodeError:
        return "", _short(data)
    match payload.get("error", payload) if isinstance(payload, dict) else payload:
        case {"message": str(message), **rest}:
            code = rest.get("code") or rest.get("type")
            return str(code) if isinstance(code, str | int) else "", _one_line(message, _LONGEST_MESSAGE)
        case str(message):
            return "", _one_line(message, _LONGEST_MESSAGE)
    return "", _short(data)


def _short(data: bytes) -> str:
    return _one_line(data[: 4 * _LONGEST_MESSAGE].decode("utf-8", "replace"), 200) or "an empty body"


def _one_line(text: str, most: int) -> str:
    """Without line breaks, behind which a server could write lines that look like the command's own."""
    return redact(" ".join(text.split()))[:most]


def base_url(settings: ModelSection) -> str:
    """Return the base URL of a model's endpoint; ``"local"`` is looked up.

    Raises
    ------
    ConfigError
        If the local server is wanted and not running, or the endpoint is no URL.
    """
    if settings.endpoint == LOCAL_ENDPOINT:
        from harness.llm.local import find_local_model

        server = find_local_model()
        if server is None:
            raise ConfigError("the local model is not running; start it with: oversight model start")
        return server.url
    if not settings.endpoint.startswith(("http://", "https://")):
        raise ConfigError(
            f"the endpoint {settings.endpoint!r} of {settings.model!r} is neither a URL, nor 'local', "
            "nor a name under [endpoints]"
        )
    return settings.endpoint
