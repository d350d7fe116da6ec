"""The files of the Batch API: one request a line, and one answer a line in any order."""

from __future__ import annotations

from typing import Any

import orjson

from harness.config import ModelSection
from harness.errors import Fault, ModelError
from harness.llm.models import CallCounts, Request, parse_completion, read_refusal, request_body
from harness.llm.runner.parsing import Notation
from harness.llm.runner.prediction import make_failed, read_prediction
from harness.types import Item, Prediction, Source


def name(number: int) -> str:
    """Return the id under which a batch's n-th request, from 0, is answered."""
    return f"r{number}"


def write_line(number: int, request: Request, settings: ModelSection) -> bytes:
    """Write one request."""
    body = request_body(request, settings)
    line = {"custom_id": name(number), "method": "POST", "url": "/v1/chat/completions", "body": body}
    return orjson.dumps(line)


def read_lines(data: bytes) -> dict[str, Any]:
    """Read a file of answers or errors, by the ids of their requests."""
    lines = (orjson.loads(line) for line in data.splitlines() if line.strip())
    return {line["custom_id"]: line for line in lines}


def read_answer(
    item: Item, sample: int, line: Any, settings: ModelSection, *, asked: Notation | None = None
) -> Prediction:
    """Read the answer to one request as if it had come from a call; None is one that never came."""
    response = (line or {}).get("response")
    if not response:
        said = ((line or {}).get("error") or {}).get("message") or "no answer came before the batch ended"
        return make_failed(item, sample, f"{Fault.EXPIRED}: {said}", CallCounts(attempts=1), Source.BATCH)
    body = orjson.dumps(response.get("body"))
    try:
        if response.get("status_code") == 200:
            reply = parse_completion(body)
        else:
            reply = read_refusal(response.get("status_code", 500), body, {}, settings)
    except ModelError as error:
        kind = getattr(error, "fault", "refused request")
        return make_failed(item, sample, f"{kind}: {error}", CallCounts(attempts=1), Source.BATCH)
    counts = CallCounts(attempts=1, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)
    return read_prediction(item, sample, reply, counts, source=Source.BATCH, asked=asked)
