"""Import model answers from another program, extract items from its log, or export answers or scores.

`reread` parses the stored replies again with the current parser and with the pattern of study.toml, if it is
set. It prints what would change; with --write it also stores the changes.

`scores` writes a score for each answer of a model that experts confirmed or refuted. Use the file with:
inspect score --scorer inspect_ai/precomputed_scores -S scores=FILE --metric oversight/expert_accuracy

example: oversight predictions import logs/2026-11-21_questions.eval --model gpt-5-mini
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

from oversight.harness.cli.conventions import add_actions, emit, study_of
from oversight.harness.datasets import READERS, tell_left_out
from oversight.harness.errors import BadInput
from oversight.harness.output import counted, shorten
from oversight.harness.types import reading_lines

if TYPE_CHECKING:
    from oversight.harness.analysis import ImportedRun, RunRereading


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of ``oversight predictions``."""
    actions = add_actions(parser, {name: told for name, (_, told, _) in ACTIONS.items()})
    for name, (_, _, file) in ACTIONS.items():
        if file:
            actions[name].add_argument("file", help=file)
    for name in ("import", "items"):
        told = "format of the log (default: detected from the file name)"
        actions[name].add_argument("--format", choices=list(READERS), help=told)
    for name in ("import", "scores"):
        actions[name].add_argument("--model", required=True, help="name of the model in the study")
    told = "file to write the items to (default: %(default)s)"
    actions["items"].add_argument("items", nargs="?", default="items.jsonl", metavar="ITEMS", help=told)
    actions["reread"].add_argument("--model", help="read only this model's replies again")
    told = "store the changed answers (default: only report them)"
    actions["reread"].add_argument("--write", action="store_true", help=told)


def run(args: argparse.Namespace) -> None:
    """Perform one of the five actions."""
    if args.action in ("import", "scores") and not args.model:
        raise BadInput("give the model a name with --model")
    ACTIONS[args.action][0](args)


def _reread(args: argparse.Namespace) -> None:
    from oversight.harness.analysis import reread_study

    study = study_of(args)
    found = reread_study(study, args.model, study.prompt.pattern, write=args.write)
    lines = [line for run in found for line in _describe_rereading(run)]
    unchanged = "nothing was stored; to store the changes, run the same command with --write"
    lines.append("the new readings are stored" if args.write else unchanged)
    emit(args, {"written": args.write, "runs": [asdict(run) for run in found]}, "\n".join(lines))


def _describe_rereading(run: RunRereading) -> list[str]:
    changes = ", ".join(f"{n} × {kind}" for kind, n in run.changes.items()) or "no answer changes"
    lines = [f"{run.name} ({run.run}): {counted(run.answers, 'answer')} read again: {changes}"]
    if run.noted:
        lines.append(
            f"    {run.noted} replies keep their answer; only the parsing step or the reason changes"
        )
    if run.left:
        why = "failed, filtered, from a workflow, or from a log (import the log again)"
        lines.append(f"    {run.left} not read again: {why}")
    lines += [
        f"    item {e['item']}: {e['before']} → {e['after']}: {shorten(e['reply'][-200:])}"
        for e in run.examples
    ]
    more = sum(run.changes.values()) - len(run.examples)
    return lines + ([f"    … and {more} more"] if more else [])


def _import(args: argparse.Namespace) -> None:
    from oversight.harness.analysis import import_predictions

    found = import_predictions(study_of(args), args.file, args.model, args.format)
    counts = ", ".join(f"{n} {status}" for status, n in found.by_status.items())
    text = f"{args.model}: {counted(found.answers, 'answer')} to {counted(found.items, 'item')}; {counts}"
    if found.missing:
        text += f"; no answer to {counted(found.missing, 'item')} of the study"
    if found.replaces:
        text += (
            "\n    estimates now use these answers; the answers of run "
            f"{found.replaces} are kept, but not used"
        )
    for line in _describe_lost(found):
        text += f"\n    {line}"
    if found.left_out:
        text += f"\n    left out: {tell_left_out(found.left_out)}"
    if found.unchecked:
        text += f"\n    texts that could not be compared with the items' texts: {found.unchecked:,}"
    if found.unread:
        text += f"\n    columns that are not read: {', '.join(found.unread)}"
    for line in reading_lines(found.read_by):
        text += f"\n    {line}"
    if found.ended:
        text += f"\n    the log is incomplete ({found.ended}); the answers in it were read"
    names = ("run", "answers", "items", "errors", "ended", "left_out", "read_by")
    payload: dict[str, object] = {name: getattr(found, name) for name in names}
    payload |= {"texts_checked": found.checked, "texts_unchecked": found.unchecked}
    payload |= {status.value: n for status, n in found.by_status.items()}
    payload |= {"replaces": found.replaces} if found.replaces else {}
    payload |= {"unknown_letters": found.unknown_letters} if found.unknown_letters else {}
    payload |= {"unread": found.unread} if found.unread else {}
    emit(args, payload, text)


def _describe_lost(found: ImportedRun) -> list[str]:
    lines = []
    if found.errors:
        noun = "answer ended with an error and counts as a failed prediction"
        if found.errors > 1:
            noun = "answers ended with errors and count as failed predictions"
        lines.append(f"{found.errors} {noun}; for example: {found.error}")
    if n := found.unknown_letters:
        noun = "answer is" if n == 1 else "answers are"
        why = "the log does not say which option their letter or number denotes"
        lines.append(f"{n:,} {noun} unreadable, because {why}")
    return lines


def _write_items(args: argparse.Namespace) -> None:
    from oversight.harness.analysis import write_log_items

    path = args.items
    made = write_log_items(args.file, path, args.format)
    text = f"wrote {counted(made.items, 'item')} to {path}"
    if made.answers > made.items:
        text += f" from {counted(made.answers, 'sample')}"
    text += "; next, if there is no study yet: oversight init"
    if made.left_out:
        text += f"\n    left out: {tell_left_out(made.left_out)}"
    emit(args, {"written": path, "items": made.items, "left_out": dict(made.left_out)}, text)


def _write_scores(args: argparse.Namespace) -> None:
    from oversight.harness.analysis import write_scores
    from oversight.harness.report import estimate_to_json

    study = study_of(args)
    study.refuse_own_file(args.file)
    made = write_scores(study, args.file, args.model)
    payload = {"written": args.file, "right": made.right, "wrong": made.wrong, "unscored": made.unscored}
    text = f"wrote {counted(made.right + made.wrong, 'score')} to {args.file}: {made.right} confirmed, "
    text += f"{made.wrong} refuted; {counted(made.unscored, 'item')} unscored\n{made.estimate}"
    emit(args, payload | {"estimate": estimate_to_json(made.estimate)}, text)


def _export(args: argparse.Namespace) -> None:
    from oversight.harness.analysis import export_predictions

    study = study_of(args)
    study.refuse_own_file(args.file)
    n = export_predictions(study, args.file)
    emit(args, {"written": args.file, "rows": n}, f"wrote {counted(n, 'answer')} to {args.file}")


ACTIONS: dict[str, tuple[Callable[[argparse.Namespace], None], str, str]] = {
    "import": (_import, "store a model's answers from a log or a table", "log file to read"),
    "items": (_write_items, "write the items of a log to a file", "log file to read"),
    "export": (_export, "write all stored answers to a file", ".csv, .jsonl or .parquet file to write"),
    "scores": (_write_scores, "score each answer that experts confirmed or refuted", ".jsonl file to write"),
    "reread": (_reread, "parse the stored replies again", ""),
}
"""Action → its function, its help text, and the meaning of its file (empty if it takes no file)."""
