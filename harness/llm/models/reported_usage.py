"""Read the token usage of a reply in all formats of providers.

The functions are pure. If a reply can be read in two ways, the larger count is used, so that budgets are
not exceeded.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from oversight.harness.llm.models.interface import MOST_TOKENS

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


@dataclass(frozen=True, slots=True)
class ReportedUsage:
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
    sent, received, total, thought = (counts[kind] for kind in ("sent", "received", "total", "thought"))
    beside = counts["read beside"] + counts["written beside"]
    cached = max(beside, counts["cached"])
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
    places: tuple[Any, ...] = (payload, first, payload.get("x_groq"))
    for place in filter(lambda place: isinstance(place, dict), places):
        for name in ("usage", "usage_metadata", "usageMetadata"):
            if isinstance(place.get(name), dict):
                yield place[name]


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
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return math.ceil(value) if 0 <= value <= MOST_TOKENS else 0
