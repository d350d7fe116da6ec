"""What a model offers at its endpoint, tried once with a tiny question and remembered."""

from __future__ import annotations

import orjson

from harness.errors import RefusedRequest
from harness.llm.limits import ask_with_retries
from harness.llm.models import Model, Request

STRUCTURED = "structured"
LOGPROBS = "logprobs"
_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}
_QUESTION = "Is 2 smaller than 3? Answer yes or no."


async def probe_feature(model: Model, feature: str, tries: int) -> tuple[bool, str]:
    """Try whether a model follows a JSON Schema, or gives log-probabilities.

    Returns
    -------
    bool, str
        Whether it does, and what came back.

    Raises
    ------
    ModelError
        If no answer came for a reason that has nothing to do with the feature.
    """
    if feature == STRUCTURED:
        request = Request.of(_QUESTION, schema=_SCHEMA)
    else:
        request = Request.of(_QUESTION, max_tokens=64, logprobs=True)
    try:
        reply, _ = await ask_with_retries(model.ask, request, tries)
    except RefusedRequest as error:
        return False, str(error)
    if feature == LOGPROBS:
        return bool(reply.logprobs), f"{len(reply.logprobs)} tokens"
    try:
        found = orjson.loads(reply.text)
    except orjson.JSONDecodeError:
        return False, reply.text[:200]
    # A server may take the schema, pass it over, and answer in JSON of its own.
    return isinstance(found, dict) and found.get("answer") in ("yes", "no"), reply.text[:200]
