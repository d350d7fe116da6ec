"""A name for every item, such as its stratum or its cluster, as codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import IntArray
from oversight.harness.columns.item_index import ItemIndex


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
