"""The reports of a study as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from oversight.harness.analysis import GateReport, ModelReport, StudyReport
from oversight.harness.estimate import ClassComparison, Comparison
from oversight.harness.output import counted
from oversight.harness.report.estimate_words import (
    check_lines,
    cost_text,
    group_reasons,
    items_text,
    label_texts,
    quality_lines,
    questions_text,
)
from oversight.harness.report.gate_words import evidence_text, explain_verdict, found_text, requirement_text
from oversight.harness.types import (
    OUTSIDE,
    Estimate,
    caution_lines,
    caution_text,
    estimator_name,
    interval_text,
    method_text,
    method_words,
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


def classes_tables(study: StudyReport) -> list[RenderableType]:
    """A row a model and result, and below what a reader must know; empty where none are wanted."""
    models = [(model.name, model.classes) for model in study.models if model.classes is not None]
    if not models:
        return []
    table = Table("model", "result", "value", "interval", "method", title=f"{study.name}: results by class")
    lines = list[str]()
    for name, found in models:
        for result, e in found.items():
            interval = "\n".join(filter(None, (interval_text(e), caution_text(e))))
            # names of classes may hold what the table takes for markup
            table.add_row(name, Text(result), value_text(e), interval, method_text(e))
        table.add_section()
        lines += [f"{name}: {line}" for line in note_lines(found, group_reasons(found.undefined))]
    return [Group(table, *map(Text, lines))]


def differences_table(found: ClassComparison) -> RenderableType:
    """A row a result and pair of models, and below why some are withheld."""
    table = Table("result", "better?", "difference", "interval", "p", "method", title="Differences by class")
    for name, pairs in found.results.items():
        for c in pairs:
            table.add_row(Text(name), *_cells(c, cost=name == "cost"))
    notes = dict.fromkeys(str(note) for pairs in found.results.values() for c in pairs for note in c.notes)
    cautions = dict.fromkeys(
        f"(!) the interval may not hold: {c.why}" for pairs in found.results.values() for c in pairs if c.why
    )
    withheld = [f"{name}: no difference: {why}" for name, why in group_reasons(found.undefined).items()]
    return Group(table, *map(Text, [*found.left_out, *cautions, *notes, *withheld]))


def _cells(c: Comparison, *, cost: bool) -> list[str]:
    low, value, high = (f"{x:+.4g}" if cost else f"{100 * x:+.1f}" for x in (c.low, c.difference, c.high))
    return [
        f"{c.first} = {c.second} (tie)" if c.verdict == "tie" else f"{c.verdict} is better",
        f"{c.first} − {c.second}: {value}",
        f"{low} … {high}" + ("" if cost else " points") + ("" if c.holds else " (!)"),
        f"{c.p_value:.3g}",
        method_words(c.method) + ("" if c.adjusted == "none" else f", {c.adjusted}"),
    ]


def gate_screen(report: GateReport) -> RenderableType:
    """The verdict, then each bar with what was found, why one is undecided and what would settle it."""
    blocks = [f"{report.verdict.upper()}   gate of {report.study}"]
    for check in report.checks:
        told = "" if len(report.checks) == 1 else f"   {check.verdict.verdict.upper()}"
        found = f"{found_text(check)} from {counted(check.verdict.answers, 'answer')}"
        lines = [f"{requirement_text(check)}{told}", f"  found {found}; {evidence_text(check)}"]
        blocks.append("\n".join([*lines, *(f"  {line}" for line in explain_verdict(check))]))
    return Text("\n\n".join(blocks))


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
