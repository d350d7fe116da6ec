"""Certify that a model is more accurate than the average annotator, without true labels.

examples: oversight panel certify ratings.csv --model predictions.csv
          oversight panel certify --model large               (ratings and predictions of this study)
          oversight panel certify ratings.csv --model p.csv --oracle some.csv --svg bounds.svg
          oversight panel certify
              --counts '{"L": 0.971, "U_e": 0.939, "N": 1821, "annotators": 3, "classes": 2}'
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from functools import partial
from typing import Any

from oversight.harness.cli.conventions import parse_numbers
from oversight.harness.cli.panel_verbs.panel_arguments import (
    add_model,
    add_panel,
    cluster_lines,
    emit_panel,
    read_panel,
)
from oversight.harness.errors import BadInput
from oversight.harness.panel import (
    CEILING_NAMES,
    EPSILON,
    SUPERHUMAN_TESTS,
    Alternative,
    AssumptionCheck,
    GrowthPoint,
    Superhuman,
    assess_alternative,
    assess_superhuman,
    assess_superhuman_from_counts,
    compute_bounds_by_size,
)
from oversight.harness.plot import certificate
from oversight.harness.report import certificate_to_json
from oversight.harness.types import format_number, level_text

_NEEDED = {"L": float, "U_e": float, "N": int, "annotators": int, "classes": int}
_OPTIONAL = {"disagreement": float}
Certified = tuple[Superhuman, tuple[GrowthPoint, ...], Alternative | None]
_SAID = {None: "cannot be checked", True: "holds", False: "FAILS"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight panel certify``."""
    add = parser.add_argument
    add_panel(parser)
    add_model(parser, required=False)
    add("--oracle", metavar="FILE", help="file with true labels of some items, used to check the assumptions")
    add(
        "--pool",
        action="store_true",
        help="compare the model with the whole pool from which these annotators were drawn at random",
    )
    told = (
        "split: bound model and annotators separately; paired: compare them item by item, with more power; "
        "choose before you see results (default: %(default)s)"
    )
    add("--test", choices=SUPERHUMAN_TESTS, default="split", help=told)
    told = "also test if the model can replace annotators, at a disadvantage of up to EPSILON (default: 0.2)"
    add("--alternative", type=float, nargs="?", const=EPSILON, metavar="EPSILON", help=told)
    told = f"use published numbers instead of ratings: a JSON object with {', '.join(_NEEDED)}"
    add("--counts", help=f"{told}; see docs/panels.md")


def run(args: argparse.Namespace) -> None:
    """Certify and print; "not certified" is a result, not an error."""
    found, points, replaced = _from_counts(args) if args.counts else _from_panel(args)
    payload, lines = certificate_to_json(found, points), _text(found)
    if replaced is not None:
        payload["alternative"] = asdict(replaced)
        lines += _alternative_lines(replaced)
    draw = partial(certificate, found, points) if points else None
    emit_panel(args, payload, lines, draw)


def _from_counts(args: argparse.Namespace) -> Certified:
    if args.ratings or args.model or args.svg or args.test != "split" or args.alternative is not None:
        told = "leave out the ratings, --model, --test, --alternative and --svg"
        raise BadInput(f"--counts replaces the ratings: {told}")
    counts = parse_numbers("--counts", args.counts, _NEEDED, _OPTIONAL)
    return assess_superhuman_from_counts(**counts, level=args.level), (), None


def _from_panel(args: argparse.Namespace) -> Certified:
    if not args.model:
        raise BadInput("give --model (a file with the model's labels, or a model of the study) or --counts")
    study, panel = read_panel(args)
    predicted = study.read_model(panel, args.model)
    oracle = study.read_labels(panel, args.oracle, "oracle", partial=True) if args.oracle else None
    found = assess_superhuman(
        panel,
        predicted,
        oracle=oracle,
        pool=args.pool or None,
        test=args.test,
        level=args.level,
    )
    replaced = None
    if args.alternative is not None:
        replaced = assess_alternative(panel, predicted, epsilon=args.alternative)
    return found, compute_bounds_by_size(panel, predicted) if args.svg else (), replaced


def _text(found: Superhuman) -> list[Any]:
    from rich.table import Table

    answer = (
        "Not shown." if not found.certified else "Only if assumptions hold." if found.conditions else "Yes."
    )
    verdict = found.verdict
    head = [
        f"Is the model better than the average annotator?   {answer}",
        "",
        f"  {verdict[0].upper() + verdict[1:]}.",
        f"  The model agrees with the annotators' aggregate label on {found.L:.1%} of {found.N} items "
        f"({level_text(found.level)} lower bound: {found.L_low:.1%}).",
        f"  Annotators per item: {found.annotators or 'varying'}.",
        "",
    ]
    limit = f"{level_text(found.level)} limit"
    table = Table("upper bound on mean annotator accuracy", "estimate", limit, "confidence: model exceeds it")
    for name, c in found.against.items():
        holds = name in found.valid
        mark = " ✓" if name in found.certified else "" if holds else " (does not hold here)"
        sure = f"{c.confidence:.5f}" if c.confidence > 0 else "none"
        table.add_row(CEILING_NAMES[name], f"{c.bound:.4f}", f"{c.high:.4f}", sure + mark)
    scores = Table("published score against U(e)", "S")
    for label, value in (("HMS", found.hms), ("OMS", found.oms), ("OMS at its optimum", found.oms_exact)):
        if value is not None:
            scores.add_row(label, format_number(value, 4))
    notes = [
        *_condition_lines(found),
        *cluster_lines(found.N, found.clusters, found.assumptions[:1], found.undefined),
        *map(str, found.notes),
        *_direct_lines(found),
    ]
    if found.check is not None:
        notes += _check_lines(found.check)
    shown = [scores] if scores.row_count else []
    return ["\n".join(head), table, *shown, *notes]


def _condition_lines(found: Superhuman) -> list[str]:
    """Describe the condition of a certificate, and the results that would refute the condition."""
    lines = []
    for c in found.conditions:
        lines += [
            f"  it is not known whether the condition is met: {c.unseen}",
            f"  the condition would be refuted by {c.refuted_by}",
        ]
    if found.conditions:
        lines.append(
            "  to check the assumptions, give the truth of some randomly drawn items with --oracle FILE"
        )
    return lines


def _direct_lines(found: Superhuman) -> list[str]:
    """Describe the cost of asking experts directly; empty if the model is certified without a condition."""
    if found.direct:
        name = "the direct route, without these assumptions" if found.certified else "the direct route"
        return [
            f"{name}: ask experts about items on which the model and a random annotator differ "
            f"({found.disagreement:.1%} of items). Questions for 80 % power, by the share of these items on "
            "which the model is right:",
            *(
                f"  {p.win_share:.0%}: {p.questions} questions, {p.screened} items screened"
                for p in found.direct
            ),
        ]
    if found.disagreement is None and (found.conditions or not found.certified):
        return [
            'to see the cost of the direct route, add "disagreement" to --counts: the share of items on '
            "which the model and a random annotator differ"
        ]
    return []


def _alternative_lines(found: Alternative) -> list[Any]:
    """Return the verdict of the alternative annotator test, with a row per annotator."""
    from rich.table import Table

    if found.passed is None:
        return [f"alternative annotator test: not computed: {found.why}"]
    said = "may replace" if found.passed else "is not shown to be good enough to replace"
    head = (
        f"alternative annotator test: the model {said} the annotators (ε {found.epsilon:g}): "
        f"winning rate {format_number(found.winning_rate, 2)}, advantage {format_number(found.advantage, 2)}"
    )
    note = (
        "column model: share of items on which the model agrees with the remaining annotators at least as "
        "well as this annotator does; column annotator: the reverse; ✓: the annotator's share exceeds the "
        "model's by less than ε, at a false discovery rate of 5 %"
    )
    table = Table("annotator", "items", "model", "annotator", "p")
    for duel in found.annotators:
        shares = (format_number(duel.model, 3), format_number(duel.human, 3))
        p = duel.why if duel.p is None else f"{duel.p:.3g}{' ✓' if duel.won else ''}"
        table.add_row(duel.annotator, str(duel.items), *shares, p)
    return [head, table, note]


def _check_lines(c: AssumptionCheck) -> list[str]:
    return [
        f"accuracy on the {c.oracle_items} items of --oracle: average annotator {c.human_accuracy:.4f}, "
        f"model {c.model_accuracy:.4f}, aggregate label {c.aggregate_accuracy:.4f}",
        f"  assumption 1: P(annotator right | another right) {format_number(c.right_given_right)} ≥ P(right) "
        f"{format_number(c.right)}: {_SAID[c.first_holds]}",
        f"  assumption 2, on the {c.wrong_items:.1f} items with a wrong aggregate label: P(model right) "
        f"{format_number(c.model_right)} ≥ P(model repeats the error) {format_number(c.model_repeats)}: "
        f"{_SAID[c.second_holds]}",
    ]
