"""What control questions tell of experts, in words: the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from oversight.harness.analysis import ExpertQuality
    from oversight.harness.estimate import Rate, RateChange

QUALITY_TITLES = {
    "name": "expert",
    "answered": "answered",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "steadiness": "same again",
    "agreement": "as colleague",
    "drift": "drift",
}
"""What is told of an expert → title of its column."""


def quality_to_json(quality: Sequence[ExpertQuality]) -> list[dict[str, Any]]:
    """Counts, rates and their intervals of every expert, and the same in words."""
    return [{**asdict(one), "words": quality_words(one)} for one in quality]


def quality_words(one: ExpertQuality) -> dict[str, str]:
    """What is told of an expert, by the names of `QUALITY_TITLES`."""
    rates = {name: getattr(one, name) for name in ("sensitivity", "specificity", "steadiness", "agreement")}
    return {
        "name": one.name,
        "answered": f"{one.answered}/{one.asked}",
        **{name: _rate_text(rate) for name, rate in rates.items()},
        "drift": _change_text(one.drift),
    }


def quality_table(quality: Sequence[ExpertQuality]) -> Table:
    """A row an expert; a kind of control question that was put to nobody has no column."""
    from rich.table import Table

    rows = [quality_words(one) for one in quality]
    shown = [name for name in QUALITY_TITLES if any(row[name] for row in rows)]
    table = Table(*(QUALITY_TITLES[name] for name in shown), title="Experts, by control questions")
    for row in rows:
        table.add_row(*(row[name] for name in shown))
    return table


def quality_lines(quality: Sequence[ExpertQuality]) -> list[str]:
    """What is told of all experts together, in one sentence; none without control questions."""
    if not quality:
        return []
    words = quality_words(quality[-1])
    told = [f"{QUALITY_TITLES[name]} {text}" for name, text in words.items() if name != "name" and text]
    return [f"{words['name']}, control questions: {', '.join(told)}; each: oversight experts quality"]


def _rate_text(rate: Rate | None) -> str:
    return (
        "" if rate is None else f"{rate.successes}/{rate.of} [{100 * rate.low:.0f}–{100 * rate.high:.0f} %]"
    )


def _change_text(change: RateChange | None) -> str:
    if change is None:
        return ""
    return f"{100 * change.value:+.0f} [{100 * change.low:+.0f}, {100 * change.high:+.0f}] points"
