"""The JSON Lines files of the Batch API: one request per line; one answer per line, in any order."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Any

import orjson

from oversight.harness.config import ModelSection
from oversight.harness.errors import Fault, ModelError, TransientModelError
from oversight.harness.llm.models.chat_completions import LimitField, read_refusal, request_body
from oversight.harness.llm.models.completions import load_body, parse_completion, read_usage
from oversight.harness.llm.models.interface import ModelReply, Request
from oversight.harness.llm.models.limited_model import TokenGuess
from oversight.harness.llm.models.served_model import ServedModel
from oversight.harness.llm.reading.reply_reader import ANY_FORM, ReplyForm
from oversight.harness.llm.runner.prediction import make_failed, read_prediction
from oversight.harness.types import Item, Prediction, Source, Usage


def name(number: int) -> str:
    """Return the id of the request with this number in a batch, counted from 0."""
    return f"r{number}"


def write_line(number: int, request: Request, settings: ModelSection) -> bytes:
    """Return a request as one line of a batch file."""
    body = request_body(request, settings, LimitField(settings).name)
    line = {"custom_id": name(number), "method": "POST", "url": "/v1/chat/completions", "body": body}
    return orjson.dumps(line)


def has_same_requests(data: bytes, other: bytes) -> bool | None:
    """Whether two batch files contain the same requests; None if one of them cannot be parsed."""
    try:
        first, second = ([load_body(line) for line in file.splitlines()] for file in (data, other))
    except TransientModelError:
        return None
    return first == second


def read_lines(*files: bytes) -> dict[str, list[Any]]:
    """Return the lines of output and error files by request id; unreadable lines have the key ""."""
    lines = dict[str, list[Any]]()
    for text in (line for data in files for line in data.splitlines() if line.strip()):
        line, request = None, ""
        with contextlib.suppress(TransientModelError):
            match load_body(text):
                case {"custom_id": str(request)} as line:
                    pass
        same = lines.setdefault(request, [])
        if not request or line not in same:
            same.append(line)
    return lines


def read_answer(
    item: Item,
    sample: int,
    lines: Sequence[Any] | None,
    settings: ModelSection,
    served: ServedModel,
    *,
    request: Request,
    guess: TokenGuess,
    asked: ReplyForm = ANY_FORM,
) -> Prediction:
    """Convert the answer to one request into a prediction, as if it were the reply to a call.

    Parameters
    ----------
    lines
        All lines with the id of the request; the first line with an answer is used. None or an empty list
        means that no answer arrived.
    guess
        Estimates of the tokens of answers without reported usage.
    """
    counts, failed = Usage(requests=1), dict[str, None]()
    for line in lines or (None,):
        is_booked = False
        try:
            read, is_guess = guess.complete(request, _read_line(line, settings))
            _book(counts, read.input_tokens, read.output_tokens, is_guess)
            is_booked = True
            if read.model:
                served.recognise(read.model)
        except ModelError as error:
            failed[f"{getattr(error, 'fault', Fault.REFUSED)}: {error}"] = None
            if isinstance(error, TransientModelError) and not is_booked:
                _book(counts, *guess.charge(request, error))
            continue
        return read_prediction(item, sample, read, counts, source=Source.BATCH, asked=asked)
    return make_failed(item, sample, next(iter(failed)), counts, Source.BATCH)


def _read_line(line: Any, settings: ModelSection) -> ModelReply:
    match line:
        case {"response": {"status_code": int(status), **others}}:
            body = json.dumps(others.get("body")).encode()
            return parse_completion(body) if 200 <= status < 300 else read_refusal(status, body, {}, settings)
        case {"response": {"body": body}}:
            used = read_usage(body).whole
            raise TransientModelError("the line has no status code", fault=Fault.MALFORMED, used=used)
        case {"error": {"message": str(message)}}:
            raise TransientModelError(message, fault=Fault.EXPIRED)
        case _:
            raise TransientModelError(
                "the batch ended without an answer to this request", fault=Fault.EXPIRED
            )


def _book(counts: Usage, sent: int, received: int, n_guessed: int) -> None:
    counts.input_tokens += sent
    counts.output_tokens += received
    counts.guessed += n_guessed
