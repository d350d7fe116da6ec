"""Write a commented study.toml, a roster and a prompt for a new study, based on its items.

example: oversight init --classes cardiology,neurology,nephrology
         oversight init --classes '"yes, at once","no"'          put a name with a comma in quotes
         oversight init --items notes.csv --text question --encoding windows-1252
         oversight init --model gpt-5-mini --endpoint https://api.openai.com/v1
         oversight init ../second --from . --protocol disagreement

The items are read from the folder's only data file (CSV, JSON Lines, Parquet or Excel). The command proposes
columns, classes, strata and a token limit. On a terminal it asks you to confirm each proposal; otherwise it
prints them. On a terminal it also asks what you want to know, and chooses the protocol from your answer.
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
    copy_study,
    find_item_files,
    propose,
    refuse_study,
)
from oversight.harness.cli.conventions import emit, join_names, refuse_options, split_names
from oversight.harness.config import OPENAI
from oversight.harness.datasets import PRESETS
from oversight.harness.errors import BadInput
from oversight.harness.output import counted, did_you_mean
from oversight.harness.platform import write_whole
from oversight.harness.registry import AIMS, DEFAULT_PROTOCOL, OPEN_PROTOCOL, PROTOCOLS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight init``."""
    add = parser.add_argument
    add("folder", nargs="?", default=".", help="folder to write the study to (default: the current folder)")
    add("--items", help="file with the items (default: the only data file in the folder)")
    add(
        "--text", metavar="COLUMN", help="column with the text of each item (default: detected from the file)"
    )
    add("--classes", help="comma-separated classes, the same for every item")
    seed = (
        "seed of every random draw (default: random); set a known seed only in examples, not in real studies"
    )
    add("--seed", type=int, help=seed)
    told = (
        "evaluate open answers: models answer in free text, and experts judge the answers; see "
        "docs/open-answers.md"
    )
    add("--open", action="store_true", help=told)
    add("--preset", choices=sorted(PRESETS), help="use the items of this public benchmark instead of a file")
    drawn = "method of drawing questions; see docs/choose.md (default: partitioned)"
    add("--protocol", choices=[name for name in PROTOCOLS if name != OPEN_PROTOCOL], help=drawn)
    add(
        "--model",
        metavar="NAME",
        help="model to evaluate, under the name its endpoint uses (default: a small local model)",
    )
    add("--endpoint", metavar="URL", help=f"base URL of the model's endpoint (default: {OPENAI})")
    copied = "folder of a study whose classes, experts, models and settings are copied"
    add("--from", dest="source", metavar="STUDY", help=copied)
    recoded = (
        "encoding of a CSV or JSON Lines items file that is not in UTF-8; the command writes a UTF-8 copy"
    )
    add("--encoding", metavar="NAME", help=recoded)


def run(args: argparse.Namespace) -> None:
    """Write the missing files; never overwrite a file."""
    refuse_study(args.folder)
    if args.endpoint and not args.model:
        raise BadInput("--endpoint: also name the model, as in --model gpt-5-mini")
    (_begin_like if args.source else _begin_open if args.open else _begin)(args)


def _begin(args: argparse.Namespace) -> None:
    asks = sys.stdin.isatty() and sys.stdout.isatty() and not args.json
    protocol = args.protocol or (_choose_protocol() if asks else DEFAULT_PROTOCOL)
    classes = split_names(args.classes or "")
    items, proposal = args.items, None
    if not args.preset:
        items = _find_items(args.folder, args.items, asks=asks)
        if args.encoding:
            items = _recode(args.folder, items, args.encoding)
        if items and (path := Path(os.path.normpath(Path(args.folder) / items))).is_file():
            proposal = propose(path, classes)
            proposal = replace(proposal, text=args.text) if args.text else proposal
            proposal = _ask(proposal, items) if asks else proposal
    files = begin_study(
        args.folder, items=items, proposal=proposal, classes=classes, preset=args.preset,
        seed=args.seed, protocol=protocol, model=args.model, endpoint=args.endpoint or OPENAI,
    )  # fmt: skip
    written = [str(path) for path in files]
    payload = {"written": written, "items": items, "proposal": proposal}
    told = [] if proposal is None or items is None else _tell(proposal, items)
    if proposal is None and not args.preset:
        told = [f"there is no data file yet: put the items into {items or 'items.jsonl'}"]
    told.append(f"wrote {', '.join(written)}; next: oversight items check")
    emit(args, payload, "\n".join(told))


def _begin_like(args: argparse.Namespace) -> None:
    """Start a study with the settings of another study."""
    refused = ("text", "classes", "preset", "open", "model", "endpoint", "encoding")
    told = "does not apply with --from, which copies the study's settings; change study.toml afterwards"
    refuse_options(args, refused, told)
    items = _find_items(args.folder, args.items, asks=False) if args.items else None
    files = copy_study(args.source, args.folder, items=items, protocol=args.protocol, seed=args.seed)
    written = [str(path) for path in files]
    payload = {"written": written, "items": items, "from": args.source}
    emit(args, payload, f"wrote {', '.join(written)}; next: oversight items check")


def _choose_protocol() -> str:
    """Ask for the user's aim. Returns the protocol for this aim."""
    sys.stdout.write("What do you want to know?\n")
    for number, aim in enumerate(AIMS, start=1):
        sys.stdout.write(f"  {number}  {aim}\n")
    chosen = _put("number", "1")
    if chosen not in map(str, range(1, len(AIMS) + 1)):
        raise BadInput(f"give a number from 1 to {len(AIMS)}, not {chosen!r}")
    return [*AIMS.values()][int(chosen) - 1]


def _recode(folder: str, items: str | None, encoding: str) -> str:
    """Write a UTF-8 copy of the items file beside it. Returns the new name relative to the folder."""
    path = Path(os.path.normpath(Path(folder) / (items or "")))
    if items is None or path.suffix.lower() not in (".csv", ".tsv", ".jsonl"):
        raise BadInput("--encoding is only for CSV and JSON Lines files of items; name one with --items")
    copy = path.with_stem(f"{path.stem}-utf-8")
    if copy.exists():
        raise BadInput(
            f"--encoding: the UTF-8 copy {copy} exists already; remove this copy, or name it with --items"
        )
    try:
        text = path.read_bytes().decode(encoding)
    except LookupError:
        raise BadInput(f"--encoding: {encoding!r} is unknown; try windows-1252 or iso-8859-1") from None
    except UnicodeError as error:
        raise BadInput(f"--encoding: {path} is not {encoding}: {error}") from None
    write_whole(text.removeprefix("\ufeff"), copy)
    return os.path.relpath(copy, folder)


def _begin_open(args: argparse.Namespace) -> None:
    # The import is slow, because it loads the readers of rubrics, so it is not at the top.
    from oversight.harness.open_answers import begin_open_study

    if args.preset or args.classes:
        raise BadInput("--open: open answers are texts, without options; leave out --preset and --classes")
    items = _find_items(args.folder, args.items, asks=False)
    if items is None:
        raise BadInput("--open: name the file with the questions, as in --items questions.csv")
    done = begin_open_study(args.folder, items, text=args.text, seed=args.seed)
    payload = {"written": [str(path) for path in done.written], "items": items, "units": done.units}
    payload["fields"] = list(done.fields)
    told = f"{items}: units: {done.units}; fields: {', '.join(done.fields) or 'unknown'}"
    written = ", ".join(map(str, done.written))
    emit(args, payload, f"{told}\nwrote {written}; next: name the experts, then oversight run")


def _find_items(folder: str, given: str | None, *, asks: bool) -> str | None:
    """Return the path of the items file, relative to the folder; None if none is named or found."""
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
            raise BadInput(f"several files could contain the items: {names}; name one with --items")
        chosen = _put(f"which file contains the items: {names}?", found[0])
        if chosen not in found:
            raise BadInput(f"there is no file {chosen!r} here; there are: {names}")
        return chosen
    if not found and (log := next(Path(folder).glob("*.eval"), None)):
        told = f"extract the items from the log first: oversight predictions items {shlex.quote(log.name)}"
        raise BadInput(f"the folder has a log, {log.name}, but no items file; {told}")
    return found[0] if found else None


def _ask(proposal: StudyProposal, items: str) -> StudyProposal:
    """Let the user confirm or correct the proposals; Enter accepts the value in brackets."""
    sys.stdout.write(f"{items}: {proposal.rows} rows; columns: {', '.join(proposal.columns)}\n")
    text = _put("column with the text of the question", proposal.text)
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
    """Return the chosen settings, one per line."""
    options = found.options if isinstance(found.options, str) else ", ".join(found.options)
    unfit = "id, whose values must all be different and not empty: correct them first"
    said = {
        "id": found.id or (unfit if "id" in found.columns else "computed from text and options"),
        "text": found.text,
        "classes": join_names(found.classes),
        "options": "" if found.classes else options,
        "columns kept for strata": join_names(found.meta),
        "left out": f"{found.label}, which looks like the truth" if found.label else "",
        "max_tokens": str(found.max_tokens),
    }
    return [
        f"{items}: {counted(found.rows, 'row')}",
        *(f"    {name}: {value}" for name, value in said.items() if value),
    ]
