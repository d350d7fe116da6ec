"""What was found of a panel as plain values: what commands print as JSON, and pages show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from oversight.harness.panel import AgreementReport, GrowthPoint, HumanLevel, Parity, Superhuman
from oversight.harness.types import plain_fields


def agreement_to_json(report: AgreementReport) -> dict[str, Any]:
    """Every coefficient, with the notes on α, and whether its interval holds."""
    found: dict[str, Any] = _add_holds(to_json(report))
    if report.alpha is not None:
        found["alpha"]["notes"] = [str(note) for note in report.alpha.notes]
    return found


def certificate_to_json(found: Superhuman, growth: Sequence[GrowthPoint]) -> dict[str, Any]:
    """Bounds, scores and the verdict, with what it is conditional on; bounds by annotators per item."""
    told: dict[str, Any] = to_json(found) | {
        "verdict": found.verdict,
        "holds": found.holds,
        "why": found.why,
        "conditional_on": [c.assumed for c in found.conditions],
        "growth": [to_json(point) for point in growth],
        "notes": [str(note) for note in found.notes],
    }
    if found.check is not None:
        told["check"] |= {
            "first_holds": found.check.first_holds,
            "second_holds": found.check.second_holds,
            "overstated": found.check.overstated(found.level),
        }
    return told


def parity_to_json(found: Parity, level: HumanLevel | None) -> dict[str, Any]:
    """Human and model in every bin, with its notes; human-level indices, if there is a reference.

    Every interval has ``why``, why it may not hold, and ``holds``; what is None has its reason under
    ``undefined``.
    """
    told: dict[str, Any] = _add_holds(to_json(found)) | {"human_level": to_json(level)}
    for shown, b in zip((told["overall"], *told["bins"]), (found.overall, *found.bins), strict=True):
        shown["notes"] = [*map(str, b.notes), *b.doubts]
    if level is not None:
        told["human_level"]["notes"] = [str(note) for note in level.notes]
    return told


def _add_holds(value: Any) -> Any:
    """Add ``holds`` to every interval, at any depth: whether its ``why`` is empty."""
    if isinstance(value, list):
        return [_add_holds(one) for one in value]
    if not isinstance(value, dict):
        return value
    told = {name: _add_holds(one) for name, one in value.items()}
    return told | {"holds": not told["why"]} if {"low", "high", "why"} <= told.keys() else told


def to_json(value: Any) -> Any:
    """Dataclasses to dictionaries, arrays to lists, nan to None: what JSON can hold."""
    option = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_DATACLASS
    return orjson.loads(orjson.dumps(value, option=option, default=plain_fields))
