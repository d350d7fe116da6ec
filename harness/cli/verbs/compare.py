"""Compare models on the same items and the same expert answers.

With two models, the result is their difference with its interval and p-value. With three or more, it is a
ranking in which models that the data cannot tell apart share a rank; if no joint test exists (gold items,
the sign test), it is the difference of every pair. The test depends on how the questions were drawn:
McNemar's exact test if the answers show for every item whether a model is right (sequential protocol), the
paired estimator if propensities were recorded.

examples: oversight compare
          oversight compare --model large --model small --test sign
          oversight compare --by-class --set estimate.metrics=recall,macro_f1
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from oversight.harness.analysis import compare_study, compare_study_classes
from oversight.harness.cli.conventions import add_models, add_settings, add_study, emit, study_of
from oversight.harness.errors import BadInput
from oversight.harness.estimate import COMPARE_TESTS, Comparison, Ranking
from oversight.harness.output import counted, plain_table
from oversight.harness.report import (
    comparison_to_json,
    differences_table,
    differences_to_json,
    gather_cautions,
    gather_notes,
    questions_text,
)
from oversight.harness.types import level_text, method_words


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight compare``."""
    add_study(parser)
    add_models(parser, "name of a model to compare; may be repeated (default: all models except judges)")
    parser.add_argument(
        "--test",
        choices=COMPARE_TESTS,
        default="auto",
        help="test to use (default: auto, which chooses the test by the study's protocol)",
    )
    by_class = "compare by the metrics and costs under [estimate] in study.toml instead of accuracy"
    parser.add_argument("--by-class", action="store_true", help=by_class)
    add_settings(parser, "estimate.level=0.9")


def run(args: argparse.Namespace) -> None:
    """Compare and print."""
    (_compare_classes if args.by_class else _compare_accuracies)(args)


def _compare_classes(args: argparse.Namespace) -> None:
    if args.test != "auto":
        raise BadInput("--test does not apply to --by-class, which has only one test; leave --test out")
    study = study_of(args)
    if not (study.estimate.metrics or study.estimate.costs):
        raise BadInput("--by-class needs metrics or costs: set them under [estimate] in study.toml")
    found = compare_study_classes(study, args.model)
    emit(args, differences_to_json(found), differences_table(found))


def _compare_accuracies(args: argparse.Namespace) -> None:
    made = compare_study(study_of(args), args.model, test=args.test)
    pairs, ranking = made.found.pairs, made.found.ranking
    rests_on = (
        f"{made.items['predicted']} of {made.items['of']} items answered by all models, "
        + questions_text(**made.questions, pool=made.pool)
    )
    lines = [rests_on, *made.left_out, *filter(None, [made.remark]), *gather_notes(pairs)]
    cautions = gather_cautions(pairs)
    shown: list[RenderableType] = []
    if ranking is None:
        shown = [Text("\n".join(_answer_one(pairs[0])))] if len(pairs) == 1 else _answer_pairs(pairs)
        lines = [*_disagreements(pairs), *lines]
    else:
        level = level_text(ranking.level)
        told = f"\nModels that share a rank cannot be told apart (joint confidence level {level})."
        shown = [Text(_answer_many(ranking, pairs)), _ranking_table(ranking), Text(told)]
    warned = [Text("\n".join(cautions) + "\n")] if cautions else []
    emit(args, comparison_to_json(made), [*warned, *shown, *map(Text, lines)])


def _answer_one(c: Comparison) -> list[str]:
    """Return the question in words, its answer, and the difference with its interval."""
    interval = f"{100 * c.level:g} % interval {_interval(c)}"
    return [
        f"Is {c.first} better than {c.second}?   {_verdict(c)}",
        "",
        f"  {c.first} − {c.second}   {100 * c.difference:+.1f} points   {interval}   p = {c.p_value:.3g}",
        f"  {_evidence(c)}",
        "",
        *_what_fits(c),
    ]


def _verdict(c: Comparison) -> str:
    """Return whether the first model is better than the second, marked with (!) if this may not hold."""
    answer = {c.first: "Yes.", c.second: f"No, {c.second} is better.", "tie": "Not decided."}[c.verdict]
    return answer + ("" if c.holds else " (!)")


def _interval(c: Comparison) -> str:
    return f"{100 * c.low:+.1f} to {100 * c.high:+.1f}" + ("" if c.holds else " (!)")


def _evidence(c: Comparison) -> str:
    return f"from {counted(c.questions, 'answer')} about {counted(c.items, 'item')}; {method_words(c.method)}"


def _answer_pairs(pairs: Sequence[Comparison]) -> list[RenderableType]:
    """Return the answer for every pair of several models, with the differences and their joint intervals."""
    table = plain_table()
    table.add_column("models", overflow="fold")
    for name in ("points", "interval", "p"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("first is better?", overflow="fold")
    for c in pairs:
        found = f"{100 * c.difference:+.1f}", _interval(c), f"{c.p_value:.3g}"
        table.add_row(Text(f"{c.first} − {c.second}"), *found, Text(_verdict(c)))
    evidence = [f"  {line}" for line in dict.fromkeys(map(_evidence, pairs))]
    joint = f"\nIntervals and p-values hold jointly (joint confidence level {level_text(pairs[0].level)})."
    return [Text("Which model of each pair is better?\n"), table, Text("\n".join([*evidence, joint]))]


def _disagreements(pairs: Sequence[Comparison]) -> list[str]:
    """Return a line per pair whose interval and p-value, which may be of different methods, disagree."""
    return [
        f"{c.first} − {c.second}: the p-value decides; the interval, found by another method, "
        + ("excludes 0" if c.verdict == "tie" else "contains 0")
        for c in pairs
        if (c.verdict == "tie") != (c.low <= 0 <= c.high)
    ]


def _what_fits(c: Comparison) -> list[str]:
    """Return a line with the differences that the answers allow; nothing if the comparison is decided."""
    if c.verdict != "tie":
        return []
    ends = (f"{abs(100 * x):.0f} points {'worse' if x < 0 else 'better'}" for x in (c.low, c.high))
    return ["Given the answers, {} can be anything from {} to {}.".format(c.first, *ends)]


def _answer_many(ranking: Ranking, pairs: Sequence[Comparison]) -> str:
    """Return which of several models is best, or which cannot be distinguished from the best.

    The answer is marked with (!) if the interval of any difference from a first-ranked model may be invalid.
    """
    first = [name for name, (best, _) in zip(ranking.names, ranking.ranks, strict=True) if best == 1]
    *others, last = first
    answer = f"Not decided: {', '.join(others)} and {last} share the first rank" if others else last
    doubt = "" if all(c.holds for c in pairs if {c.first, c.second} & {*first}) else " (!)"
    return f"Which model is best?   {answer}.{doubt}\n"


def _ranking_table(ranking: Ranking) -> Table:
    table = plain_table()
    table.add_column("rank", no_wrap=True)
    table.add_column("model", overflow="fold")
    table.add_column("accuracy", justify="right", no_wrap=True)
    for name, value, (best, worst) in zip(ranking.names, ranking.values, ranking.ranks, strict=True):
        table.add_row(
            str(best) if best == worst else f"{best}–{worst}",
            name,
            f"{100 * min(1.0, max(0.0, value)):.1f} %"
            + ("" if 0 <= value <= 1 else f" ({100 * value:.1f} % as computed)"),
        )
    return table
