"""Route questions to experts and bring their answers back.

examples: oversight label route
          oversight label export --folder questions
          oversight label import questions/*.csv
          oversight label simulate --key key.csv --abstention 0.03
          oversight label status
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cli.common import add_study, study_items, study_of, study_truth
from harness.cli.output import emit
from harness.cli.summary import newest_runs
from harness.errors import BadInput, ConfigError
from harness.store.repository import Repository
from harness.types import Question, Verdict
from protocols.experts import Roster, read_roster
from protocols.offline import export_questions, read_answers
from protocols.partitioned import Partitioned
from protocols.sequential import Sequential
from protocols.simulated import SimulatedExperts
from protocols.targeted import Targeted

if TYPE_CHECKING:
    from harness.config import Study


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-verbs of ``oversight label``."""
    verbs = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    verb = {
        name: verbs.add_parser(name, help=text, description=text)
        for name, text in {
            "route": "draw the questions and store them",
            "export": "write the open questions, one CSV file per expert",
            "import": "read filled-in files; all or nothing",
            "simulate": "answer the open questions from a sealed key",
            "status": "who was asked what, and what came back",
        }.items()
    }
    for sub in verb.values():
        add_study(sub)
        sub.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    verb["export"].add_argument("--folder", default="questions", help="default: %(default)s")
    verb["import"].add_argument("files", nargs="+", help="CSV or JSON Lines files")
    simulate = verb["simulate"]
    simulate.add_argument("--key", help="sealed key (columns id,label); presets bring their own")
    simulate.add_argument("--sensitivity", type=float, default=1.0, help="P(yes | it is), default 1")
    simulate.add_argument("--specificity", type=float, default=1.0, help="P(no | it is not), default 1")
    simulate.add_argument("--abstention", type=float, default=0.0, help="P(unsure), default 0")
    simulate.add_argument("--seed", type=int, help="default: the study's")


def run(args: argparse.Namespace) -> int:
    """Run one sub-verb."""
    study = study_of(args)
    actions = {
        "route": _route,
        "export": _export,
        "import": _import,
        "simulate": _simulate,
        "status": _status,
    }
    return actions[args.action](args, study)


def _route(args: argparse.Namespace, study: Study) -> int:
    items = study_items(study)
    roster = read_roster(study.path(study.experts.roster))
    roster.check(items[0].options if study.items.classes or _same_options(items) else ())
    with Repository(study.store_url) as store:
        stored = store.questions()
        plan = _plan(study, store, roster)
        if isinstance(plan, Sequential):
            questions = plan.next_questions(items, store.answers())
        else:
            questions = plan.route(items)
            _same_draw(stored, questions, plan.name)
        store.add_items(items)
        new = store.add_questions(questions)
    experts = Counter(q.expert for q in questions)
    payload = {"questions": len(questions), "new": new, "experts": dict(experts)}
    text = f"{len(questions)} questions to {len(experts)} experts ({new} new); next: oversight label export"
    if isinstance(plan, Sequential) and not questions:
        text = "every item is resolved; next: oversight estimate"
    emit(args, payload, text)
    return 0


def _plan(study: Study, store: Repository, roster: Roster) -> Partitioned | Targeted | Sequential:
    section, seed = study.experts, study.study.seed
    if section.protocol == "partitioned":
        return Partitioned(roster, seed, section.options_per_item)
    runs = newest_runs(store.runs(), section.models or None)
    predictions = {
        run["name"]: {p.item_id: p.option for p in store.predictions(run["id"]) if p.status != "failed"}
        for run in runs
    }
    if section.protocol == "sequential":
        return Sequential(roster, predictions, seed)
    return Targeted(
        roster,
        predictions,
        seed,
        section.epsilon,
        disagreements_only=section.protocol == "disagreement",
        name=section.protocol,
    )


def _same_options(items: list[Any]) -> bool:
    return all(item.options == items[0].options for item in items)


def _same_draw(stored: list[Question], drawn: list[Question], name: str) -> None:
    """Refuse a second draw over the first: propensities would be wrong, and looks could be chosen."""
    redrawn = {q.item_id for q in drawn}
    same = {(q.id, q.propensity, q.propensities) for q in drawn}
    for question in stored:
        if question.protocol != name or (
            question.item_id in redrawn
            and (question.id, question.propensity, question.propensities) not in same
        ):
            raise ConfigError(
                f"questions were drawn before by {question.protocol!r} with seed {question.seed} and "
                f"propensity {question.propensity:.3g}; protocol, seed, options_per_item and the models "
                "looked at cannot change once questions are drawn: start a new study"
            )


def _export(args: argparse.Namespace, study: Study) -> int:
    with Repository(study.store_url) as store:
        items, questions, answers = store.items(), _routed(store), store.answers()
    answered = [a.question.id for a in answers]
    paths = export_questions(questions, {i.id: i for i in items}, answered, args.folder)
    names = [str(path) for path in paths]
    text = f"{len(questions) - len(answered)} open questions in {len(names)} files in {args.folder}"
    emit(args, {"files": names, "questions": len(questions) - len(answered)}, text)
    return 0


def _import(args: argparse.Namespace, study: Study) -> int:
    with Repository(study.store_url) as store:
        answers = read_answers([Path(name) for name in args.files], _routed(store))
        new = store.add_answers(answers)
    emit(args, {"answers": len(answers), "new": new}, f"{len(answers)} answers read, {new} new")
    return 0


def _simulate(args: argparse.Namespace, study: Study) -> int:
    with Repository(study.store_url) as store:
        questions = _routed(store)
        truth = study_truth(study, args.key, store.items())
        experts = SimulatedExperts(
            truth,
            args.sensitivity,
            args.specificity,
            args.abstention,
            study.study.seed if args.seed is None else args.seed,
        )
        done = {a.question.id for a in store.answers()}
        new = store.add_answers(experts.answer(q for q in questions if q.id not in done))
    emit(args, {"new": new}, f"{new} questions answered by simulated experts")
    return 0


def _status(args: argparse.Namespace, study: Study) -> int:
    from rich.table import Table

    with Repository(study.store_url) as store:
        questions, answers = _routed(store), store.answers()
    asked = Counter(q.expert for q in questions)
    said = Counter((a.question.expert, a.verdict) for a in answers)
    table = Table("expert", "asked", "answered", *(v.value for v in Verdict), "open", title="Answers")
    payload = {}
    for expert, n in asked.items():
        verdicts = {v.value: said[expert, v] for v in Verdict}
        answered = sum(verdicts.values())
        payload[expert] = {"asked": n, "answered": answered, **verdicts, "open": n - answered}
        table.add_row(expert, str(n), str(answered), *map(str, verdicts.values()), str(n - answered))
    totals = {key: sum(p[key] for p in payload.values()) for key in ("asked", "answered", "open")}
    table.caption = f"{totals['asked']} asked, {totals['answered']} answered, {totals['open']} open"
    emit(args, {"experts": payload, **totals}, table)
    return 0


def _routed(store: Repository) -> list[Question]:
    questions = store.questions()
    if not questions:
        raise BadInput("no questions yet; draw them with: oversight label route")
    return questions
