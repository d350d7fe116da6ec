"""Check that the items, the roster and the prompt of a study fit together.

example: oversight items check
"""

from __future__ import annotations

import argparse
from collections import Counter

from harness.analysis import study_items, template_of
from harness.cli.conventions import add_study, emit, study_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``oversight items``."""
    parser.add_argument("action", choices=["check"])
    add_study(parser)


def run(args: argparse.Namespace) -> int:
    """Read everything, store nothing."""
    study = study_of(args)
    items = study_items(study)
    template_of(study)
    by_k = dict(sorted(Counter(len(item.options) for item in items).items()))
    words = sorted(len(item.text.split()) for item in items)
    payload = {
        "items": len(items),
        "items_by_number_of_options": by_k,
        "words": {"median": words[len(words) // 2], "longest": words[-1]},
        "first": {"id": items[0].id, "text": items[0].text[:200], "options": list(items[0].shown_options)},
    }
    options = ", ".join(f"K={k}: {n}" for k, n in by_k.items())
    text = f"{len(items)} items ({options}), median {words[len(words) // 2]} words\n"
    text += f"first: {items[0].id}: {items[0].text[:100]}\n       {' | '.join(items[0].shown_options)}"
    emit(args, payload, text)
    return 0
