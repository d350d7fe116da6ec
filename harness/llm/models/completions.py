"""Convert the body of a completion into a `ModelReply` or an error, for all field names in use by endpoints.

The functions are pure, so that plain HTTP, the SDK and the Batch API share them. If token counts can be
read in two ways, the larger count is used, so that budgets are not exceeded.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from oversight.harness.errors import Fault, TransientModelError
from oversight.harness.llm.models.interface import (
    LARGEST_LOGPROB,
    LEAST_LOGPROB,
    MOST_TOKENS,
    ModelReply,
    Tokens,
)
from oversight.harness.output import redact

STOP, CUT, FILTERED = "stop", "length", "content_filter"
"""Values of `ModelReply.finish_reason`."""

_ENDING_NAMES = {
    STOP: (
        "stop eos eos_token end_of_text end_turn stop_sequence stop_token stop_word stop_str end finish"
        " finished complete completed done success tool_calls tool_use function_call tool_call"
    ),
    CUT: (
        "length max_tokens max_token max_output_tokens max_completion_tokens max_new_tokens model_length"
        " max_length token_limit limit context_length model_context_window_exceeded truncated incomplete"
        " output_limit context_window_exceeded"
    ),
    FILTERED: (
        "content_filter content_filtered contentfilter filtered filter safety sensitive recitation refusal"
        " blocklist prohibited_content spii guardrail_intervened guardrails moderation image_safety jailbreak"
        " policy_violation language error_toxic toxic"
    ),
}
_ENDINGS = {name: ending for ending, names in _ENDING_NAMES.items() for name in names.split()}
_BROKEN = re.compile("error|abort|cancel|network|resource|overload|timeout|fail|server|interrupt|unavail")
_IS_STREAM = re.compile(rb"\s*(?:data|event|id|retry)?:")
_LONGEST_MESSAGE = 500
_LIMITED = re.compile(r"rate.?limit|too many requests|\b429\b|quota", re.IGNORECASE)
_OVERLOADED = re.compile(r"overload|capacity|\b(?:503|529)\b|unavailable|busy", re.IGNORECASE)


def parse_completion(data: bytes) -> ModelReply:
    """Convert the body of a reply with a success status, ignoring fields that are not needed.

    Raises
    ------
    TransientModelError
        If the body contains no message, for example because a proxy wrote it; if it reports a failure of
        the provider; or if its finish reason is not that of a complete, truncated or filtered answer.
    """
    payload = load_body(data)
    usage = read_usage(payload)
    try:
        _raise_error(payload)
        choice = payload["choices"][0]
        _raise_error(choice)
        text, ending = _read_text(choice), _read_ending(choice)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        message = f"the reply contains no message: {short(data)!r}"
        raise TransientModelError(message, fault=Fault.MALFORMED, used=usage.whole) from error
    except TransientModelError as error:
        error.used = usage.whole
        raise
    logprobs, alternatives = _read_logprobs(choice.get("logprobs"))
    return ModelReply(
        text=text,
        finish_reason=ending,
        input_tokens=usage.sent,
        output_tokens=usage.received,
        model=payload["model"] if isinstance(payload.get("model"), str) else "",
        logprobs=logprobs,
        alternatives=alternatives,
        is_partial=usage.is_partial,
    )


def load_body(data: bytes) -> Any:
    """Parse a body as JSON.

    Bodies with unpaired surrogates, which orjson refuses, are parsed too, because a retry would cost money.
    A byte order mark is ignored, and the events of a stream that was not requested are joined.

    Raises
    ------
    TransientModelError
        If the body is not JSON, or is nested too deeply.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    if _IS_STREAM.match(data):
        return _join_events(data)
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        with contextlib.suppress(ValueError, RecursionError):
            if b"\\u" in data:
                return json.loads(data)
        raise TransientModelError(f"not JSON: {short(data)!r}", fault=Fault.MALFORMED) from error


def _join_events(data: bytes) -> dict[str, Any]:
    """Join the events of a stream into one completion."""
    texts, usages, found, ending = list[str](), list[Any](), dict[str, Any](), None
    for piece in _read_events(data):
        found |= {name: piece[name] for name in ("model", "error", "errors") if piece.get(name)}
        usages += find_usages(piece)
        try:
            for choice in piece.get("choices") or ():
                _raise_error(choice)
                part = choice.get("delta") or choice.get("message") or {}
                texts.append(_join_parts(part.get("content") or ""))
                ending = choice.get("finish_reason") or ending
        except (AttributeError, TypeError) as error:
            message = f"the reply contains no message: {short(data)!r}"
            raise TransientModelError(message, fault=Fault.MALFORMED) from error
    if ending is None and not {"error", "errors"} & found.keys():
        raise TransientModelError("the response stream ended without a finish reason", fault=Fault.MALFORMED)
    joined = {"content": "".join(texts)}
    found["usage"] = {name: count for usage in usages for name, count in usage.items()}
    return found | {"choices": [{"message": joined, "finish_reason": ending}]}


def _read_events(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.splitlines():
        if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
            try:
                piece = orjson.loads(line[5:])
            except orjson.JSONDecodeError as error:
                raise TransientModelError(f"not JSON: {short(line)!r}", fault=Fault.MALFORMED) from error
            if isinstance(piece, dict):
                yield piece


def _raise_error(part: Any) -> None:
    """Raise the error that a provider reports in a reply with a success status, if there is one."""
    base = part.get("base_resp")
    failed = base if isinstance(base, dict) and base.get("status_code") else None
    whole = part if part.get("object") == "error" else None
    error = part.get("error") or part.get("errors") or whole or failed
    if not error:
        return
    said = one_line(json.dumps(error, ensure_ascii=False), _LONGEST_MESSAGE)
    raise TransientModelError(
        f"an error in a reply of status 200: {said}", fault=_fault_of(said), in_reply=True
    )


def _fault_of(said: str) -> Fault:
    if _LIMITED.search(said):
        return Fault.RATE_LIMIT
    return Fault.OVERLOADED if _OVERLOADED.search(said) else Fault.SERVER


def _read_text(choice: Any) -> str:
    """Return the text of a message, which may be given in parts or in the field for refusals."""
    if "message" not in choice and isinstance(choice.get("text"), str):
        return str(choice["text"])
    message = choice["message"]
    _raise_error(message)
    text = _join_parts(message.get("content"))
    refusal = message.get("refusal")
    return refusal if text == "" and isinstance(refusal, str) else text


def _join_parts(content: Any) -> str:
    """Join the text parts of a message's content; reasoning and other kinds of parts are left out."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        raise TypeError("content is neither text nor a list of parts")
    texts = [part if isinstance(part, str) else _part_text(part) for part in content]
    if content and all(text is None for text in texts) and not any(map(_is_thought, content)):
        raise TypeError("no part of the content is text")
    return "".join(text or "" for text in texts)


def _is_thought(part: Any) -> bool:
    kinds = ("thinking", "reasoning", "redacted_thinking", "summary_text")
    return isinstance(part, dict) and part.get("type") in kinds


def _part_text(part: Any) -> str | None:
    if not isinstance(part, dict) or (part.get("type") or "text") not in ("text", "output_text"):
        return None
    text = part.get("text")
    text = text.get("value") if isinstance(text, dict) else text
    return text if isinstance(text, str) else None


def _read_ending(choice: Any) -> str:
    """Return the finish reason of a reply as one of `STOP`, `CUT` and `FILTERED`.

    Raises
    ------
    TransientModelError
        If the endpoint's finish reason is unknown or denotes an interrupted answer.
    """
    said = choice.get("finish_reason") or choice.get("stop_reason")
    if isinstance(said, dict):
        said = said.get("type") or said.get("reason") or said.get("code")
    if isinstance(said, list):
        said = next((part for part in said if isinstance(part, str)), None)
    if not isinstance(said, str) or not said.strip():
        return STOP
    if said in _ENDINGS:
        return _ENDINGS[said]
    name = re.sub(r"^finish_?reason_", "", re.sub(r"[\W_]+", "_", said.strip().casefold()))
    if name in _ENDINGS:
        return _ENDINGS[name]
    fault = Fault.SERVER if _BROKEN.search(name) else Fault.MALFORMED
    message = f"the finish reason {said[:60]!r} is not that of a finished answer"
    raise TransientModelError(message, fault=fault, in_reply=True)


def _read_logprobs(logprobs: Any) -> tuple[Tokens, tuple[Tokens, ...]]:
    """Return the (token, log-probability) pairs of the answer, and those of each token's alternatives."""
    content: Any = logprobs.get("content") if isinstance(logprobs, dict) else None
    tokens = _read_tokens(content)
    tops = tuple(_read_tokens(part.get("top_logprobs")) for part in content) if tokens else ()
    return tokens, tops if any(tops) else ()


def _read_tokens(parts: Any) -> Tokens:
    """Return (token, log-probability) pairs; empty if one of the tokens is malformed."""
    found: list[tuple[str, float]] = []
    for part in parts if isinstance(parts, list) else ():
        token, logprob = (part.get("token"), part.get("logprob")) if isinstance(part, dict) else (None, None)
        if not isinstance(token, str) or isinstance(logprob, bool) or not isinstance(logprob, float | int):
            return ()
        if not LEAST_LOGPROB <= logprob <= LARGEST_LOGPROB:
            return ()
        found.append((token, float(logprob)))
    return tuple(found)


def short(data: bytes) -> str:
    """Return the beginning of a body on one line, for messages."""
    return one_line(data[: 4 * _LONGEST_MESSAGE].decode("utf-8", "replace"), 200) or "an empty body"


def one_line(text: str, most: int) -> str:
    """Return the first `most` characters of a text on one line.

    This prevents a server's message from imitating further lines of the command's own output.
    """
    return redact(" ".join(text.split()))[:most]


_NAMES = {
    "sent": "prompttokens inputtokens prompttokencount inputtokencount",
    "received": "completiontokens outputtokens candidatestokencount outputtokencount generatedtokens",
    "total": "totaltokens totaltokencount",
    "thought": "reasoningtokens thinkingtokens thoughtstokencount thoughttokens",
    "cached": "cachedtokens promptcachehittokens cachedcontenttokencount",
    "read beside": "cachereadinputtokens",
    "written beside": "cachecreationinputtokens",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_INNER = ("thought", "cached")
"""Kinds of tokens that are also counted in nested objects, such as ``completion_tokens_details``."""


class ReportedUsage(NamedTuple):
    """Tokens of one call as counted by its endpoint; 0 if not reported.

    Attributes
    ----------
    sent, received
        Tokens of the request and of the answer, including reasoning.
    is_partial
        Whether `received` may omit tokens of the answer.
    """

    sent: int = 0
    received: int = 0
    is_partial: bool = True

    @property
    def whole(self) -> tuple[int, int] | None:
        """Tokens sent and received; None if one of the numbers is unknown or incomplete."""
        return (self.sent, self.received) if self.sent and not self.is_partial else None


def read_usage(payload: Any) -> ReportedUsage:
    """Read the usage from a reply body.

    Reasoning tokens count as received. They are added to ``completion_tokens`` in three cases: if they exceed
    ``completion_tokens``, if the total shows that ``completion_tokens`` omits them, and if no total is
    reported, because ``completion_tokens`` may then omit them.

    >>> read_usage({"usage": {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 555}})
    ReportedUsage(sent=50, received=505, is_partial=False)
    """
    counts = dict.fromkeys(_NAMES, 0)
    for usage in find_usages(payload):
        for kind, count in _read_counts(usage):
            counts[kind] = max(count, counts[kind])
    sent, received, total, thought, cached, read_beside, written_beside = counts.values()
    beside = read_beside + written_beside
    cached = max(beside, cached)
    has_total = total >= sent + received and total > 0
    if sent and (cached > sent or (beside and (not has_total or total >= sent + received + beside))):
        sent += cached
    is_partial = not received and not has_total
    if thought > received or not has_total:
        received += thought
    if has_total:
        received = max(received, total - sent)
    return ReportedUsage(min(sent, MOST_TOKENS), min(received, MOST_TOKENS), is_partial)


def find_usages(payload: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a reply body in which endpoints report token counts."""
    if not isinstance(payload, dict):
        return
    choices = payload.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    for place in (payload, first, payload.get("x_groq")):
        if isinstance(place, dict):
            for name in ("usage", "usage_metadata", "usageMetadata"):
                if isinstance(usage := place.get(name), dict):
                    yield usage


def _read_counts(usage: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for name, value in usage.items():
        if isinstance(value, dict):
            for part, inner in value.items():
                kind = _find_kind(str(part))
                if kind in _INNER:
                    yield kind, _count(inner)
        elif kind := _find_kind(str(name)):
            yield kind, _count(value)


@lru_cache(maxsize=256)  # cached, because all replies use the same few names
def _find_kind(name: str) -> str:
    return _KINDS.get(re.sub(r"[\W_]+", "", name).casefold(), "")


def _count(value: Any) -> int:
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = float(value)
    return math.ceil(value) if type(value) in (int, float) and 0 <= value <= MOST_TOKENS else 0
