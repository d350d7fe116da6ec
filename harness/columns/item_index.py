"""The items of a study by place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
