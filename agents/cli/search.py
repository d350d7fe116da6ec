"""Search for a better workflow, measured only by experts' yes/no answers.

example: oversight search start --dry-run
         oversight search start --on auto      runs programs on the nodes of a Ray cluster
         oversight search resume
         oversight search start --set search.tokens=2000000      stops before 2,000,000 tokens are exceeded
         oversight search show
         oversight search export winner.json
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oversight.harness import ConfigError
from oversight.harness.analysis import study_truth
from oversight.harness.cli import (
    add_json,
    add_settings,
    add_shared_terms,
    add_study,
    add_verbose,
    emit,
    read_workers,
    study_of,
)
from oversight.harness.config import Study
from oversight.harness.output import say
from oversight.harness.store import Store

if TYPE_CHECKING:
    from oversight.agents.search import SearchContext


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of ``oversight search``."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="start|resume|show|export")
    start = verbs.add_parser("start", help="start a search, or continue the one with the same settings")
    add_study(start)
    start.add_argument(
        "--dry-run",
        action="store_true",
        help="print the cost and the smallest detectable gain, without sending requests",
    )
    resume = verbs.add_parser("resume", help="continue an interrupted search")
    add_study(resume)
    resume.add_argument("search", nargs="?", help="id of the search (default: the latest search)")
    show = verbs.add_parser(
        "show", help="show the lineage, Pareto front and winner, scored with the current labels"
    )
    add_study(show)
    show.add_argument("search", nargs="?", help="id of the search (default: the latest search)")
    show.add_argument(
        "--page",
        metavar="FILE",
        help="write an HTML page with lineage, code differences and Pareto front",
    )
    show.add_argument(
        "--open-key",
        metavar="FILE",
        help="file with the true labels; shows true accuracies on the test items",
    )
    export = verbs.add_parser("export", help="write the winning workflow as a JSON file")
    add_study(export)
    export.add_argument("file", help=".json file to write")
    export.add_argument("search", nargs="?", help="id of the search (default: the latest search)")
    for sub in (start, resume):
        add_settings(sub, "search.tokens=2000000")
        add_verbose(sub)
        add_shared_terms(sub)
    for sub in (start, resume, show, export):
        add_json(sub)


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand, and return the exit code."""
    from oversight.agents.search import open_search, prepare_search, resume_search, whole_archive

    study = study_of(args)
    with Store(study.store_url) as store:
        if args.verb in ("show", "export"):
            with whole_archive():
                context = open_search(study, store, args.search)
                return (
                    _export(args, study, context)
                    if args.verb == "export"
                    else _show(args, study, store, context)
                )
        if not getattr(args, "dry_run", False):
            store.marks.refuse_mark()
        if args.verb == "resume":
            return _go(args, study, store, resume_search(study, store, args.search))
        seed = study.study.seed
        if args.dry_run:
            with store.rehearsing():
                return _price(args, study, prepare_search(study, store, seed, study.search))
        return _go(args, study, store, prepare_search(study, store, seed, study.search))


def _go(args: argparse.Namespace, study: Study, store: Store, context: SearchContext) -> int:
    from oversight.agents.search import continue_search, model_name, optimiser_name
    from oversight.harness.llm import RunTerms, collecting_rarely, run_in_loop

    _say_what_is_known(context)
    section = context.section
    names = {model_name(study, section.model), optimiser_name(study, section)} - {""}
    with collecting_rarely(), read_workers(args, [study.model(name) for name in sorted(names)]) as workers:
        terms = RunTerms(
            wait=args.wait,
            take_over=args.take_over,
            uncertain=args.uncertain or "retry",
            workers=workers,
        )
        ended = run_in_loop(continue_search(study, store, context, say, terms))
    say(f"{ended.proposals} proposals: {ended.reason}")
    return _show(args, study, store, context)


def _price(args: argparse.Namespace, study: Study, context: SearchContext) -> int:
    from oversight.agents.search import estimate_costs
    from oversight.harness.llm import run_in_loop

    _say_what_is_known(context)
    costs = run_in_loop(estimate_costs(study, context))
    emit(args, {"search": context.id, "costs": costs}, "\n".join(costs.lines()))
    return 0


def _say_what_is_known(context: SearchContext) -> None:
    for line in (*context.remarks, *context.describe_labels()):
        say(line)


def _export(args: argparse.Namespace, study: Study, context: SearchContext) -> int:
    from oversight.agents.search import WITHOUT_EXAMPLE, export_winner
    from oversight.harness.platform import write_whole

    path = Path(args.file)
    if path.suffix != ".json":
        raise ConfigError(f"search export: the file must end in .json, is {args.file!r}")
    study.refuse_own_file(args.file)
    write_whole(export_winner(context).write_json(), path)
    if WITHOUT_EXAMPLE in context.doubts:
        say(f"search {context.id}: {WITHOUT_EXAMPLE}")
    emit(args, {"search": context.id, "file": str(path)}, f"wrote {path}")
    return 0


def _show(args: argparse.Namespace, study: Study, store: Store, context: SearchContext) -> int:
    from oversight.agents.search import report_search
    from oversight.harness.report import search_text

    key = getattr(args, "open_key", None)
    truth = study_truth(study, key, store.content.read_items()) if key else None
    report = report_search(study, store, context, truth)
    payload: dict[str, Any] = {"search": report}
    text = search_text(report)
    if getattr(args, "page", None):
        payload["page"] = str(_write_page(study, store, context, args.page, truth))
        text += f"\nwrote {payload['page']}"
    emit(args, payload, text)
    return 0


def _write_page(
    study: Study, store: Store, context: SearchContext, path: str, truth: Mapping[str, int] | None
) -> Path:
    """Write one HTML file with a search and its candidates. Returns the file's path."""
    from oversight.agents.search import read_exported_parts
    from oversight.harness.view import read_frame, write_parts

    parts = dict(read_exported_parts(study, store, context.id, truth, context=context))
    frame = {**read_frame(study, store), "pages": ["search"]}
    note = f"Written by oversight search show: search {context.id}, its candidates and what they answered."
    return write_parts({"frame": frame, **parts}, [], path, note=note)
