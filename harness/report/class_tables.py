"""Results by class as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from oversight.harness.analysis import StudyReport
from oversight.harness.estimate import ClassComparison, Comparison
from oversight.harness.types import (
    caution_text,
    interval_text,
    method_text,
    method_words,
    note_lines,
    value_text,
)


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


def group_reasons(undefined: Mapping[str, str]) -> dict[str, str]:
    """Why results are withheld, those with the same reason in one line."""
    about = dict[str, list[str]]()
    for name, why in undefined.items():
        about.setdefault(why, []).append(name)
    return {", ".join(names): why for why, names in about.items()}
