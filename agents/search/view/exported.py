"""The parts of a search's page in a file: all candidates, and calls of the winner and of the start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

import orjson

from oversight.agents.search.context import SearchContext
from oversight.agents.search.setup import open_search
from oversight.agents.search.view.candidate import CandidatePages, find_search
from oversight.agents.search.view.candidate_item import tell_items
from oversight.agents.search.view.listed_searches import show_searches
from oversight.agents.search.view.search_parts import SearchParts
from oversight.harness.config import Study
from oversight.harness.store import Store

_ITEMS_TOLD = 10
"""Number of items whose calls are included, for the winner and the start each."""
_MOST_BYTES = 16_000_000


def read_exported_parts(
    study: Study,
    store: Store,
    search: str = "",
    truth: Mapping[str, int] | None = None,
    most_bytes: int = _MOST_BYTES,
    context: SearchContext | None = None,
) -> Iterator[tuple[str, Any]]:
    """Yield name (with query, as the page requests it) and payload of each part of a search's page.

    Parameters
    ----------
    search
        Id of the search; empty for the newest.
    truth
        True options by item id, for the true accuracies of winner and start.
    most_bytes
        Size limit in bytes of all candidates; the best come first, and the page says how many it has.
    context
        The search, if it was opened before.

    Raises
    ------
    BadInput
        If the search does not exist.
    """
    parts = SearchParts()
    if context is None and store.searches.read_searches():
        context = parts.attempt("the search", partial(open_search, study, store, search or None), None)
    found = show_searches(study, store, search, truth, context)
    yield "search", found
    shown = found["search"]
    if shown is None or context is None:
        return
    progress, own = find_search(store, shown["id"]), context.archive.candidates
    pages = CandidatePages(store, progress)
    rows = sorted(shown.get("rows", ()), key=_rank)
    told = {shown["winner"], shown.get("start")} - {None}
    shown["held"], size = 0, 0
    for row in rows:
        asked = {"id": row["id"], "search": shown["id"]}
        candidate = pages.read_page(own[row["id"]])
        size += len(orjson.dumps(candidate))
        if size > most_bytes:
            return
        shown["held"] += 1
        if row["id"] in told:
            first = {item["id"]: item for item in candidate["items"]["rows"][:_ITEMS_TOLD]}
            splits = {name: item["split"] for name, item in first.items()}
            for name, page in tell_items(store, progress, own[row["id"]], splits).items():
                yield _key("candidate-item", **asked, item=name), page
                first[name]["is_kept"] = True
        yield _key("candidate", **asked), candidate


def _rank(row: dict[str, Any]) -> float:
    return -row["standing"]["mean"] if row["standing"] else 1.0


def _key(name: str, **params: str) -> str:
    return f"{name}?{urlencode(sorted(params.items()))}"
