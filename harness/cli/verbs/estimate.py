"""Estimate the accuracy of every model from the experts' yes/no answers, with intervals.

examples: oversight estimate
          oversight estimate --all
          oversight estimate --model small --open-key key.csv
          oversight estimate --set estimate.strata=ward
          oversight estimate --set 'estimate.metrics=["recall", "macro_f1"]'
          oversight estimate --counts '{"K": 4, "S_o": 77, "n_o": 120, "S_c": 321, "n_c": 360}'
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from oversight.harness.analysis import EstimateOptions, StudyReport, report_study, study_truth
from oversight.harness.cli.conventions import (
    add_key,
    add_models,
    add_settings,
    add_study,
    emit,
    parse_look,
    parse_numbers,
    parse_settings_alone,
    refuse_options,
    study_of,
)
from oversight.harness.config import Study
from oversight.harness.errors import BadInput
from oversight.harness.estimate import GoldCounts, estimate_counts
from oversight.harness.report import (
    FORMATS,
    classes_tables,
    counts_table,
    estimate_to_json,
    estimates_table,
    first_screen,
    format_accuracies,
    paper_report,
    study_to_json,
)
from oversight.harness.store import Store

if TYPE_CHECKING:
    from rich.console import RenderableType

_COUNTS = dict.fromkeys(("K", "S_o", "n_o", "S_c", "n_c"), int)
_WITH_COUNTS = {"counts", "settings", "estimators", "json", "study"}
_WITH_OPEN = {"settings", "anytime", "all", "json", "study"}
_GOLD = dict.fromkeys(("yes_on_true", "n_true", "no_on_false", "n_false"), int)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight estimate``."""
    add_study(parser)
    add = parser.add_argument
    add_models(parser, "name of a model that was run; may be repeated (default: all models)")
    add_key(parser)
    add(
        "--counts",
        help="estimate from counts instead of a study: a JSON object with K (number of options), n_o "
        "(ordinary labels), S_o (those equal to the model's answer), n_c (complementary labels) and S_c "
        "(those different from the model's answer)",
    )
    add_settings(parser, "estimate.level=0.9")
    add("--format", choices=FORMATS, help="print only the accuracies, as a table in this format")
    add("--all", action="store_true", help="show all estimators, notes and checks")
    add(
        "--estimators",
        choices=("paper",),
        help="paper: show the estimators Ord, Comp, IVW and ML of the partitioned-supervision paper",
    )
    add(
        "--look",
        metavar="J/L",
        help="widen the intervals for interim analysis J of L planned analyses, for example 2/5",
    )
    add(
        "--anytime",
        action="store_true",
        help="add an interval that stays valid if it is checked repeatedly while labels arrive; "
        "run the model on all items first",
    )
    add(
        "--joint",
        action="store_true",
        help="widen the intervals so that the intervals of all models hold jointly",
    )
    add(
        "--gold",
        help="correct for experts' errors, from counts of their answers to gold questions: a JSON object "
        "with yes_on_true, n_true, no_on_false, n_false",
    )


def run(args: argparse.Namespace) -> None:
    """Estimate and print."""
    if args.counts:
        _from_counts(args)
    else:
        study = study_of(args)
        (_from_open if study.is_open else _from_study)(args, study)


def _from_study(args: argparse.Namespace, study: Study) -> None:
    if args.format and (args.all or args.json):
        raise BadInput("--format prints the accuracies only; leave out --all and --json")
    options = _options(args, study)
    with Store(study.store_url) as store:
        truth = study_truth(study, args.open_key, store.content.read_items()) if args.open_key else None
        report = report_study(store, study, runs=args.model, truth=truth, options=options)
    emit(args, study_to_json(report), _texts(args, report, options))


def _from_open(args: argparse.Namespace, study: Study) -> None:
    """Estimate from a study of open answers; only some of the verb's options apply to it."""
    from oversight.harness.open_answers import estimate_study, read_judged, result_to_json, result_to_text

    refused = [name for name in vars(args) if name not in _WITH_OPEN]
    refuse_options(args, refused, "does not apply to a study of open answers; leave it out")
    with Store(study.store_url) as store:
        judged = read_judged(study, store)
    result = estimate_study(study, judged, anytime=args.anytime)
    emit(args, result_to_json(result, judged), result_to_text(result, judged))


def _texts(
    args: argparse.Namespace, report: StudyReport, options: EstimateOptions
) -> str | list[RenderableType]:
    if args.format:
        return format_accuracies(report, args.format).rstrip("\n")
    if options.published and not args.all:
        report = paper_report(report)
    elif not args.all:
        return first_screen(report, options)
    return [estimates_table(report), *classes_tables(report)]


def _options(args: argparse.Namespace, study: Study) -> EstimateOptions:
    look, looks = parse_look(args.look) if args.look else (0, 0)
    options, published = EstimateOptions.of_study(study), args.estimators == "paper"
    return replace(
        options,
        interval=None if published else options.interval,
        published=published,
        look=look,
        looks=looks,
        anytime=args.anytime,
        joint=args.joint,
        gold=GoldCounts(**parse_numbers("--gold", args.gold, _GOLD)) if args.gold else None,
    )


def _from_counts(args: argparse.Namespace) -> None:
    told = "--counts uses no study"
    refused = [name for name in vars(args) if name not in _WITH_COUNTS]
    refuse_options(args, refused, f"needs a study, but {told}; leave out one of the two")
    settings = parse_settings_alone(args, {"estimate.level", "estimate.interval"}, told)
    estimates = estimate_counts(
        **parse_numbers("--counts", args.counts, _COUNTS),
        level=settings.get("estimate.level", 0.95),
        interval=settings.get("estimate.interval"),
        published=args.estimators == "paper",
    )
    payload = {name: estimate_to_json(e) for name, e in estimates.items()}
    table = counts_table(estimates, estimates.undefined, f"From counts, {args.counts}")
    emit(args, {**payload, "undefined": dict(estimates.undefined)}, table)
