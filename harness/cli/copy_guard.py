"""Refuse verbs that collect or pay in a copy of a study, or in a database that it was moved from."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping

_READS: Mapping[str, Collection[str]] = {
    "run": (),
    "worker": (),
    "search": ("show", "export"),
    "label": ("status", "audit", "remind"),
    "experts": ("list", "quality"),
    "predictions": ("items", "export", "reread"),
}
"""Verbs that collect or pay, with those of their actions that only read."""


def refuse_copies(verb: str, args: argparse.Namespace) -> None:
    """Raise `StoreError` if a verb would collect or pay in a database that has such a mark."""
    reads = getattr(args, "action", None) in _READS.get(verb, ()) or getattr(args, "dry_run", False)
    if verb not in _READS or reads:
        return
    url = None if getattr(args, "join", None) else _find_url(args)  # who joins begins nothing
    if url is None:
        return
    from oversight.harness.store import Store, has_database

    if has_database(url):
        with Store(url) as store:
            store.marks.refuse_mark()


def _find_url(args: argparse.Namespace) -> str | None:
    """The study's database; None if the study file cannot be read, which the verb itself tells."""
    from oversight.harness.config import read_study
    from oversight.harness.errors import OversightError

    try:
        return read_study(args.study).store_url
    except (OversightError, OSError, AttributeError):
        return None
