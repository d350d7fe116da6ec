"""Check that the items, the roster and the prompt of a study fit together, or write the items as a file.

example: oversight items check
         oversight items export items.jsonl --key key.csv

Of a public benchmark `check` also says what became of its rows, beside the published numbers; `export` writes
its answers to the file of --key, and nowhere else.
"""

from __future__ import annotations

import argparse

from oversight.harness.analysis import advise_on_texts, check_items, write_items
from oversight.harness.cli.conventions import add_study, emit, study_of
from oversight.harness.config import Study
from oversight.harness.errors import BadInput
from oversight.harness.output import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight items``."""
    parser.add_argument("action", choices=["check", "export"])
    parser.add_argument("file", nargs="?", help="export: the file to write, JSON Lines")
    parser.add_argument("--key", metavar="FILE", help="export: write the answers that a preset brings here")
    add_study(parser)
    told = "leave wrong rows out and count them (to keep: skip_bad = true under [items])"
    parser.add_argument("--skip-bad", action="store_true", help=told)


def run(args: argparse.Namespace) -> int:
    """Read everything, store nothing."""
    study = study_of(args)
    if args.skip_bad:
        study = study.model_copy(update={"items": study.items.model_copy(update={"skip_bad": True})})
    return _export(args, study) if args.action == "export" else _check(args, study)


def _export(args: argparse.Namespace, study: Study) -> int:
    if not args.file:
        raise BadInput("export: name the file to write, as in: oversight items export items.jsonl")
    n = write_items(study, args.file, args.key)
    written = [name for name in (args.file, args.key) if name]
    emit(args, {"written": written, "items": n}, f"{counted(n, 'item')} written to {' and '.join(written)}")
    return 0


def _check(args: argparse.Namespace, study: Study) -> int:
    if given := args.file or args.key:
        raise BadInput(f"{given}: check writes nothing; did you mean export?")
    found = check_items(study)
    first = found.first
    payload = {
        "items": found.items,
        "items_by_number_of_options": found.by_options,
        "words": {"median": found.median_words, "longest": found.longest_words},
        "left_out": found.bad.number,
        "repeated_texts": {"texts": found.repeated.texts, "items": found.repeated.items},
        "first": {"id": first.id, "text": first.text[:200], "options": list(first.shown_options)},
    }
    options = ", ".join(f"K={k}: {n}" for k, n in found.by_options.items())
    text = f"{counted(found.items, 'item')} ({options}), median {found.median_words} words\n"
    if found.repeated.items:
        text += (
            f"{counted(found.repeated.texts, 'text')} in {found.repeated.items} items under different ids; "
            f"{advise_on_texts(study)}\n"
        )
    if found.preset:
        rows, left_out, whole = found.preset.rows, dict(found.preset.left_out), found.preset.whole
        published = {"rows": dict(found.preset.published), "items_of_the_paper": found.preset.printed}
        payload["preset"] = {"rows": rows, "left_out": left_out, "whole": whole, "published": published}
        text += "".join(f"{line}\n" for line in found.preset.lines())
    if found.bad.number:
        text += "\n".join([f"{counted(found.bad.number, 'wrong row')} left out:", *found.bad.lines(), ""])
    text += f"first: {first.id}: {first.text[:100]}\n       {' | '.join(first.shown_options)}"
    emit(args, payload, text)
    return 0
