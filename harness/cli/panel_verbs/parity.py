"""Compare how often humans and a model agree with the annotators' vote, grouped by the vote's certainty.

examples: oversight panel parity ratings.csv --model predictions.csv
          oversight panel parity ratings.csv --model predictions.csv --positive 1 --svg parity.svg
          oversight panel parity ratings.csv --model p.csv --humans ana,bo --voters cy,di,ed
          oversight panel parity ratings.csv --model p.csv --reference experts.csv   (human-level indices)
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from rich.table import Table

from oversight.harness.analysis import compare_with_reference
from oversight.harness.cli.conventions import split_names
from oversight.harness.cli.panel_verbs.panel_arguments import (
    add_model,
    add_panel,
    cluster_lines,
    emit_panel,
    read_panel,
)
from oversight.harness.panel import HumanLevel, Parity, Scores, Share, measure_parity
from oversight.harness.plot import parity
from oversight.harness.report import parity_to_json
from oversight.harness.types import format_number, level_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight panel parity``."""
    add = parser.add_argument
    add_panel(parser)
    add_model(parser, required=True)
    add("--humans", type=split_names, help="comma-separated annotators to evaluate (default: all)")
    add(
        "--voters",
        type=split_names,
        help="comma-separated annotators whose votes define the truth (default: all)",
    )
    add(
        "--circular",
        action="store_true",
        help="count an annotator's own vote for the truth, as some papers do; this favours annotators",
    )
    add("--positive", metavar="CLASS", help="also show precision, recall and F1 of this class")
    add(
        "--reference",
        metavar="FILE",
        help="file with experts' labels; adds the human-level indices HLPI and HLPRI",
    )


def run(args: argparse.Namespace) -> None:
    """Compare and print, and write the picture."""
    study, panel = read_panel(args)
    predicted = study.read_model(panel, args.model)
    found = measure_parity(
        panel,
        predicted,
        humans=args.humans,
        voters=args.voters,
        circular=args.circular,
        positive=args.positive,
        level=args.level,
    )
    level = None
    if named := args.reference or study.reference:
        reference = study.read_labels(panel, named, "reference", partial=True)
        level = compare_with_reference(panel, predicted, reference, found.humans)
    emit_panel(args, parity_to_json(found, level), _text(found, level), partial(parity, found))


def _answer(found: Parity) -> list[str]:
    """Return lines that say whether the model does as well as the humans, and by which difference."""
    gap = found.overall.delta
    answer = (
        "No, it does worse." if gap.low > 0 else "Yes, it does better." if gap.high < 0 else "Not decided."
    )
    if found.stratify:
        answer += " Each row is a range of certainty."
    low, value, high = (f"{100 * x:+.1f}" for x in (gap.low, gap.value, gap.high))
    doubt = "" if gap.holds else " (!)"
    return [
        f"Does the model do as well as the humans?   {answer}{doubt}",
        "",
        f"  human − model   {value} points   {100 * found.level:g} % interval {low} to {high}{doubt}   "
        f"p = {found.overall.p_value:.2g}",
    ]


def _text(found: Parity, level: HumanLevel | None) -> list[Any]:
    head = [
        *_answer(found),
        f"  {found.method} · {len(found.humans)} humans, {len(found.voters)} voters · "
        f"table in per cent, with {level_text(found.level)} intervals",
        "",
    ]
    units = ["items"] + (["clusters"] if found.clusters else [])
    table = Table("vote", *units, "expected", "P(≥80 %)", "human", "model", "human − model", "p")
    bins = (*found.bins, found.overall)
    for b in bins:
        table.add_row(
            b.name + (" *" if b.notes else ""),
            str(b.items),
            *([str(b.clusters)] if found.clusters else []),
            "–" if b.p_d is None else f"{100 * b.p_d:.1f}",
            "–" if b.at_least_80 is None else f"{b.at_least_80:.2g}",
            _cell(b.human),
            _cell(b.model),
            _cell(b.delta, "+"),
            f"{b.p_value:.2g}",
        )
    by_cluster = {} if found.overall.p_d is None else found.undefined
    notes = cluster_lines(found.overall.items, found.clusters, found.assumptions, by_cluster)
    if found.stratify:
        notes.append(
            "humans or model are right on less than 80 % of all items: use the rows of bins, not the last "
            "row (the 80 % rule)"
        )
    notes += [f"* {note}" for note in dict.fromkeys(note for b in bins for note in b.notes)]
    notes += [f"{b.name}: {note}" for b in bins for note in b.doubts]
    if level is not None:
        notes += _level_lines(level)
    return ["\n".join(head), table, *_detection(found), *notes]


def _three(s: Scores) -> str:
    parts = (s.precision, s.recall, s.f1)
    return " / ".join("–" if x is None else f"{100 * x.value:.1f}" for x in parts)


def _cell(s: Share, sign: str = "") -> str:
    value, low, high = 100 * s.value, 100 * s.low, 100 * s.high
    return f"{value:{sign}.1f} [{low:{sign}.1f}, {high:{sign}.1f}]" + ("" if s.holds else " (!)")


def _detection(found: Parity) -> list[Any]:
    rows = [(b, b.detection) for b in (*found.bins, found.overall) if b.detection is not None]
    columns = ("positive", "expected F1", "human P / R / F1", "model P / R / F1", "F1: human − model")
    table = Table("vote", *columns)
    for b, d in rows:
        both = [_three(d.human), _three(d.model)]
        expected = "–" if d.expected is None else f"{100 * d.expected.f1:.1f}"
        gap = "–" if d.delta_f1 is None else _cell(d.delta_f1, "+")
        table.add_row(b.name, f"{100 * d.positive:.1f}", expected, *both, gap)
    return [table] if rows else []


def _level_lines(level: HumanLevel) -> list[str]:
    (s,) = level.standings
    ranking = ", ".join(f"{name} {score:.3f}" for name, _, score in level.ranking[:12])
    return [
        f"agreement with the reference, by {level.measure}: {ranking}",
        f"HLPI {format_number(s.hlpi)} · HLPRI {s.hlpri:.3g}: the model is better than {s.better_than} "
        f"humans, on a par with {s.on_par}, worse than {s.worse_than} "
        f"({level.test}, {level.significance:.0%}, {level.correction})",
        *map(str, level.notes),
    ]
