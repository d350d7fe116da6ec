"""The verbs of ``oversight label`` that need no server."""

from __future__ import annotations

import argparse

from harness import BadInput
from harness.cli import emit
from harness.config import Study
from protocols.study_labels import (
    export_open,
    export_ratings,
    import_answers,
    route_panel,
    route_questions,
    simulate_answers,
)


def route(args: argparse.Namespace, study: Study) -> int:
    """Draw the questions of the study, or who rates what in its panel."""
    panel = study.experts.is_panel
    drawn = (route_panel if panel else route_questions)(study)
    total, loads = drawn.asked.total(), drawn.asked.values()
    if panel:
        text = (
            f"{drawn.items} items, {drawn.each} of {drawn.annotators} annotators each: {total} ratings to "
            f"give ({drawn.new} new), {min(loads)} to {max(loads)} a person; next: oversight label "
            "export, or push"
        )
    elif study.experts.statement.asks_on and not total:
        text = "every item is resolved; next: oversight estimate"
    else:
        text = f"{total} questions to {len(loads)} experts ({drawn.new} new)"
        text += "; next: oversight label export, or push"
    what = "assignments" if panel else "questions"
    emit(args, {what: total, "new": drawn.new, "experts": dict(drawn.asked)}, text)
    return 0


def export_files(args: argparse.Namespace, study: Study) -> int:
    """Write what is open, one file per person, or the ratings of a panel that are there."""
    panel = study.experts.is_panel
    if args.ratings and not panel:
        raise BadInput("--ratings is for panels; this study asks yes or no")
    if args.ratings:
        count = export_ratings(study, args.ratings)
        text = f"{count} ratings in {args.ratings}; next: oversight agree"
        emit(args, {"files": [args.ratings], "ratings": count}, text)
        return 0
    paths, left = export_open(study, args.folder, args.format)
    what, where = ("ratings", "") if panel else ("questions", f" in {args.folder}")
    text = f"{left} open {what} in {len(paths)} files{where}"
    emit(args, {"files": list(map(str, paths)), "questions": left}, text)
    return 0


def import_files(args: argparse.Namespace, study: Study) -> int:
    """Read filled-in files, long-form ratings, or Label Studio's JSON exports."""
    read, new = import_answers(study, args.files, label_studio=args.label_studio)
    text = f"{read} answers read, {new} new"
    if study.experts.is_panel:
        text = f"{read} ratings read, {new} new; next: oversight agree"
    emit(args, {"answers": read, "new": new}, text)
    return 0


def simulate(args: argparse.Namespace, study: Study) -> int:
    """Answer the open questions from a sealed key."""
    rates = {name: getattr(args, name) for name in ("sensitivity", "specificity", "abstention")}
    new = simulate_answers(study, args.key, seed=args.seed, **rates)
    emit(args, {"new": new}, f"{new} questions answered by simulated experts")
    return 0
