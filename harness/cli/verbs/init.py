"""Look at the items and write a commented study.toml, a roster and a prompt to start from.

example: oversight init --classes cardiology,neurology,nephrology
         oversight init --items notes.csv --text question

The one data file of the folder is taken (CSV, JSON Lines, Parquet, Excel). Columns, classes, strata and a
limit on tokens are proposed from it: asked about on a terminal, and told otherwise.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path

from oversight.harness.analysis import (
    StudyProposal,
    begin_study,
    check_proposal,
    find_item_files,
    propose,
    refuse_study,
)
from oversight.harness.cli.conventions import emit, join_names, split_names
from oversight.harness.datasets import PRESETS
from oversight.harness.errors import BadInput
from oversight.harness.output import counted, did_you_mean


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight init``."""
    parser.add_argument("folder", nargs="?", default=".", help="where to write (default: here)")
    parser.add_argument("--items", help="file with the items (default: the one that is there)")
    parser.add_argument("--text", metavar="COLUMN", help="column with what is asked (default: looked for)")
    parser.add_argument("--classes", help="fixed classes, separated by commas")
    seed = "seed of every draw (default: a random one; a known seed is for examples, not for real studies)"
    parser.add_argument("--seed", type=int, help=seed)
    told = "models answer in words, which experts judge by criteria or sentences; see docs/open-answers.md"
    parser.add_argument("--open", action="store_true", help=told)
    parser.add_argument("--preset", choices=sorted(PRESETS), help="a public benchmark instead")


def run(args: argparse.Namespace) -> int:
    """Write the files that are not there yet; never overwrite one."""
    refuse_study(args.folder)
    if args.open:
        return _begin_open(args)
    asks = sys.stdin.isatty() and sys.stdout.isatty() and not args.json
    classes = split_names(args.classes or "")
    items, proposal = args.items, None
    if not args.preset:
        items = _find_items(args.folder, args.items, asks=asks)
        if items and Path(os.path.normpath(Path(args.folder) / items)).is_file():
            proposal = propose(os.path.normpath(Path(args.folder) / items), classes)
            proposal = replace(proposal, text=args.text) if args.text else proposal
            proposal = _ask(proposal, items) if asks else proposal
    files = begin_study(
        args.folder, items=items, proposal=proposal, classes=classes, preset=args.preset,
        seed=args.seed,
    )  # fmt: skip
    written = [str(path) for path in files]
    payload = {"written": written, "items": items, "proposal": proposal}
    told = [] if proposal is None or items is None else _tell(proposal, items)
    if proposal is None and not args.preset:
        told = [f"there is no data file yet: put the items into {items or 'items.jsonl'}"]
    told.append(f"wrote {', '.join(written)}; next: oversight items check")
    emit(args, payload, "\n".join(told))
    return 0


def _begin_open(args: argparse.Namespace) -> int:
    from oversight.harness.open_answers import begin_open_study  # with what reads rubrics

    if args.preset or args.classes:
        raise BadInput("--open: open answers are texts, without options; leave out --preset and --classes")
    items = _find_items(args.folder, args.items, asks=False)
    if items is None:
        raise BadInput("--open: name the file with the questions, as in --items questions.csv")
    done = begin_open_study(args.folder, items, name=args.name, text=args.text, seed=args.seed)
    payload = {"written": [str(path) for path in done.written], "items": items, "units": done.units}
    payload["fields"] = list(done.fields)
    told = f"{items}: units: {done.units}; fields: {', '.join(done.fields) or 'unknown'}"
    written = ", ".join(map(str, done.written))
    emit(args, payload, f"{told}\nwrote {written}; next: name the experts, then oversight run")
    return 0


def _find_items(folder: str, given: str | None, *, asks: bool) -> str | None:
    """The file with the items, as seen from the folder; None if there is none."""
    if given:
        if (Path(folder) / given).is_file():
            return given
        if Path(given).is_file():
            return os.path.relpath(given, folder)
        if meant := did_you_mean(Path(given).name, find_item_files(Path(folder, given).parent)):
            raise BadInput(f"{given}: there is no such file{meant}")
        return given
    found = find_item_files(folder)
    if len(found) > 1:
        names = ", ".join(found)
        if not asks:
            raise BadInput(f"several files could hold the items: {names}; name one with --items")
        chosen = _put(f"which file holds the items: {names}?", found[0])
        if chosen not in found:
            raise BadInput(f"there is no file {chosen!r} here; there are: {names}")
        return chosen
    if not found and (log := next(Path(folder).glob("*.eval"), None)):
        told = f"make items of it first: oversight predictions items {shlex.quote(log.name)}"
        raise BadInput(f"there are no items beside the log {log.name}; {told}")
    return found[0] if found else None


def _ask(proposal: StudyProposal, items: str) -> StudyProposal:
    """Have a person confirm or mend what was guessed; Enter takes what is in brackets."""
    sys.stdout.write(f"{items}: {proposal.rows} rows; columns: {', '.join(proposal.columns)}\n")
    text = _put("column with what is asked", proposal.text)
    classes = proposal.classes
    if not proposal.options:
        classes = tuple(split_names(_put("classes, separated by commas", join_names(classes))))
    meta = split_names(_put("columns to keep for strata", join_names(proposal.meta)))
    if unknown := [name for name in meta if name not in proposal.columns]:
        raise BadInput(f"there is no column {unknown[0]!r}; there are: {', '.join(proposal.columns)}")
    asked = replace(proposal, text=text, classes=classes, meta=tuple(meta))
    check_proposal(asked, items)
    return asked


def _put(question: str, default: str) -> str:
    return input(f"{question} [{default}] ").strip() or default


def _tell(found: StudyProposal, items: str) -> list[str]:
    """What was chosen, a line each."""
    options = found.options if isinstance(found.options, str) else ", ".join(found.options)
    said = {
        "id": found.id or "made from text and options",
        "text": found.text,
        "classes": join_names(found.classes),
        "options": "" if found.classes else options,
        "strata": join_names(found.meta),
        "left out": f"{found.label}, which looks like the truth" if found.label else "",
        "max_tokens": str(found.max_tokens),
    }
    return [
        f"{items}: {counted(found.rows, 'row')}",
        *(f"    {name}: {value}" for name, value in said.items() if value),
    ]
