"""What a file that holds a search's page holds: all candidates, and the calls of the two that matter most.

All candidates of a search as a file holds them: what one's page says, of a thousand at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from typing import Any
from urllib.parse import urlencode

import numpy as np
import orjson

from oversight.agents.search.context import SearchContext
from oversight.agents.search.setup import open_search
from oversight.agents.search.view.candidate import (
    PAGE,
    assemble_candidate,
    find_search,
    is_shown,
    order_counts,
    order_items,
    read_verdicts,
    tell_answer,
)
from oversight.agents.search.view.candidate_item import tell_items
from oversight.agents.search.view.listed_searches import show_searches
from oversight.agents.search.view.search_parts import SearchParts
from oversight.harness import UNREADABLE
from oversight.harness.config import Study
from oversight.harness.store import STATUSES, SearchProgress, Store, split_into_batches
from oversight.harness.types import Item, Prediction

_PORTION = 200


class HeldCandidates:
    """Candidates of a search that is open; answers to the first items of each are read together.

    Parameters
    ----------
    store, search, context
        The database, and the search as it is there and as it was opened.
    """

    def __init__(self, store: Store, search: SearchProgress, context: SearchContext) -> None:
        self._store, self._search = store, search
        self._archive, self._table = context.archive, context.archive.table
        self._splits = {name: [item.id for item in part] for name, part in self._archive.splits.items()}
        # a place counts all items of the splits in their order, as on the candidate's own page
        self._ordered = order_items(self._splits)
        self._rows = dict[tuple[int, int, int, str], dict[str, Any]]()

    def describe(self, name: str) -> dict[str, Any]:
        """What the page of a candidate says, with its first items; equal rows of items are one object."""
        candidate = self._archive.candidates[name]
        return assemble_candidate(
            self._search,
            candidate,
            [self._archive.candidates[parent] for parent in candidate.parents],
            counts=order_counts(self._splits, self._counts.get(name, {})),
            hidden=[split for split in self._splits if not is_shown(self._search, split)],
            items=self._page(name),
        )

    @cached_property
    def _items(self) -> dict[str, Item]:
        return {item.id: item for part in self._archive.splits.values() for item in part}

    @cached_property
    def _answered(self) -> dict[str, tuple[int, list[tuple[int, int, int]]]]:
        """How much of what each candidate answered may be shown; place, option and status of a page of it."""
        ids = list(self._archive.candidates)
        items = [self._items[item] for _, item in self._ordered]
        shown = np.array([is_shown(self._search, split) for split, _ in self._ordered], np.bool_)
        there = self._table.is_there(ids, items) & shown
        option, status = self._table.read(ids, items)
        found = {}
        for j, name in enumerate(ids):
            places = np.flatnonzero(there[j])
            first = places[:PAGE]
            columns = (first, option[j, first], status[j, first])
            found[name] = len(places), list(zip(*(column.tolist() for column in columns), strict=True))
        return found

    @cached_property
    def _first(self) -> list[str]:
        """Items that are on the first page of any candidate."""
        places = {place for _, page in self._answered.values() for place, *_ in page}
        return [self._ordered[place][1] for place in sorted(places)]

    @cached_property
    def _verdicts(self) -> dict[str, list[dict[str, str]]]:
        portions = split_into_batches(self._first, _PORTION)
        found = (read_verdicts(self._store, [self._items[i] for i in portion]) for portion in portions)
        return {name: said for part in found for name, said in part.items()}

    @cached_property
    def _reasons(self) -> Mapping[tuple[str, str], str]:
        return self._store.candidate_columns.find_reasons(self._search.id, self._first)

    @cached_property
    def _counts(self) -> dict[str, dict[tuple[str, int], dict[str, int]]]:
        """Of each candidate, by split and replicate, how many answers have each status."""
        found: dict[str, dict[tuple[str, int], dict[str, int]]] = {}
        runs = defaultdict[int, list[str]](list)
        for candidate, run in self._table.rows:
            runs[run].append(candidate)
        for run, ids in runs.items():
            for split, items in self._archive.splits.items():
                failed = self._table.has_failed(ids, items, run)
                numbers = {
                    "failed": failed,
                    "unreadable": (self._table.options(ids, items, run) == UNREADABLE) & ~failed,
                    "answered": self._table.options(ids, items, run) >= 0,
                }
                sums = {status: where.sum(axis=1).tolist() for status, where in numbers.items()}
                for j, name in enumerate(ids):
                    if told := {status: of[j] for status, of in sums.items() if of[j]}:
                        found.setdefault(name, {})[split, run] = told
        return found

    def _page(self, name: str) -> dict[str, Any]:
        number, page = self._answered[name]
        rows = [self._row(name, *answer) for answer in page]
        more = str(rows[-1]["place"]) if number > len(rows) else None
        return {"rows": rows, "next": more, "in_all": number}

    def _row(self, name: str, place: int, option: int, status: int) -> dict[str, Any]:
        """A row of a page; the same whoever answered so."""
        split, item = self._ordered[place]
        reason = self._reasons.get((name, item), "")
        key = place, option, status, reason
        if key not in self._rows:
            chosen = None if option == UNREADABLE else option
            said = Prediction(item, chosen, STATUSES[status], reason)
            told = tell_answer(self._items[item], said, self._verdicts.get(item, []))
            self._rows[key] = {"place": place, "split": split, **told}
        return self._rows[key]


_ITEMS_TOLD = 10
"""Items whose calls are held, of winner and start each."""
_MOST_BYTES = 16_000_000


def read_exported_parts(
    study: Study,
    store: Store,
    search: str = "",
    truth: Mapping[str, int] | None = None,
    most_bytes: int = _MOST_BYTES,
    context: SearchContext | None = None,
) -> Iterator[tuple[str, Any]]:
    """Name and query, as the page asks for it, and payload of each part of a search's page.

    Parameters
    ----------
    search
        Its id; the newest without one.
    truth
        By item id; the page says how winner and start fare by that.
    most_bytes
        Of all candidates; the best come first, and the page says how many it holds.
    context
        The search, where it was opened before.

    Raises
    ------
    BadInput
        If there is no search of this id.
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
    held = HeldCandidates(store, progress, context)
    rows = sorted(shown.get("rows", ()), key=_rank)
    told = {shown["winner"], shown.get("start")} - {None}
    shown["held"], size = 0, 0
    for row in rows:
        asked = {"id": row["id"], "search": shown["id"]}
        candidate = held.describe(row["id"])
        size += len(orjson.dumps(candidate))
        if size > most_bytes:
            return
        shown["held"] += 1
        if row["id"] in told:  # equal rows of others are the same objects
            candidate["items"]["rows"] = [{**item} for item in candidate["items"]["rows"]]
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
