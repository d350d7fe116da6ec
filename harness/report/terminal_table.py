"""The report of a study as a table for the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.analysis import ESTIMATOR_NAMES, ModelReport, StudyReport
from harness.report.pages import percent
from harness.types import Counts, Estimate


def estimates_table(study: StudyReport) -> RenderableType:
    """One row per model and estimator; below it what a reader must know."""
    table = Table(title=f"{study.name}: accuracy without ground truth")
    table.add_column("model", no_wrap=True)
    table.add_column("estimator", no_wrap=True)
    table.add_column("accuracy", justify="right")
    table.add_column("interval", justify="center")
    table.add_column("method")
    if study.opened:
        table.add_column("true", justify="right")
    for model in study.models:
        truth = ["" if model.truth is None else percent(model.truth)] if study.opened else []
        for name, e in model.estimates.items():
            value = percent(e.clipped) + ("*" if e.value != e.clipped else "")
            ends = f"{percent(e.low)} – {percent(e.high)}"
            table.add_row(model.name, ESTIMATOR_NAMES.get(name, name), value, ends, method(e), *truth)
        table.add_section()
    return Group(table, *(Text(line) for model in study.models for line in notes(model)))


def notes(model: ModelReport) -> list[str]:
    """All that a reader must know beside the table: missing and unreadable answers, failed checks."""
    counts = next((e.n for e in model.estimates.values()), Counts())
    parts = [
        f"{number} {what}"
        for number, what in (
            (counts.ordinary, "yes (ordinary labels)"),
            (counts.complementary, "no (complementary labels)"),
            (counts.abstained, "questions abstained from"),
            (counts.unreadable, "labelled items with an unreadable answer (count as wrong)"),
            (counts.failed, "labelled items without an answer (excluded)"),
            (counts.unlabelled, "items without a label"),
        )
        if number
    ]
    lines = [f"{model.name}: {', '.join(parts)}"] if parts else []
    if model.usd_per_correct is not None:
        lines.append(f"{model.name}: {cost(model)}")
    lines += [f"{model.name}: {name}: {reason}" for name, reason in model.undefined.items()]
    failed = [c for c in model.checks if not c.passed]
    lines += [f"{model.name}: check {c.name!r}: {c.message}" for c in failed]
    if model.checks and not failed:
        lines.append(f"{model.name}: all {len(model.checks)} checks of the assumptions passed")
    if any(e.value != e.clipped for e in model.estimates.values()):
        lines.append("* outside 0–100 % before clipping for display")
    return lines


def cost(model: ModelReport) -> str:
    """``$1.2340 in all, $0.0042 per right answer [$0.0039, $0.0046]``; empty without a price."""
    if model.usd is None:
        return ""
    total = f"${model.usd:.4f} in all"
    if model.usd_per_correct is None:
        return total
    each, low, high = model.usd_per_correct
    end = "∞" if high is None else f"${high:.3g}"
    return f"{total}, ${each:.3g} per right answer [${low:.3g}, {end}]"


def method(estimate: Estimate) -> str:
    """``exact 95 %``, with the name of the interval as a person writes it."""
    return f"{estimate.interval.replace('_', '-').replace('+', ' + ')} {estimate.level:.0%}"
