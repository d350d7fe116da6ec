"""The verbs of ``oversight label`` in a study whose protocol is a panel."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from harness import ConfigError
from harness.analysis import study_items
from harness.cli import emit
from harness.config import Study
from harness.store import Store
from protocols.collect import (
    export_assignments,
    read_label_studio_export,
    read_panel,
    read_pending_assignments,
    write_ratings,
)
from protocols.routing import next_assignments, panel_rule_of, read_roster


def route(args: argparse.Namespace, study: Study) -> int:
    """Give every item to its annotators, and store who has what."""
    items = study_items(study)
    roster = read_roster(study.path(study.experts.roster))
    plan = panel_rule_of(study, roster)
    with Store(study.store_url) as store:
        if store.content.read_questions():
            raise ConfigError("this study has yes/no questions already: start a new study for a panel")
        panel = store.panel
        drawn = next_assignments(plan, items, panel.read_assignments(), roster)
        store.content.add_items(items)
        new = panel.add_assignments(drawn)
    loads = Counter(a.annotator for a in drawn)
    text = (
        f"{len(items)} items, {plan.n} of {len(plan.annotators)} annotators each: {len(drawn)} ratings to "
        f"give ({new} new), {min(loads.values())} to {max(loads.values())} a person; next: oversight label "
        "export, or push"
    )
    emit(args, {"assignments": len(drawn), "new": new, "experts": dict(loads)}, text)
    return 0


def export(args: argparse.Namespace, study: Study) -> int:
    """Write the open assignments, one file per annotator, or the ratings that are there."""
    with Store(study.store_url) as store:
        panel, items = store.panel, {i.id: i for i in store.content.read_items()}
        given, ratings = read_pending_assignments(store), panel.read_ratings()
        rated = {c.assignment.id for c in panel.read_choices()}
    if args.ratings:
        write_ratings(ratings, args.ratings)
        text = f"{len(ratings)} ratings in {args.ratings}; next: oversight agree"
        emit(args, {"files": [args.ratings], "ratings": len(ratings)}, text)
        return 0
    paths = [str(p) for p in export_assignments(given, items, rated, args.folder, args.format)]
    left = len(given) - len(rated)
    emit(args, {"files": paths, "questions": left}, f"{left} open ratings in {len(paths)} files")
    return 0


def import_(args: argparse.Namespace, study: Study) -> int:
    """Read filled-in files, long-form ratings, or Label Studio's JSON exports."""
    files = [Path(name) for name in args.files]
    with Store(study.store_url) as store:
        panel, items = store.panel, {i.id: i for i in store.content.read_items()}
        given = read_pending_assignments(store)
        if args.label_studio:
            roster = read_roster(study.path(study.experts.roster))
            replies = read_label_studio_export(files, given, items, roster)
            read, new = len(replies), panel.replies.add_replies(replies)
        else:
            choices = read_panel(files, given, items)
            read, new = len(choices), panel.add_choices(choices)
    emit(args, {"answers": read, "new": new}, f"{read} ratings read, {new} new; next: oversight agree")
    return 0


PANEL_ACTIONS = {"route": route, "export": export, "import": import_}
