"""All candidates of a search as a file holds them: what one's page says, of a thousand at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from oversight.agents.search.context import SearchContext
from oversight.agents.search.view.candidate import (
    PAGE,
    assemble_candidate,
    is_shown,
    order_counts,
    order_items,
    read_verdicts,
    tell_answer,
)
from oversight.harness import UNREADABLE
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
