"""A study's columns, read once for a state of the database and given to every part of the page that asks."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, TypeVar

from oversight.harness.columns import ItemIndex, ItemValues, LabelColumns
from oversight.harness.store import ColumnRepository, Database, Store

_T = TypeVar("_T")


def remember_columns(store: Store, version: Callable[[], int] = lambda: 0) -> None:
    """Have a store read its columns once for a version of the database, which by default does not change."""
    store.columns = RememberedColumns(store, version)


class RememberedColumns(ColumnRepository):
    """The items, labels and columns of strata as they were when first asked for at a version.

    Reading them takes longer than most of what is made of them.

    Parameters
    ----------
    database
        The study's database.
    version
        Tells the version of the database; with another one all is read again.
    """

    def __init__(self, database: Database, version: Callable[[], int]) -> None:
        super().__init__(database)
        self._version, self._seen, self._lock = version, -1, RLock()
        self._kept = dict[Any, Any]()

    def read_index(self) -> ItemIndex:
        """The items by place."""
        return self._once("index", super().read_index)

    def read_labels(self, index: ItemIndex, *, second: bool = False) -> LabelColumns:
        """What experts said; see `ColumnRepository.read_labels`."""
        read = super().read_labels
        return self._once(("labels", id(index), second), lambda: read(index, second=second))

    def count_options(self) -> dict[int, int]:
        """K → number of items with so many options."""
        return self._once("options", super().count_options)

    def read_meta(self, column: str) -> ItemValues:
        """A further column of the items; one with gaps is read again once, as who met them may fill them."""
        read, key, met = super().read_meta, ("meta", column), ("gaps", column)
        with self._lock:
            found = self._once(key, lambda: read(column))
            if met not in self._kept and (found.code < 0).any():
                self._kept[met] = self._kept.pop(key)
            return found

    def _once(self, key: Any, read: Callable[[], _T]) -> _T:
        with self._lock:
            if self._seen != self._version():
                self._seen = self._version()
                self._kept.clear()
            if key not in self._kept:
                self._kept[key] = read()
            found: _T = self._kept[key]
            return found
