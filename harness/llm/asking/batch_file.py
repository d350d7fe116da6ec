"""The files of the Batch API: one request a line, and one answer a line in any order."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import orjson

from harness.config import ModelSection
from harness.errors import Fault, ModelError, TransientModelError
from harness.llm.models import (
    CallCounts,
    LimitField,
    Request,
    ServedModel,
    TokenGuess,
    load_body,
    parse_completion,
    read_refusal,
    read_usage,
    request_body,
)
from harness.llm.reading import ANY_FORM, ReplyForm
from harness.llm.runner import make_failed, read_prediction
from harness.types import Item, Prediction, Source


def name(number: int) -> str:
    """Return the id under which a batch's n-th request, from 0, is answered."""
    return f"r{number}"


def write_line(number: int, request: Request, settings: ModelSection) -> bytes:
    """Write one request."""
    body = request_body(request, settings, LimitField(settings).name)
    line = {"custom_id": name(number), "method": "POST", "url": "/v1/chat/completions", "body": body}
    return orjson.dumps(line)


def read_lines(data: bytes) -> dict[str, Any]:
    """Read a file of answers or errors, by the ids of their requests; without the lines that name none.

    Of several lines with one id an answer counts, else the last.
    """
    lines: dict[str, Any] = {}
    for text in data.splitlines():
        with contextlib.suppress(TransientModelError):
            match load_body(text):
                case {"custom_id": str(request)} as line if not _is_answer(lines.get(request)):
                    lines[request] = line
    return lines


def _is_answer(line: Any) -> bool:
    match line:
        case {"response": {"status_code": int(status)}}:
            return 200 <= status < 300
    return False


def read_answer(
    item: Item,
    sample: int,
    line: Any,
    settings: ModelSection,
    served: ServedModel,
    *,
    request: Request,
    guess: TokenGuess,
    asked: ReplyForm = ANY_FORM,
) -> Prediction:
    """Read the answer to one request as if it had come from a call; None is one that never came.

    `guess` charges answers to the request that do not say what they used.
    """
    counts = CallCounts(attempts=1)
    try:
        match line:
            case {"response": {"status_code": int(status), **others}}:
                body = json.dumps(others.get("body")).encode()
                is_good = 200 <= status < 300
                read = parse_completion(body) if is_good else read_refusal(status, body, {}, settings)
            case {"response": {"body": body}}:
                used = read_usage(body).whole
                raise TransientModelError("no status code came with it", fault=Fault.MALFORMED, used=used)
            case {"error": {"message": str(message)}}:
                raise TransientModelError(message, fault=Fault.EXPIRED)
            case _:
                message = "no answer came before the batch ended"
                raise TransientModelError(message, fault=Fault.EXPIRED)
        read, is_guess = guess.complete(request, read)
        counts.input_tokens, counts.output_tokens = read.input_tokens, read.output_tokens
        counts.guessed += is_guess
        if read.model:
            served.recognise(read.model)
    except ModelError as error:
        kind = getattr(error, "fault", Fault.REFUSED)
        if isinstance(error, TransientModelError) and not counts.input_tokens:
            counts.input_tokens, counts.output_tokens, counts.guessed = guess.charge(request, error)
        return make_failed(item, sample, f"{kind}: {error}", counts, Source.BATCH)
    return read_prediction(item, sample, read, counts, source=Source.BATCH, asked=asked)
