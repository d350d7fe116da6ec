"""A model's reply becomes the fields that were asked for, whatever order and dress it has them in."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

_FENCE = re.compile(r"```(?:json)?\s*(\{.*?\})\s*```", re.DOTALL | re.IGNORECASE)
_DECODER = json.JSONDecoder(strict=False)  # made once: raw line breaks in strings are common
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


def read_object(text: str) -> dict[str, Any] | None:
    """Find the JSON object in a reply: the whole of it, a fenced one, or the first that parses."""
    text = _THOUGHT.sub("", text).strip()
    fenced = _FENCE.search(text)
    for candidate in filter(None, (text, fenced and fenced[1])):
        try:
            found = _DECODER.decode(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    for start in (match.start() for match in re.finditer(r"\{", text)):
        try:
            found = _DECODER.raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            continue
        return found if isinstance(found, dict) else None
    return None


def find_missing(text: str, fields: Sequence[str]) -> list[str]:
    """Fields that a reply does not hold."""
    found = read_object(text)
    return [field for field in fields if found is None or found.get(field) is None]


def read_fields(text: str, fields: Sequence[str]) -> dict[str, str]:
    """Contents of the fields by name; surplus ones are dropped, missing ones empty.

    A reply without any JSON object is the content of the only field, if one was asked for.
    """
    found = read_object(text)
    if found is None:
        return {field: text.strip() if len(fields) == 1 else "" for field in fields}
    return {field: _content(found.get(field)) for field in fields}


def _content(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
