"""Estimates in words: the same on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Mapping

from harness.analysis import ItemCounts, ModelReport, estimator_name
from harness.report.interval_names import method_words
from harness.types import Counts, Estimate

OUTSIDE = "* outside 0–100 % as computed, cut off for display"


def percent(share: float) -> str:
    """``71.2 %``."""
    return f"{100 * share:.1f} %"


def value_text(estimate: Estimate) -> str:
    """``71.2 %``, with a star where display cuts it off."""
    return percent(estimate.clipped) + ("*" if estimate.value != estimate.clipped else "")


def interval_text(estimate: Estimate) -> str:
    """``66.4 % – 75.7 %``, with a mark where it may not hold."""
    return f"{percent(estimate.low)} – {percent(estimate.high)}" + ("" if estimate.holds else " (!)")


def caution_text(estimate: Estimate) -> str:
    """Why the interval may not hold, to stand right beneath it; empty where it holds."""
    return "" if estimate.holds else f"(!) may not hold: {estimate.why}"


def method_text(estimate: Estimate) -> str:
    """``exact 95%``, with the name of the interval in words."""
    return f"{method_words(estimate.interval)} {estimate.level:.0%}"


def note_lines(estimates: Mapping[str, Estimate], undefined: Mapping[str, str]) -> list[str]:
    """What a reader must know of estimates, with the names of those it is about, and why some are missing."""
    about: dict[str, list[str]] = {}
    for name, estimate in estimates.items():
        for note in estimate.notes:
            about.setdefault(note, []).append(estimator_name(name))
        if estimate.value != estimate.clipped:
            about.setdefault(f"{percent(estimate.value)} as computed", []).append(estimator_name(name))
    lines = [
        f"{'all estimates' if len(names) == len(estimates) > 1 else ' · '.join(names)}: {note}"
        for note, names in about.items()
    ]
    return lines + [f"{estimator_name(name)}: no estimate: {why}" for name, why in undefined.items()]


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


def questions_text(answered: int, drawn: int) -> str:
    """``229 of 240 questions answered``."""
    return f"{answered} of {drawn} questions answered"


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
