"""Route questions to experts and bring their answers back.

examples: oversight label route
          oversight label export --folder questions
          oversight label import questions/*.csv
          oversight label simulate --key key.csv --abstention 0.03
          oversight label push        questions to Label Studio, see oversight label-studio
          oversight label pull        answers from Label Studio
          oversight label watch --until-width 0.06
          oversight label status
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from harness import BadInput, ConfigError
from harness.analysis import study_items, study_truth
from harness.cli import add_study, emit, study_of
from harness.config import Study
from harness.store import Store
from protocols.cli import label_studio_verbs as verbs_of_desk
from protocols.cli import panel_verbs
from protocols.collect import (
    SimulatedExperts,
    export_questions,
    read_answers,
    read_label_studio_export,
    read_pending_questions,
)
from protocols.routing import Sequential, next_questions, read_roster, routing_rule_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-verbs of ``oversight label``."""
    verbs = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    verb = {
        name: verbs.add_parser(name, help=text, description=text)
        for name, text in {
            "route": "draw the questions (of a panel: who rates what) and store them",
            "export": "write the open questions, one file per expert",
            "import": "read filled-in files; all or nothing",
            "simulate": "answer the open questions from a sealed key",
            "push": "send the questions to Label Studio, one project per expert",
            "pull": "bring answers from Label Studio; only what changed",
            "watch": "pull again and again, with progress and the running estimate",
            "close": "pull a last time and end the campaign",
            "status": "who was asked what, and what came back",
        }.items()
    }
    for sub in verb.values():
        add_study(sub)
        sub.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    export = verb["export"]
    export.add_argument("--folder", default="questions", help="default: %(default)s")
    export.add_argument("--format", choices=("csv", "jsonl"), default="csv", help="default: %(default)s")
    export.add_argument("--ratings", metavar="FILE", help="of a panel: write the ratings that are there")
    import_ = verb["import"]
    import_.add_argument("files", nargs="+", help="CSV or JSON Lines files that `label export` wrote")
    import_.add_argument(
        "--label-studio", action="store_true", help="the files are Label Studio's JSON exports (not JSON-MIN)"
    )
    verbs_of_desk.add_arguments(verb)
    simulate = verb["simulate"]
    simulate.add_argument("--key", help="sealed key (columns id,label); presets bring their own")
    simulate.add_argument("--sensitivity", type=float, default=1.0, help="P(yes | it is), default 1")
    simulate.add_argument("--specificity", type=float, default=1.0, help="P(no | it is not), default 1")
    simulate.add_argument("--abstention", type=float, default=0.0, help="P(unsure), default 0")
    simulate.add_argument("--seed", type=int, help="default: the study's")


def run(args: argparse.Namespace) -> int:
    """Run one sub-verb."""
    study = study_of(args)
    actions = {"route": _route, "export": _export, "import": _import, "simulate": _simulate}
    if study.experts.is_panel:
        actions |= panel_verbs.PANEL_ACTIONS
    return {**actions, **verbs_of_desk.STUDIO_ACTIONS}[args.action](args, study)


def _route(args: argparse.Namespace, study: Study) -> int:
    items = study_items(study)
    roster = read_roster(study.path(study.experts.roster))
    roster.check(items[0].options if study.items.classes or _same_options(items) else ())
    with Store(study.store_url) as store:
        if store.panel.read_assignments():
            raise ConfigError("this study is a panel already: start a new study for yes/no questions")
        plan = routing_rule_of(study, store, roster)
        questions = next_questions(plan, items, store.content.read_questions(), store.content.read_answers())
        store.content.add_items(items)
        new = store.content.add_questions(questions)
    experts = Counter(q.expert for q in questions)
    payload = {"questions": len(questions), "new": new, "experts": dict(experts)}
    text = f"{len(questions)} questions to {len(experts)} experts ({new} new)"
    text += "; next: oversight label export, or push"
    if isinstance(plan, Sequential) and not questions:
        text = "every item is resolved; next: oversight estimate"
    emit(args, payload, text)
    return 0


def _same_options(items: list[Any]) -> bool:
    return all(item.options == items[0].options for item in items)


def _export(args: argparse.Namespace, study: Study) -> int:
    if args.ratings:
        raise BadInput("--ratings is for panels; this study asks yes or no")
    with Store(study.store_url) as store:
        items, questions, answers = (
            store.content.read_items(),
            read_pending_questions(store),
            store.content.read_answers(),
        )
    answered = [a.question.id for a in answers]
    paths = export_questions(questions, {i.id: i for i in items}, answered, args.folder, args.format)
    names = [str(path) for path in paths]
    text = f"{len(questions) - len(answered)} open questions in {len(names)} files in {args.folder}"
    emit(args, {"files": names, "questions": len(questions) - len(answered)}, text)
    return 0


def _import(args: argparse.Namespace, study: Study) -> int:
    files = [Path(name) for name in args.files]
    with Store(study.store_url) as store:
        questions = read_pending_questions(store)
        if args.label_studio:
            roster = read_roster(study.path(study.experts.roster))
            items = {item.id: item for item in store.content.read_items()}
            replies = read_label_studio_export(files, questions, items, roster)
            read, new = len(replies), store.content.replies.add_replies(replies)
        else:
            answers = read_answers(files, questions)
            read, new = len(answers), store.content.add_answers(answers)
    emit(args, {"answers": read, "new": new}, f"{read} answers read, {new} new")
    return 0


def _simulate(args: argparse.Namespace, study: Study) -> int:
    if study.experts.is_panel:
        raise BadInput("label simulate answers yes/no questions; this study is a panel")
    with Store(study.store_url) as store:
        questions = read_pending_questions(store)
        truth = study_truth(study, args.key, store.content.read_items())
        experts = SimulatedExperts(
            truth,
            args.sensitivity,
            args.specificity,
            args.abstention,
            study.study.seed if args.seed is None else args.seed,
        )
        done = {a.question.id for a in store.content.read_answers()}
        new = store.content.add_answers(experts.answer(q for q in questions if q.id not in done))
    emit(args, {"new": new}, f"{new} questions answered by simulated experts")
    return 0
