"""The chat-completions protocol: write requests as JSON bodies, and convert error replies into exceptions.

The functions are pure, so that plain HTTP, the SDK and the Batch API share them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from oversight.harness.config import LOCAL_ENDPOINT, ModelSection
from oversight.harness.errors import ConfigError, FatalModelError, Fault, RefusedRequest, TransientModelError
from oversight.harness.llm.models.completions import FILTERED, one_line, read_usage, short
from oversight.harness.llm.models.interface import ModelReply, Request

_TRANSIENT_STATUS = frozenset({408, 409, 425, 429})
_OF_THE_ACCOUNT = frozenset({401, 402})
_FAULTS = {408: Fault.TIMEOUT, 429: Fault.RATE_LIMIT, 503: Fault.OVERLOADED, 529: Fault.OVERLOADED}
# These are timeouts of gateways: the model may still answer, and its answer must be paid for.
_FAULTS |= dict.fromkeys((504, 524, 598), Fault.TIMEOUT)
_LONGEST_MESSAGE = 500
_FIRST_EPOCH = 1e9  # seconds: a larger number is a Unix time (after September 2001), a smaller one a duration
_LONGEST_WINDOW = 7 * 86_400.0  # seconds; a rate limit with a longer window is ignored as implausible
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


LIMIT_FIELDS = ("max_completion_tokens", "max_tokens")
TOP_LOGPROBS = 5
"""Number of alternatives requested per token of an answer; all endpoints with log-probabilities allow it."""
_NOT_TAKEN = re.compile(
    r"extra|unsupported|not support|unrecogni|unknown|unexpected|not permitted|not allowed|forbidden|no such"
    r"|invalid (?:field|parameter|argument|key|request|property)|does not (?:exist|accept)|additional propert"
    r"|instead|deprecated",
    re.IGNORECASE,
)


class LimitField:
    """Name of an endpoint's field for the token limit, learned from the first request that is refused.

    Parameters
    ----------
    settings
        Settings of the model; if `limit_as` is not "auto", its value is the name, and nothing is learned.
    """

    def __init__(self, settings: ModelSection) -> None:
        self._is_set, self._has_learned = settings.limit_as != "auto", False
        self.name: str = settings.limit_as if self._is_set else LIMIT_FIELDS[0]

    def learn(self, sent: str, status: int, data: bytes) -> bool:
        """Switch to the other field name if an error reply says that the endpoint refuses `sent`.

        Returns whether to send the request again with the field `name`.

        Parameters
        ----------
        sent
            The field that the refused request used.
        status, data
            HTTP status and body of the reply.
        """
        said = data.decode("utf-8", "replace")
        if self._is_set or status not in (400, 422) or sent not in said or not _NOT_TAKEN.search(said):
            return False
        if self.name != sent:  # another call changed the field after this call was sent
            return True
        if self._has_learned:
            return False
        self.name, self._has_learned = LIMIT_FIELDS[1 - LIMIT_FIELDS.index(sent)], True
        return True


def request_body(
    request: Request, settings: ModelSection, limit_field: str = LIMIT_FIELDS[0]
) -> dict[str, Any]:
    """Return the JSON body of a request; settings that are None are omitted."""
    response_format = None
    if request.schema is not None:
        schema = {"name": "answer", "strict": True, "schema": dict(request.schema)}
        response_format = {"type": "json_schema", "json_schema": schema}
    body = {
        "model": settings.model,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        "temperature": request.temperature,
        limit_field: request.max_tokens,
        "stop": list(request.stop) or None,
        "response_format": response_format,
        "logprobs": request.logprobs or None,
        "top_logprobs": TOP_LOGPROBS if request.logprobs else None,
    }
    return {name: value for name, value in body.items() if value is not None} | {
        **(request.constraint or {}),
        **settings.extra,
    }


def read_refusal(status: int, data: bytes, headers: Mapping[str, str], settings: ModelSection) -> ModelReply:
    """Raise the error that fits a reply with an error status.

    If the endpoint's content filter rejected the prompt, return an empty answer instead.

    Raises
    ------
    TransientModelError
        If another attempt may succeed.
    FatalModelError
        If the API key or the account is refused.
    RefusedRequest
        For every other status; other requests may still succeed.
    """
    code, said = _said(data)
    if code == "content_filter":
        return ModelReply("", finish_reason=FILTERED)
    message = f"HTTP {status}: {said}"
    if status in _TRANSIENT_STATUS or status >= 500:
        if code == "insufficient_quota":
            raise FatalModelError(f"{message}; the account of {settings.api_key_env} has no credit left")
        fault = _FAULTS.get(status, Fault.SERVER)
        used = read_usage(_load(data)).whole
        raise TransientModelError(message, fault=fault, retry_after=retry_after(headers), used=used)
    if status in (400, 413, 422):
        message += "; if the prompt is too long, set max_words under [prompt]"
    elif status in (401, 403):
        message += f"; check the key in {settings.api_key_env}"
    elif status == 404:
        message += f"; check the model name {settings.model!r} and the endpoint {settings.endpoint}"
    elif status == 407:
        message += "; check the name and the password of the proxy"
    elif status < 400:
        where = headers.get("location", "nowhere")
        message += f"; redirects are not followed; set the endpoint to the redirect's target ({where})"
    if status in _OF_THE_ACCOUNT:
        raise FatalModelError(message)
    raise RefusedRequest(message, status=status)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds in the Retry-After header (a number or a date); None if absent or unreadable."""
    value = (headers.get("retry-after") or headers.get("Retry-After") or "").strip()
    return _read_seconds(value, now or datetime.now(UTC))


def read_limits(headers: Mapping[str, str], now: datetime | None = None) -> tuple[float, float] | None:
    """Return the request limit and the seconds until its reset, from the x-ratelimit headers.

    Returns None if the headers are absent or implausible. The header for the reset may contain a duration,
    for example ``6m0s``, or a point in time.
    """
    limit = headers.get("x-ratelimit-limit-requests")
    if limit is None:
        return None
    seconds = _read_seconds(headers.get("x-ratelimit-reset-requests", "").strip(), now or datetime.now(UTC))
    is_sound = seconds is not None and 0 < seconds <= _LONGEST_WINDOW and re.fullmatch("[0-9]{1,9}", limit)
    return (float(limit), seconds) if is_sound and seconds and float(limit) else None


def _read_seconds(value: str, now: datetime) -> float | None:
    """Return the seconds in a duration (``90``, ``6m0s``), or until a date or Unix time (s, ms, µs or ns)."""
    if re.fullmatch(r"[0-9]{1,20}(\.[0-9]{1,9})?", value):
        seconds = float(value)
        if seconds < _FIRST_EPOCH:
            return seconds
        while seconds >= 1000 * _FIRST_EPOCH:  # the time is in ms, µs or ns
            seconds /= 1000
        return max(0.0, seconds - now.timestamp())
    parts = re.findall(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h|d)", value)
    if parts and "".join(map("".join, parts)) == value:
        return sum(float(number) * _SECONDS[unit] for number, unit in parts)
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with contextlib.suppress(ValueError, OverflowError):
            until = read(value)
            until = until if until.tzinfo else until.replace(tzinfo=UTC)
            return max(0.0, (until - now).total_seconds())
    return None


def _said(data: bytes) -> tuple[str, str]:
    """Return the error code and message in the body of an error reply of any format."""
    payload = _load(data)
    match payload.get("error", payload) if isinstance(payload, dict) else payload:
        case {"message": str(message), **rest}:
            code = rest.get("code") or rest.get("type")
            return str(code) if isinstance(code, str | int) else "", one_line(message, _LONGEST_MESSAGE)
        case str(message):
            return "", one_line(message, _LONGEST_MESSAGE)
    return "", short(data)


def _load(data: bytes) -> Any:
    with contextlib.suppress(orjson.JSONDecodeError):
        return orjson.loads(data)
    return None


def base_url(settings: ModelSection) -> str:
    """Return the base URL of a model's endpoint; for ``"local"``, the URL of the local server.

    Raises
    ------
    ConfigError
        If the local server is not running, or the endpoint is not a URL.
    """
    if settings.endpoint == LOCAL_ENDPOINT:
        from oversight.harness.llm.local.lifecycle import find_local_model

        server = find_local_model()
        if server is None:
            raise ConfigError("the local model is not running; start it with: oversight server start model")
        return server.url
    if not settings.endpoint.startswith(("http://", "https://")):
        raise ConfigError(
            f"the endpoint {settings.endpoint!r} of {settings.model!r} must be a URL, 'local' or a name "
            "under [endpoints]"
        )
    return settings.endpoint
