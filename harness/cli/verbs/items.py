"""Check that the items, the roster and the prompt of a study fit together.

example: oversight items check
"""

from __future__ import annotations

import argparse

from harness.analysis import check_items
from harness.cli.conventions import add_study, emit, study_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight items``."""
    parser.add_argument("action", choices=["check"])
    add_study(parser)


def run(args: argparse.Namespace) -> int:
    """Read everything, store nothing."""
    found = check_items(study_of(args))
    first = found.first
    payload = {
        "items": found.items,
        "items_by_number_of_options": found.by_options,
        "words": {"median": found.median_words, "longest": found.longest_words},
        "first": {"id": first.id, "text": first.text[:200], "options": list(first.shown_options)},
    }
    options = ", ".join(f"K={k}: {n}" for k, n in found.by_options.items())
    text = f"{found.items} items ({options}), median {found.median_words} words\n"
    text += f"first: {first.id}: {first.text[:100]}\n       {' | '.join(first.shown_options)}"
    emit(args, payload, text)
    return 0
