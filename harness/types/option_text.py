"""Which of an item's options a text written by hand, or by another program, names."""

from __future__ import annotations

from collections.abc import Sequence


def find_option(options: Sequence[str], said: str) -> int | None:
    """Place of the option that a text is; letter case and blanks do not count where they tell none apart."""
    if said in options:
        return options.index(said)
    folded = list(map(fold_text, options))
    return folded.index(fold_text(said)) if folded.count(fold_text(said)) == 1 else None


def fold_text(text: str) -> str:
    """A text by which something is found: letter case and white space aside."""
    return " ".join(text.casefold().split())
