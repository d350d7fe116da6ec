"""The items of a study by place, and a name for each, such as its stratum, as codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oversight.harness.arrays import IntArray


class ItemIndex:
    """Items by place, from 0; columns over one index belong together.

    Parameters
    ----------
    size
        Number of items, N.
    read_ids
        Returns their N ids in order; called when the first is needed, as most work needs none.
    """

    def __init__(self, size: int, read_ids: Callable[[], Sequence[str]]) -> None:
        self.size = size
        self._read_ids = read_ids

    @classmethod
    def of(cls, ids: Sequence[str]) -> ItemIndex:
        """The index of ids that are known."""
        return cls(len(ids), lambda: ids)

    @cached_property
    def ids(self) -> Sequence[str]:
        """Id of every item."""
        return self._read_ids()

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Place of every id."""
        return {name: place for place, name in enumerate(self.ids)}

    def find(self, ids: Iterable[str]) -> IntArray:
        """Places of ids; −1 for an unknown one."""
        places = self.places
        return np.array([places.get(name, -1) for name in ids], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemValues:
    """Names of items.

    Attributes
    ----------
    code
        Shape (N,): place of the item's name in `names`, −1 for an item without one.
    names
        In alphabetical order.
    """

    code: IntArray
    names: Sequence[str]

    @classmethod
    def of(cls, values: Mapping[str, str], index: ItemIndex) -> ItemValues:
        """Names by id as codes by place; those of other items are left out."""
        found = [values.get(name) for name in index.ids]
        names = sorted({name for name in found if name is not None})
        places: dict[str | None, int] = {name: place for place, name in enumerate(names)}
        return cls(code=np.array([places.get(name, -1) for name in found], dtype=np.int64), names=names)

    def by_id(self, index: ItemIndex) -> dict[str, str]:
        """Names by id, of the items that have one."""
        codes = zip(index.ids, self.code.tolist(), strict=True)
        return {name: self.names[code] for name, code in codes if code >= 0}
