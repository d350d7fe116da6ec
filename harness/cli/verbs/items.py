"""Check that the items, the roster and the prompt of a study fit together.

example: oversight items check
"""

from __future__ import annotations

import argparse

from harness.analysis import check_items
from harness.cli.conventions import add_study, emit, study_of
from harness.output import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight items``."""
    parser.add_argument("action", choices=["check"])
    add_study(parser)
    told = "leave wrong rows out and count them (to keep: skip_bad = true under [items])"
    parser.add_argument("--skip-bad", action="store_true", help=told)


def run(args: argparse.Namespace) -> int:
    """Read everything, store nothing."""
    study = study_of(args)
    if args.skip_bad:
        study = study.model_copy(update={"items": study.items.model_copy(update={"skip_bad": True})})
    found = check_items(study)
    first = found.first
    payload = {
        "items": found.items,
        "items_by_number_of_options": found.by_options,
        "words": {"median": found.median_words, "longest": found.longest_words},
        "left_out": found.bad.number,
        "first": {"id": first.id, "text": first.text[:200], "options": list(first.shown_options)},
    }
    options = ", ".join(f"K={k}: {n}" for k, n in found.by_options.items())
    text = f"{counted(found.items, 'item')} ({options}), median {found.median_words} words\n"
    if found.bad.number:
        text += "\n".join([f"{counted(found.bad.number, 'wrong row')} left out:", *found.bad.lines(), ""])
    text += f"first: {first.id}: {first.text[:100]}\n       {' | '.join(first.shown_options)}"
    emit(args, payload, text)
    return 0
