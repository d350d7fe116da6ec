"""Which model is better, on the same items and the same expert answers.

Two models: their difference with interval and p-value; more: a ranking in which models that the
data cannot tell apart share ranks. How depends on how the questions were drawn: resolved items
give McNemar's exact test, any recorded propensities the paired estimator.

examples: oversight compare
          oversight compare --model large --model small --test sign
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from harness.analysis import compare_study
from harness.cli.conventions import add_study, emit, study_of
from harness.estimate import ADJUSTMENTS, COMPARE_TESTS, Comparison, Ranking


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight compare``."""
    add_study(parser)
    parser.add_argument("--model", action="append", help="models to compare (default: all that were run)")
    parser.add_argument(
        "--test", choices=COMPARE_TESTS, default="auto", help="default: what the protocol allows"
    )
    parser.add_argument("--adjust", choices=ADJUSTMENTS, default="max-z")
    parser.add_argument("--level", type=float, help="joint confidence level (default: the study's)")


def run(args: argparse.Namespace) -> int:
    """Compare and print."""
    found = compare_study(
        study_of(args), args.model, test=args.test, adjustment=args.adjust, level=args.level
    )
    table, payload = _pairs(found.pairs) if found.ranking is None else _ranking(found.ranking)
    emit(args, payload, table)
    return 0


def _pairs(pairs: Sequence[Comparison]) -> tuple[Table, dict[str, Any]]:
    table = Table("better?", "difference", "interval", "p", "method", "items", "answers", title="Comparison")
    for c in pairs:
        table.add_row(
            f"{c.first} = {c.second} (tie)" if c.verdict == "tie" else f"{c.verdict} is better",
            f"{c.first} − {c.second}: {100 * c.difference:+.1f}",
            f"{100 * c.low:+.1f} … {100 * c.high:+.1f} points",
            f"{c.p_value:.3g}",
            c.method + ("" if c.adjusted == "none" else f", {c.adjusted}"),
            str(c.items),
            str(c.questions),
        )
    return table, {"comparisons": [{**asdict(c), "verdict": c.verdict} for c in pairs]}


def _ranking(ranking: Ranking) -> tuple[Table, dict[str, Any]]:
    table, rows = Table("rank", "model", "accuracy", title=f"Ranking, joint level {ranking.level:.0%}"), []
    for name, value, (best, worst) in zip(ranking.names, ranking.values, ranking.ranks, strict=True):
        rows.append({"model": name, "accuracy": value, "ranks": [best, worst]})
        table.add_row(str(best) if best == worst else f"{best}–{worst}", name, f"{100 * value:.1f} %")
    table.caption = "models that share a rank cannot be told apart"
    return table, {"ranking": rows, **_pairs(ranking.comparisons)[1], "level": ranking.level}
