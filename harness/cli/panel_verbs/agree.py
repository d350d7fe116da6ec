"""Measure how well annotators agree: Krippendorff's alpha, kappas and AC1, also per class and annotator.

examples: oversight panel agree ratings.csv
          oversight panel agree                                (the ratings of this study)
          oversight panel agree ratings.csv --measurement ordinal --classes low,medium,high --svg alpha.svg
          oversight panel agree ratings.jsonl --measurement interval --json
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from functools import partial
from itertools import islice
from typing import Any

from oversight.harness.analysis import class_values
from oversight.harness.arrays import FloatArray
from oversight.harness.cli.panel_verbs.panel_arguments import (
    add_panel,
    cluster_lines,
    emit_panel,
    read_panel,
)
from oversight.harness.output import plain_table
from oversight.harness.panel import LEVELS, RELIABLE, AgreementReport, Panel, measure_agreement, pairwise
from oversight.harness.plot import agreement
from oversight.harness.report import agreement_to_json, to_json
from oversight.harness.types import format_number

_ROWS = 20
"""Largest number of classes and of annotators in the printed tables; JSON has all."""
_MOST_IN_PAIRS = 50
"""Largest number of annotators for which JSON has Cohen's kappa of every pair."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight panel agree``."""
    add_panel(parser)
    told = "scale of the labels (default: nominal)"
    parser.add_argument("--measurement", choices=LEVELS, default="nominal", help=told)


def run(args: argparse.Namespace) -> None:
    """Compute and print agreement, and write the picture."""
    _, panel = read_panel(args)
    values = class_values(panel, args.measurement, f"--measurement {args.measurement}")
    report = measure_agreement(
        panel,
        args.measurement,
        values=values,
        confidence=args.level,
    )
    payload = agreement_to_json(report)
    if args.json and len(panel.annotators) <= _MOST_IN_PAIRS:
        payload["pairs"] = to_json(pairwise(panel))
    order = _name_order(panel, values) if args.measurement == "ordinal" else []
    emit_panel(args, payload, [*_text(report), *order], partial(agreement, report))


def _name_order(panel: Panel, values: FloatArray | None) -> list[str]:
    """Describe the order of classes that ordinal agreement used."""
    tied = defaultdict[float, list[str]](list)
    for name, number in zip(panel.classes, range(panel.K) if values is None else values, strict=True):
        tied[number].append(name)
    names = [" = ".join(tied[number]) for number in sorted(tied)]
    shown = names if len(names) <= _ROWS else [*names[: _ROWS // 2], "…", *names[-_ROWS // 2 :]]
    return [f"order of the classes{'' if values is None else ', by their numbers'}: {' < '.join(shown)}"]


def _answer(report: AgreementReport) -> list[str]:
    """Return lines that say whether the ratings are reliable, and the coefficient on which this depends."""
    a = report.alpha
    if a is None:
        return [
            "Are the ratings reliable?   Not known: alpha cannot be computed.",
            f"  {report.items} items, {report.annotators} annotators, {report.ratings} ratings",
            "",
        ]
    interval = ""
    answer = "Not decided."
    if a.low is not None and a.high is not None:
        interval = f"   {100 * a.level:g} % interval {a.low:.3f} – {a.high:.3f}{' (!)' if a.why else ''}"
        answer = "Yes." if a.low >= RELIABLE else "No." if a.high < RELIABLE else answer
    return [
        f"Are the ratings reliable?   {answer}",
        "",
        f"  Krippendorff's alpha ({report.level})   {a.value:.3f}{interval}",
        f"  reliable means at least {RELIABLE}, by Krippendorff's rule of thumb",
        f"  {report.items} items, {report.annotators} annotators, {report.ratings} ratings",
        "",
    ]


def _text(report: AgreementReport) -> list[Any]:
    table = plain_table("coefficient", "value")
    for name, value in (
        ("Fleiss' κ", report.fleiss),
        ("Gwet's AC1", report.ac1),
        ("Cohen's κ, mean of pairs", report.mean_cohen),
        ("agreeing pairs", report.observed),
    ):
        table.add_row(name, format_number(value))
    classes = plain_table("class", "α against the rest")
    for name, value in islice(report.categories.items(), _ROWS):
        classes.add_row(name, format_number(value) + (" *" if name in report.unreliable else ""))
    people = plain_table("annotator", "ratings", "agrees with others", "median κ")
    for p in report.people[:_ROWS]:
        people.add_row(p.name, str(p.ratings), format_number(p.agreement), format_number(p.median_kappa))
    notes = cluster_lines(report.items, report.clusters, report.assumptions, {})
    notes += [f"{name}: {reason}" for name, reason in report.undefined.items()]
    notes += [f"alpha: {note}" for note in (report.alpha.notes if report.alpha else ())]
    if report.unreliable:
        notes.append(f"* not reliable: below {RELIABLE} (Krippendorff's rule of thumb)")
    for rows, what in ((report.categories, "classes"), (report.people, "annotators")):
        if len(rows) > _ROWS:
            notes.append(f"--json prints {len(rows) - _ROWS:,} more {what}")
    return ["\n".join(_answer(report)), table, "", classes, "", people, "", *notes]
