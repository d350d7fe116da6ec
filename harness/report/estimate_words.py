"""The report of a study in words: the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from oversight.harness.output import pool_text
from oversight.harness.types import Counts

if TYPE_CHECKING:
    from rich.table import Table

    from oversight.harness.analysis import ExpertQuality, ItemCounts, ModelReport
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


def items_text(items: ItemCounts) -> str:
    """``44 of 200 items answered by the model (RUN NOT FINISHED: 150 not asked yet, 6 failed)``."""
    missing = [
        f"{number} {what}"
        for number, what in ((items.unpredicted, "not asked yet"), (items.failed, "failed"))
        if number
    ]
    text = f"{items.predicted} of {items.of} items answered by the model"
    if not missing:
        return text
    return f"{text} ({'RUN NOT FINISHED: ' if items.unpredicted else ''}{', '.join(missing)})"


def questions_text(answered: int, drawn: int, pool: tuple[int, int] | None = None) -> str:
    """``229 of 240 questions answered, 240 of 12,000 items drawn``, the latter of items drawn from a pool."""
    text = f"{answered} of {drawn} questions answered"
    return f"{text}, {pool_text(*pool)}" if pool else text


def label_texts(model: ModelReport) -> list[str]:
    """What experts said on the items of a model, and what is missing, each with its number."""
    counts, items = next((e.n for e in model.estimates.values()), Counts()), model.items
    return [
        f"{number} {what}"
        for number, what in (
            (counts.ordinary, "yes (ordinary labels)"),
            (counts.complementary, "no (complementary labels)"),
            (counts.abstained, "questions abstained from"),
            (counts.unreadable, "labelled items with an unreadable answer (count as wrong)"),
            (counts.failed, "labelled items without an answer of the model (excluded)"),
            (items.unlabelled, "items whose question is open"),
            (items.unasked, "items without a question"),
        )
        if number
    ]


def check_lines(model: ModelReport) -> list[str]:
    """How many checks of the assumptions passed, failed and were not made, and what the latter two say."""
    if not model.checks:
        return []
    lines = [f"check {c.name!r} {c.state}: {c.message}" for c in model.checks if not c.passed]
    passed, failed, not_made = (
        sum(c.state == state for c in model.checks) for state in ("passed", "failed", "not made")
    )
    if not failed + not_made:
        return [f"all {passed} checks of the assumptions passed" if passed > 1 else "the one check passed"]
    return [*lines, f"checks of the assumptions: {passed} passed, {failed} failed, {not_made} not made"]


def cost_text(model: ModelReport) -> str:
    """``$1.2340 in all, $0.0042 per right answer [$0.0039, $0.0046]``; empty without a price."""
    if model.usd is None:
        return ""
    total = f"${model.usd:.4f} in all"
    if model.usd_per_correct is None:
        return total
    each, low, high = model.usd_per_correct
    end = "∞" if high is None else f"${high:.3g}"
    return f"{total}, ${each:.3g} per right answer [${low:.3g}, {end}]"


def group_reasons(undefined: Mapping[str, str]) -> dict[str, str]:
    """Why results are withheld, those with the same reason in one line."""
    about = dict[str, list[str]]()
    for name, why in undefined.items():
        about.setdefault(why, []).append(name)
    return {", ".join(names): why for why, names in about.items()}


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
