"""The items of a study page by page: by position, forward and backward, each page as fast as the first.

A page is found by the position where the last one ended, never by a number of items to leave out. So pages
that follow one another hold every item once although items are stored meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from oversight.harness.analysis.item_pages.item_columns import AskedQuestions, ItemColumns
from oversight.harness.analysis.item_pages.item_filter import ItemFilter
from oversight.harness.analysis.item_pages.matching import find_name, match_columns
from oversight.harness.arrays import BoolArray, IntArray
from oversight.harness.columns import ItemValues, mark
from oversight.harness.errors import BadInput
from oversight.harness.store import Store

MOST_ITEMS = 500
"""On one page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedItem:
    """An item on a page; `position` is its place in the study's source."""

    position: int
    id: str
    text: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPage:
    """Some of the items that a filter finds, in source order.

    Attributes
    ----------
    matches, of
        How many items the filter finds, of how many there were when the columns were read.
    before
        The page in front of this one ends before this position; None if there is none.
    after
        The page behind this one begins after this position; None if there is none.
    """

    items: tuple[PagedItem, ...]
    matches: int
    of: int
    before: int | None
    after: int | None


class StudyItems:
    """The items of a study with the columns that filters are evaluated on, as they were when read.

    The columns take 13 bytes a question and two a prediction for as long as this is kept, and more while they
    are read, as an estimate does. A column of strata is read when it is first asked for, and kept: 8 bytes an
    item, and its different values.

    Parameters
    ----------
    store
        The study's database; the words of items and the rows of a page are read there.
    columns
        What was asked and predicted.
    strata
        Columns of strata that were read before, by name.
    """

    def __init__(
        self, store: Store, columns: ItemColumns, strata: dict[str, ItemValues] | None = None
    ) -> None:
        self._store, self._columns = store, columns
        self._strata = dict[str, ItemValues]() if strata is None else strata

    @classmethod
    def read(cls, store: Store) -> Self:
        """Read what was asked and answered, and the newest run of every model."""
        return cls(store, _read_columns(store))

    def read_again(self) -> Self:
        """The same as it is now; columns of strata are kept, as items never change."""
        columns = _read_columns(self._store)
        return type(self)(self._store, columns, self._strata if columns.size == self._columns.size else None)

    def find(self, wanted: ItemFilter) -> IntArray:
        """Positions of all items that a filter finds, in order.

        Raises
        ------
        BadInput
            If the filter names an expert, a class, a model or a stratum that is not there; names those that
            are.
        """
        found = match_columns(wanted, self._columns)
        if wanted.stratum is not None:
            found &= self._match_stratum(*wanted.stratum)
        if wanted.words.strip():
            places = self._store.words.find(wanted.words)
            found &= mark(places[places < self._columns.size], self._columns.size)
        return np.flatnonzero(found)

    def read_page(
        self, wanted: ItemFilter, *, after: int | None = None, before: int | None = None, limit: int = 50
    ) -> ItemPage:
        """The first items that a filter finds after a position, or the last ones before one.

        Parameters
        ----------
        after, before
            A position, of which one at most is given; without any, the page is the first.
        limit
            Most items on it, 1 to 500.

        Raises
        ------
        BadInput
            As `find`; if both positions are given, or the limit is out of bounds.
        """
        if after is not None and before is not None:
            raise BadInput("a page is after a position or before one; give only one of them")
        if not 1 <= limit <= MOST_ITEMS:
            raise BadInput(f"limit must be 1 to {MOST_ITEMS}, is {limit}")
        found = self.find(wanted)
        if before is not None:
            end = int(np.searchsorted(found, before))
            start = max(end - limit, 0)
        else:
            start = 0 if after is None else int(np.searchsorted(found, after, side="right"))
            end = min(start + limit, len(found))
        places = found[start:end].tolist()
        texts = self._store.columns.read_texts(places)
        return ItemPage(
            items=tuple(
                PagedItem(position=p, id=texts[p][0], text=texts[p][1], options=tuple(texts[p][2]))
                for p in places
            ),
            matches=len(found),
            of=self._columns.size,
            before=int(found[start - 1]) + 1 if start else None,
            after=int(found[end]) - 1 if end < len(found) else None,
        )

    def read_column(self, column: str) -> ItemValues:
        """A column of strata, read once.

        Raises
        ------
        BadInput
            If no item has it; names those that there are.
        """
        values = self._strata.get(column)
        if values is None:
            values = self._store.columns.read_meta(column)
            if not values.names:
                find_name(column, self._store.columns.read_meta_names(), "column of the items")
            self._strata[column] = values
        return values

    def _match_stratum(self, column: str, value: str) -> BoolArray:
        values = self.read_column(column)
        place = find_name(value, values.names, f"stratum of {column!r}")
        return np.asarray(values.code[: self._columns.size] == place)


def _read_columns(store: Store) -> ItemColumns:
    index = store.columns.read_index()
    newest = {run["name"]: run["id"] for run in store.runs.read_runs()}
    return ItemColumns(
        size=index.size,
        questions=AskedQuestions.of(store.columns.read_labels(index)),
        predictions={
            name: store.run_columns.read_run(run, index).predictions.option.astype(np.int16)
            for name, run in newest.items()
        },
        classes=store.columns.read_classes(),
    )
