"""Send questions to experts and collect their answers.

examples: oversight label route
          oversight label route --questions 300   draws items for 300 questions
          oversight label route --more 50 --second   asks again about items answered no
          oversight label export questions --format xlsx
          oversight label import questions/*.csv
          oversight label simulate --key key.csv --abstention 0.03
          oversight label push        sends questions to Label Studio, see oversight server
          oversight label pull        fetches answers from Label Studio
          oversight label watch --until-width 0.06
          oversight label serve       serves the answer page, see docs/answer-page.md
          oversight label codes ana   makes a new personal code for the answer page
          oversight label status
          oversight label audit       writes the audit trail, for oversight store verify
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module

from oversight.harness import BadInput
from oversight.harness.cli import add_actions, emit, study_of
from oversight.harness.config import Study
from oversight.harness.datasets import BadRows
from oversight.harness.output import counted, pool_text
from oversight.harness.store import ItemDraw
from oversight.protocols.collect import make_words
from oversight.protocols.routing import SecondDraw
from oversight.protocols.study_labels import (
    export_open,
    export_ratings,
    import_answers,
    read_draws,
    route_panel,
    route_questions,
    simulate_answers,
)

_VERDICTS = ("yes", "no", "unsure")


def route(args: argparse.Namespace, study: Study) -> None:
    """Draw the questions of the study, or the assignments of its panel."""
    panel = study.experts.is_panel
    if panel and (args.questions or args.more or args.second or study.experts.questions):
        raise BadInput(
            "--questions, --more, --second and questions under [experts] are for yes/no questions; this "
            "study is a panel"
        )
    numbers = {name: getattr(args, name) for name in ("questions", "more", "second")}
    drawn = route_panel(study) if panel else route_questions(study, **numbers)
    total, loads = drawn.asked.total(), drawn.asked.values()
    if panel:
        each = f"{min(loads)} to {max(loads)}" if min(loads) < max(loads) else f"{max(loads)}"
        text = (
            f"{counted(drawn.items, 'item')}, {drawn.each} of {drawn.annotators} annotators each: "
            f"{counted(total, 'rating')} to "
            f"give ({drawn.new} new), {each} per person; next: oversight label "
            "export, or push"
        )
    elif study.experts.statement.asks_on and not total:
        text = "every item is resolved; next: oversight estimate"
    else:
        text = f"{counted(total, 'question')} to {counted(len(loads), 'expert')} ({drawn.new} new)"
        text += drawn_text(drawn.draws) + "; next: oversight label export, or push"
    if drawn.second is not None:
        text += f"\n{_tell_second(drawn.second)}"
    if drawn.controls is not None:
        text += "".join(f"\n{line}" for line in drawn.controls.describe())
    what = "assignments" if panel else "questions"
    payload = {what: total, "new": drawn.new, "experts": dict(drawn.asked)}
    if drawn.controls is not None:
        payload["controls"] = drawn.controls.numbers
    if drawn.second is not None:
        found = drawn.second
        payload["second"] = {"drawn": len(found.questions), "of": found.left, "narrower": found.narrower}
    if drawn.draws:
        payload["drawn"] = [asdict(draw) for draw in drawn.draws]
    emit(args, payload, text)


def _tell_second(second: SecondDraw) -> str:
    """Describe the drawn second questions, and how much they should narrow the interval of ``Two-phase``."""
    text = (
        f"{counted(len(second.questions), 'second question')} about {len(second.questions)} of "
        f"{counted(second.left, 'item')} answered no"
    )
    if second.narrower < 1:
        text += (
            "; judging by the models' votes, the interval of Two-phase in oversight estimate --all should be "
            f"{1 - second.narrower:.0%} narrower than without them; all other accuracies, compare and gate "
            "do not use them"
        )
    return text


def drawn_text(draws: Sequence[ItemDraw]) -> str:
    """Return a text such as ``; 300 of 12,000 items drawn, by …``; empty if all items are asked about."""
    if not draws:
        return ""
    return f"; {pool_text(sum(draw.items for draw in draws), draws[0].pool)}, {draws[0].strata}"


def export_files(args: argparse.Namespace, study: Study) -> None:
    """Write the open questions to one file per person or, with ``--ratings``, write a panel's ratings."""
    panel = study.experts.is_panel
    if args.ratings and not panel:
        raise BadInput("--ratings is for panels; this study asks yes/no questions")
    if args.ratings:
        study.refuse_own_file(args.ratings)
        count = export_ratings(study, args.ratings)
        text = f"{counted(count, 'rating')} in {args.ratings}; next: oversight panel agree"
        emit(args, {"files": [args.ratings], "ratings": count}, text)
        return
    paths, left = export_open(study, args.folder, args.format)
    what, where = ("open rating", "") if panel else ("open question", f" in {args.folder}")
    text = f"{counted(left, what)} in {counted(len(paths), 'file')}{where}{drawn_text(read_draws(study))}"
    emit(args, {"files": list(map(str, paths)), "questions": left}, text)


def import_files(args: argparse.Namespace, study: Study) -> None:
    """Read filled-in files, long-form ratings, or Label Studio's JSON exports."""
    panel, is_export = study.experts.is_panel, _are_exports(args.files)
    if args.word and (panel or is_export):
        raise BadInput("--word is for files filled in with yes or no")
    if args.skip_bad and is_export:
        raise BadInput("--skip-bad is for filled-in files, not for exports of Label Studio")
    if args.change and is_export:
        raise BadInput("--change is for filled-in files, not for exports of Label Studio")
    words = make_words(*(_words_for(verdict, args.word) for verdict in _VERDICTS))
    skipped = BadRows() if args.skip_bad else None
    read, new = import_answers(
        study,
        args.files,
        label_studio=is_export,
        words=words,
        skipped=skipped,
        changes=args.change,
    )
    what, then = ("rating", "; next: oversight panel agree") if panel else ("answer", "")
    text, payload = (
        f"{counted(read, what)} read, {new} {'new or changed' if args.change else 'new'}{then}",
        {"answers": read, "new": new},
    )
    left = {} if skipped is None else {"skipped": skipped.number, "wrong": list(map(str, skipped.shown))}
    if skipped is not None and skipped.number:
        text = "\n".join([*skipped.lines(), f"{counted(skipped.number, 'wrong row')} left out", text])
    emit(args, payload | left, text)


def _are_exports(files: Sequence[str]) -> bool:
    """Whether the files are JSON exports of Label Studio.

    Raises
    ------
    BadInput
        If only some of the files are exports.
    """
    exports = [name for name in files if name.lower().endswith(".json")]
    if exports and len(exports) < len(files):
        raise BadInput(
            f"{exports[0]} is an export of Label Studio, but other files are filled-in files: import the two "
            "kinds with separate commands"
        )
    return bool(exports)


def _words_for(verdict: str, given: Sequence[str]) -> list[str]:
    """Return the words that ``--word WORD=VERDICT`` maps to one verdict."""
    parts = [text.rpartition("=") for text in given]
    if wrong := [text for text, part in zip(given, parts, strict=True) if part[2] not in _VERDICTS]:
        raise BadInput(f"--word: give WORD=yes, WORD=no or WORD=unsure, not {wrong[0]!r}")
    return [word for word, _, meant in parts if meant == verdict]


def simulate(args: argparse.Namespace, study: Study) -> None:
    """Answer the open questions from a sealed key."""
    rates = {name: getattr(args, name) for name in ("sensitivity", "specificity", "abstention")}
    new = simulate_answers(study, args.key, **rates)
    emit(args, {"new": new}, f"{counted(new, 'question')} answered by simulated experts")


def export_audit(args: argparse.Namespace, study: Study) -> None:
    """Write the audit to a file, and print its head (last hash), which another person should write down."""
    from oversight.harness.analysis import write_bundle

    done = write_bundle(study, args.file, comments=args.comments)
    counts = {name: done.counts.get(name, 0) for name in ("event", "answer")}
    text = (
        f"{counted(done.lines, 'line')} in {done.file}: {counted(counts['event'], 'event')}, "
        f"{counted(counts['answer'], 'answer')}"
    )
    if done.not_covered:
        text += (
            f", {done.not_covered:,} of them not covered, because they were stored by a version "
            "without an audit trail"
        )
    text += (
        f"\nhead: {done.head}\ngive the head to the person who checks the file with: oversight store verify "
        f"{done.file} --head HASH"
    )
    emit(args, asdict(done), text)


SUB_VERBS = {
    "route": ("label:route", "draw and store the questions, or the assignments of a panel"),
    "units": ("open_actions:show_units", "split open answers into units to be judged; write or correct them"),
    "export": ("label:export_files", "write the open questions to one file per expert"),
    "import": (
        "label:import_files",
        "import filled-in files; one wrong row rejects all, unless --skip-bad is given",
    ),
    "simulate": ("label:simulate", "answer the open questions from a sealed key"),
    "push": ("server_actions:push", "send the questions to Label Studio, one project per expert"),
    "pull": ("server_actions:pull", "fetch new and changed answers from Label Studio"),
    "watch": ("server_actions:watch", "pull repeatedly, showing progress and the current estimate"),
    "requeue": ("server_actions:requeue", "ask questions again if their answers do not count"),
    "reassign": ("experts:run_reassign", "give an expert's open questions to another expert"),
    "remind": ("experts:remind", "print reminders for experts with open questions; nothing is sent"),
    "close": ("server_actions:close", "pull a last time from Label Studio and end the campaign"),
    "serve": ("answer_actions:serve", "serve a page on which experts answer"),
    "codes": ("answer_actions:codes", "list, make or revoke experts' personal codes for the answer page"),
    "status": ("server_actions:show_status", "show the questions and answers per expert"),
    "audit": ("label:export_audit", "write the audit trail as a file that can be verified"),
}
"""Sub-verb → ``module:function`` in this package, imported when it is called, and the help text."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-verbs of ``oversight label``."""
    verb = add_actions(parser, {name: text for name, (_, text) in SUB_VERBS.items()})
    _add_route_arguments(verb["route"])
    option = verb["units"].add_argument
    option("file", nargs="?", metavar="FILE", help="CSV file to write the units to, for correction by hand")
    option(
        "--replace",
        metavar="FILE",
        help="replace the units by the corrected ones in this file; possible only before questions are drawn",
    )
    option = verb["export"].add_argument
    option("folder", nargs="?", default="questions", help="folder to write to (default: %(default)s)")
    option(
        "--format", choices=("csv", "xlsx", "jsonl"), default="csv", help="file format (default: %(default)s)"
    )
    option(
        "--ratings",
        metavar="FILE",
        help="panel studies: write the current ratings to this file instead of exporting questions",
    )
    _add_import_arguments(verb["import"])
    _add_simulate_arguments(verb["simulate"])
    again = "fetch every task, not only changed tasks"
    verb["pull"].add_argument("--full", action="store_true", help=again)
    without = "do not ask questions again if their answers do not count"
    verb["pull"].add_argument("--no-requeue", action="store_true", help=without)
    verb["remind"].add_argument(
        "expert", nargs="*", metavar="EXPERT", help="experts to remind (default: all)"
    )
    option = verb["reassign"].add_argument
    option("expert", metavar="EXPERT", help="expert whose unanswered questions are passed on")
    option("to", metavar="NAME", help="expert who takes over the unanswered questions")
    option("--reason", default="", help="reason to record in the audit trail")
    after = "delete the projects on the Label Studio server afterwards"
    verb["close"].add_argument("--delete", action="store_true", help=after)
    _add_page_arguments(verb["serve"], verb["codes"])
    option = verb["watch"].add_argument
    option(
        "--until-width", type=float, help="stop as soon as the interval of every model is at most this wide"
    )
    option("--once", action="store_true", help="pull once and stop")
    option = verb["audit"].add_argument
    option(
        "file", nargs="?", default="audit.jsonl", metavar="FILE", help="file to write (default: %(default)s)"
    )
    option(
        "--comments", action="store_true", help="include the texts of comments (default: only their hashes)"
    )


def _add_route_arguments(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    some = (
        "sample items until N questions have been planned (default: questions under [experts] in study.toml, "
        "or else all items)"
    )
    option("--questions", type=int, metavar="N", help=some)
    option("--more", type=int, metavar="N", help="draw further items, for N additional questions")
    seconds = (
        "with --more N: draw N second questions about items answered no; only oversight estimate uses them"
    )
    option("--second", action="store_true", help=seconds)


def _add_simulate_arguments(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option("--key", help="file with the true labels, in the columns id and label (not needed with a preset)")
    option(
        "--sensitivity",
        type=float,
        default=1.0,
        help="probability that an expert answers yes if the option is right (default: 1)",
    )
    option(
        "--specificity",
        type=float,
        default=1.0,
        help="probability that an expert answers no if the option is wrong (default: 1)",
    )
    option(
        "--abstention", type=float, default=0.0, help="probability that an expert answers unsure (default: 0)"
    )


def _add_import_arguments(verb: argparse.ArgumentParser) -> None:
    option = verb.add_argument
    read = "filled-in CSV, Excel or JSON Lines files from `label export`, or .json exports of Label Studio"
    option("files", nargs="+", help=f"{read} (not JSON-MIN)")
    other = "read WORD as yes, no or unsure, for example perhaps=unsure; may be repeated"
    option("--word", action="append", default=[], metavar="WORD=VERDICT", help=other)
    option("--skip-bad", action="store_true", help="skip rows that cannot be read, and list them")
    changed = 'replace answers of earlier files; the answer "withdraw" removes an earlier answer'
    option("--change", action="store_true", help=changed)


def _add_page_arguments(serve: argparse.ArgumentParser, links: argparse.ArgumentParser) -> None:
    for sub in (serve, links):
        option = sub.add_argument
        option("--port", type=int, default=8643, help="port of the answer page (default: %(default)s)")
        public = "URL under which a proxy offers the page, for example https://answers.example.org"
        option("--public-url", metavar="URL", help=public)
        option("--days", type=_days, help="number of days for which new codes are valid (default: 30)")
    listen = "address of this machine to listen at (default: 127.0.0.1, which other machines cannot reach)"
    serve.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help=listen)
    links.add_argument(
        "experts",
        nargs="*",
        metavar="EXPERT",
        help="experts whose sign-in codes are made or, with --revoke, revoked (default: list who has a code)",
    )
    links.add_argument(
        "--all",
        action="store_true",
        help="make new sign-in codes for all experts who have questions",
    )
    links.add_argument("--revoke", action="store_true", help="revoke the codes of the named experts")


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = 0.0
    if not 0 < days <= 3650:
        raise argparse.ArgumentTypeError(f"must be a number of days, above 0 and at most 3650, not {text!r}")
    return days


def run(args: argparse.Namespace) -> None:
    """Run the chosen sub-verb."""
    study = study_of(args)
    module, _, name = SUB_VERBS[args.action][0].partition(":")
    action = getattr(import_module(f"oversight.protocols.cli.{module}"), name)
    if study.is_open or args.action == "units":
        from oversight.protocols.cli.open_actions import find_action

        action = find_action(args.action, study, action)
    action(args, study)
