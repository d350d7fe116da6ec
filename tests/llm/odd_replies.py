"""Replies that no endpoint should send, each by its name, and what becomes of the item it answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.fakes.openai_server import Reply

DEEP = 100_000


@dataclass(frozen=True)
class Odd:
    name: str
    reply: Reply
    status: str = "failed"
    reason: str = "malformed response"
    once: bool = False  # whether a repeated call gets a normal reply


def body(**changes: Any) -> Reply:
    """A complete chat completion with some fields, at any level, set to other values."""
    message = {"role": "assistant", "content": changes.pop("content", "green")}
    choice = {"index": 0, "message": message, "finish_reason": changes.pop("finish_reason", "stop")}
    choice["logprobs"] = {"content": changes.pop("logprobs", None)}
    usage = {"prompt_tokens": 7, "completion_tokens": changes.pop("completion_tokens", 3)}
    whole = {"model": "m", "choices": [choice], "usage": usage}
    return Reply(body=json.dumps({**whole, **changes}))


def deep(text: str) -> str:
    return "[" * DEEP + text + "]" * DEEP


ODD = (
    Odd("content is a list", body(content=["green"]), "ok", ""),
    Odd("content is a number", body(content=7)),
    Odd("content is an object", body(content={})),
    Odd("a part of the content is an image", body(content=[{"type": "image_url", "text": "green"}])),
    Odd(
        "content in parts of text",
        body(content=[{"type": "text", "text": t} for t in ("gre", "en")]),
        "ok",
        "",
    ),
    Odd("model is a list", body(model=["m"]), "ok", ""),
    Odd("finish_reason is a number", body(finish_reason=3), "ok", ""),
    Odd("a token is no text", body(logprobs=[{"token": 3, "logprob": -0.1}]), "ok", ""),
    Odd("a log-probability is NaN", body(logprobs=[{"token": "green", "logprob": float("nan")}])),
    Odd("a probability of e", body(logprobs=[{"token": "green", "logprob": 1.0}]), "ok", ""),
    Odd("1e30 tokens", body(completion_tokens=1e30), "ok", ""),
    Odd("-1,000,000 tokens", body(completion_tokens=-1_000_000), "ok", ""),
    Odd("true tokens", body(completion_tokens=True), "ok", ""),
    Odd("usage is a list", body(usage=[7, 3]), "ok", ""),
    Odd("no choices", body(choices=[])),
    Odd("choices is an object", body(choices={"0": {}})),
    Odd("nested too deep", Reply(body=deep(""))),
    Odd("nested too deep with an escape", Reply(body=deep('"\\u0041"'))),
    Odd("null", Reply(body="null")),
    Odd(
        "Retry-After: \u00b2",
        Reply(status=429, body="", headers={"Retry-After": "\u00b2"}),
        "ok",
        "",
        once=True,
    ),
    Odd(
        "an error that is a tree",
        Reply(status=500, body=json.dumps({"error": {"message": [[[["\x1b[2J"]]]], "code": {}}})),
        reason="server error",
    ),
    Odd("a body without an end", Reply(body=" " * 65_536, endless=True)),
    Odd("an error without an end", Reply(body=" " * 65_536, status=500, endless=True)),
    Odd("a gzip bomb", Reply(body=" " * 20_000_000, packed=True)),
    Odd("an answer of 8 MB", Reply("green" * 1_600_000)),
    Odd("a NUL in the answer", Reply("green\0"), "ok", ""),
    Odd("half an emoji in the answer", Reply("green \ud83d"), "ok", ""),
    Odd("a NUL in the error", Reply(status=500, body='{"error": "a\\u0000b\\ud800"}'), reason="server error"),
    Odd("the answer never ends", Reply('{"answer":' * 50_000), "unreadable", "malformed"),
    Odd("the answer is nested too deep", Reply(f'{{"answer": {deep("1")}}}'), "unreadable", "malformed"),
    Odd("the answer is a huge number", Reply('{"answer": 1e999}'), "unreadable", "none"),
    Odd(
        "the answer has more digits than Python reads",
        Reply(f'{{"answer": {"9" * 5000}}}'),
        "unreadable",
        "malformed",
    ),
    Odd("a megabyte of one letter and a bracket", Reply("a" * 1_000_000 + "<"), "unreadable", "malformed"),
    Odd("a wall of blanks", Reply("the answer" + " " * 50_000 + "banana"), "unreadable", "none"),
)
