"""Format the accuracies of a study as a table in CSV, Markdown or LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from oversight.harness.analysis import ModelReport, StudyReport
from oversight.harness.output import guard_cell, make_printable

FORMATS = ("csv", "markdown", "latex")
_COLUMNS = ("model", "accuracy", "low", "high", "level", "holds", "failed checks")
_LATEX = {x: "\\" + x for x in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_MARKDOWN = {x: "\\" + x for x in "\\`*_[]|"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def format_accuracies(report: StudyReport, kind: str) -> str:
    """Format one row per model: accuracy, interval, level, whether the interval is valid, failed checks.

    Parameters
    ----------
    kind
        One of `FORMATS`. CSV has shares with all digits; the other formats have per cent with one decimal.

    Returns
    -------
    str
        Table that ends with a line break. A model without an accuracy has empty cells.
    """
    if kind == "csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows(_exact_row(model) for model in report.models)
        return text.getvalue()
    rows = [_COLUMNS, *(_rounded_row(model) for model in report.models)]
    if kind == "markdown":
        return _to_markdown(rows)
    return _to_latex(rows)


def _failed(model: ModelReport) -> str:
    return " ".join(check.name for check in model.checks if check.passed is False)


def _exact_row(model: ModelReport) -> list[object]:
    e, name = model.accuracy, guard_cell(make_printable(model.name))
    numbers = ["", "", "", "", ""] if e is None else [e.value, e.low, e.high, e.level, e.holds]
    return [name, *numbers, _failed(model)]


def _rounded_row(model: ModelReport) -> list[str]:
    e = model.accuracy
    if e is None:
        return [model.name, "", "", "", "", "", _failed(model)]
    shares = (f"{100 * x:.1f} %" for x in (e.clipped, e.low, e.high))
    return [model.name, *shares, f"{100 * e.level:g} %", "yes" if e.holds else "NO", _failed(model)]


def _escape(text: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(x, x) for x in " ".join(make_printable(text).split()))


def _to_markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(_escape(cell, _MARKDOWN) for cell in row) + " |" for row in rows]
    rule = "|---|" + "---:|" * 4 + "---|---|"
    return "\n".join([lines[0], rule, *lines[1:]]) + "\n"


def _to_latex(rows: Sequence[Sequence[str]]) -> str:
    lines = [" & ".join(_escape(cell, _LATEX) for cell in row) + r" \\" for row in rows]
    body = [lines[0], r"\hline", *lines[1:]]
    return "\n".join([r"\begin{tabular}{lrrrrll}", *body, r"\end{tabular}"]) + "\n"
