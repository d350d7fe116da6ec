"""A model's report in words: the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Mapping

from oversight.harness.analysis import ItemCounts, ModelReport
from oversight.harness.output import pool_text
from oversight.harness.types import Counts


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
