"""Estimates in words: the same on the terminal, on the page and in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from oversight.harness.types.html_table import HtmlTable, percent, span
from oversight.harness.types.interval_names import method_words

if TYPE_CHECKING:
    from oversight.harness.types.estimates import Estimate

OUTSIDE = "* outside 0–100 % as computed, cut off for display"

ESTIMATOR_NAMES = {
    "resolved": "Resolved items",
    "routed": "Routed (G)",
    "ml": "ML",
    "ivw": "IVW",
    "ivw_half": "IVW, w = ½",
    "ord": "Ord (yes only)",
    "comp": "Comp (no only)",
    "assisted": "With all models' votes",
    "judged": "With a judge",
    "deepened": "With second questions",
    "anytime": "ML, any time",
    "corrected": "Corrected (gold)",
    "hui_walter": "Corrected (second experts)",
    "bounded": "Bounded (known error rates)",
    "worst_case": "Worst case (failed, unanswered)",
}
"""As tables and plots name the estimators, in the order they are shown."""


def estimator_name(name: str) -> str:
    """What tables and plots call an estimator."""
    return "Accuracy" if name == "accuracy" else ESTIMATOR_NAMES.get(name, name)


def value_text(estimate: Estimate) -> str:
    """``71.2 %``, with a star where display cuts it off; a cost as a number."""
    if estimate.is_cost:
        return f"{estimate.value:.4g}"
    return percent(estimate.clipped) + ("*" if estimate.value != estimate.clipped else "")


def interval_text(estimate: Estimate) -> str:
    """``66.4 % – 75.7 %``, with a mark where it may not hold; a cost's as numbers."""
    numbers = f"{estimate.low:.4g} – {estimate.high:.4g}"
    text = numbers if estimate.is_cost else span(estimate.low, estimate.high)
    return text + ("" if estimate.holds else " (!)")


def caution_text(estimate: Estimate) -> str:
    """Why the interval may not hold, to stand right beneath it; empty where it holds."""
    return "" if estimate.holds else f"(!) may not hold: {estimate.why}"


def caution_lines(estimates: Mapping[str, Estimate]) -> list[str]:
    """Why intervals may not hold, each reason once with the estimators that it is about."""
    about: dict[str, list[str]] = {}
    for name, estimate in estimates.items():
        if not estimate.holds:
            about.setdefault(estimate.why, []).append(estimator_name(name))
    return [f"(!) {' · '.join(names)} may not hold: {why}" for why, names in about.items()]


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


def estimate_table(
    estimates: Mapping[str, Estimate],
    undefined: Mapping[str, str],
    title: str = "Accuracy",
    column: str = "accuracy",
) -> HtmlTable:
    """One row an estimate, and below what a reader must know of them."""
    rows = [
        (estimator_name(name), value_text(e), interval_text(e), method_text(e))
        for name, e in estimates.items()
    ]
    outside = [OUTSIDE] if any(e.value != e.clipped for e in estimates.values()) else []
    return HtmlTable(
        title=title,
        columns=("estimator", column, "interval", "method"),
        rows=rows,
        notes=(*caution_lines(estimates), *note_lines(estimates, undefined), *outside),
    )
