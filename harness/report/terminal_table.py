"""The report of a study as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from oversight.harness.analysis import GateReport, ModelReport, StudyReport
from oversight.harness.report.estimate_words import (
    check_lines,
    cost_text,
    items_text,
    label_texts,
    questions_text,
)
from oversight.harness.report.expert_words import quality_lines
from oversight.harness.report.gate_words import evidence_text, explain_verdict, found_text, requirement_text
from oversight.harness.types import (
    OUTSIDE,
    Estimate,
    caution_lines,
    estimator_name,
    interval_text,
    method_text,
    note_lines,
    percent,
    reading_lines,
    value_text,
)


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
            table.add_row(
                model.name, estimator_name(name), value_text(e), interval_text(e), method_text(e), *truth
            )
        table.add_section()
    asked = questions_text(study.n_answers, study.n_questions, study.pool)
    lines = [*study.left_out, *(line for model in study.models for line in _notes(model, asked))]
    return Group(table, *map(Text, [*lines, *quality_lines(study.quality)]))


def gate_table(report: GateReport) -> RenderableType:
    """One row per bar and model; below it why one is undecided, and what would settle it."""
    names = ("verdict", "bar", "found", "against the other side", "answers")
    table = Table(*names, title=f"{report.study}: gate")
    lines = []
    for check in report.checks:
        row = [requirement_text(check), found_text(check), evidence_text(check), str(check.verdict.answers)]
        table.add_row(Text(check.verdict.verdict.upper()), *map(Text, row))
        lines += [f"{check.model}: {line}" for line in explain_verdict(check)]
    return Group(table, *map(Text, lines))


def counts_table(
    estimates: Mapping[str, Estimate], undefined: Mapping[str, str], title: str
) -> RenderableType:
    """Estimates from counts alone, below them what a reader must know."""
    table = Table("estimator", "accuracy", "s.e.", "interval", "method", title=title)
    for name, e in estimates.items():
        se = "" if e.se is None else percent(e.se)
        table.add_row(estimator_name(name), value_text(e), se, interval_text(e), method_text(e))
    lines = [*caution_lines(estimates), *note_lines(estimates, undefined), *_star(estimates)]
    return Group(table, *map(Text, lines))


def _star(estimates: Mapping[str, Estimate]) -> list[str]:
    return [OUTSIDE] if any(e.value != e.clipped for e in estimates.values()) else []


def _notes(model: ModelReport, asked: str) -> list[str]:
    """All that a reader must know beside the table: what is missing, what could not be estimated, checks."""
    lines = [*caution_lines(model.estimates), f"{items_text(model.items)}, {asked}"]
    if labels := label_texts(model):
        lines.append(", ".join(labels))
    lines += reading_lines(model.steps)
    if model.usd_per_correct is not None:
        lines.append(cost_text(model))
    lines += [*note_lines(model.estimates, model.undefined), *check_lines(model)]
    return [f"{model.name}: {line}" for line in lines] + _star(model.estimates)
