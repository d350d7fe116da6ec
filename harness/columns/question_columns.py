"""Questions as columns, with the propensities of all their options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from oversight.harness.arrays import AnyIntArray, FloatArray, IntArray
from oversight.harness.columns.item_index import ItemIndex
from oversight.harness.seeding import derive_seed
from oversight.harness.types import Label, Question


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OfferedOptions:
    """The propensities of all options of R questions; a question may have none recorded.

    Attributes
    ----------
    start
        Shape (R + 1,): those of question r are ``values[start[r] : start[r + 1]]``.
    values
        In [0, 1].
    """

    start: IntArray
    values: FloatArray

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]]) -> OfferedOptions:
        """From one sequence a question, empty where none are recorded."""
        start = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        return cls(start=start, values=np.array([pi for row in rows for pi in row], dtype=np.float64))

    @property
    def number(self) -> IntArray:
        """Options of every question, 0 where none are recorded; shape (R,)."""
        return np.diff(self.start)

    @property
    def least(self) -> FloatArray:
        """The least propensity of every question, which all must have recorded; shape (R,)."""
        found: FloatArray = np.minimum.reduceat(self.values, self.start[:-1])
        return found

    @property
    def greatest(self) -> FloatArray:
        """The greatest propensity of every question, which all must have recorded; shape (R,)."""
        found: FloatArray = np.maximum.reduceat(self.values, self.start[:-1])
        return found

    def take(self, rows: AnyIntArray) -> OfferedOptions:
        """Those of some questions."""
        number = self.number[rows]
        start = np.concatenate([[0], np.cumsum(number, dtype=np.int64)])
        inside = np.arange(start[-1]) - np.repeat(start[:-1], number)
        return OfferedOptions(start=start, values=self.values[np.repeat(self.start[rows], number) + inside])

    def join(self, other: OfferedOptions) -> OfferedOptions:
        """Those of these questions, followed by those of others."""
        start = np.concatenate([self.start, self.start[-1] + other.start[1:]])
        return OfferedOptions(start=start, values=np.concatenate([self.values, other.values]))

    def of_option(self, option: AnyIntArray) -> FloatArray:
        """The propensity of one option of every question, which all must have recorded; shape (R,)."""
        found: FloatArray = self.values[self.start[:-1] + option]
        return found


_OPTION_BITS = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class QuestionColumns:
    """R questions, one an entry.

    Attributes
    ----------
    index
        The items.
    item, option
        Place of the item, and the option asked about.
    n_options
        K of the item.
    propensity
        With which the option was asked about, in (0, 1].
    expert
        Place of the person in `experts`.
    offered
        Propensities of all options.
    place
        Number by which the expert's questions are handed out; −1 if the order is not known.
    """

    index: ItemIndex
    item: IntArray
    option: IntArray
    n_options: IntArray
    propensity: FloatArray
    expert: IntArray
    experts: Sequence[str]
    offered: OfferedOptions
    place: IntArray

    @classmethod
    def of(cls, rows: Sequence[Question | Label], index: ItemIndex) -> QuestionColumns:
        """From records about items of the index."""
        experts = list(dict.fromkeys(row.expert for row in rows))
        places = {name: place for place, name in enumerate(experts)}
        return cls(
            index=index,
            item=index.find(row.item_id for row in rows),
            option=np.array([row.option for row in rows], dtype=np.int64),
            n_options=np.array([row.n_options for row in rows], dtype=np.int64),
            propensity=np.array([row.propensity for row in rows], dtype=np.float64),
            expert=np.array([places[row.expert] for row in rows], dtype=np.int64),
            experts=experts,
            offered=OfferedOptions.of([row.propensities for row in rows]),
            place=np.array([_place_of(row) for row in rows], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.item)

    def take(self, rows: AnyIntArray) -> QuestionColumns:
        """Some of the questions."""
        found = replace(
            self,
            item=self.item[rows],
            option=self.option[rows],
            n_options=self.n_options[rows],
            propensity=self.propensity[rows],
            expert=self.expert[rows],
            offered=self.offered.take(rows),
            place=self.place[rows],
        )
        # dear to make, and each question keeps its own
        vars(found).update(
            {name: vars(self)[name][rows] for name in ("order", "item_order") if name in vars(self)}
        )
        return found

    def join(self, other: QuestionColumns) -> QuestionColumns:
        """These questions, followed by others about items of the same index."""
        names = ("item", "option", "n_options", "propensity", "place")
        joined = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names}
        experts = list(dict.fromkeys([*self.experts, *other.experts]))
        code = np.array([experts.index(name) for name in other.experts], dtype=np.int64)
        expert = np.concatenate([self.expert, code[other.expert]])
        offered = self.offered.join(other.offered)
        return replace(self, **joined, expert=expert, experts=experts, offered=offered)

    @cached_property
    def key(self) -> IntArray:
        """A number for every pair of item and option, the same in all columns over the index."""
        return key_of(self.item, self.option)

    @cached_property
    def order(self) -> NDArray[np.uint64]:
        """Places of the questions in an order that neither items nor experts chose, shape (R,)."""
        ids, pairs = self.index.ids, zip(self.item.tolist(), self.option.tolist(), strict=True)
        return np.array([derive_seed(0, "drawn", ids[i], str(k)) for i, k in pairs], dtype=np.uint64)

    @cached_property
    def item_order(self) -> NDArray[np.uint64]:
        """The same of their items, so that the questions of one stay together."""
        ids = self.index.ids
        items, which = np.unique(self.item, return_inverse=True)
        order = [derive_seed(0, "drawn", ids[i]) for i in items.tolist()]
        return np.array(order, dtype=np.uint64)[which]


def _place_of(row: Question | Label) -> int:
    place = row.place if isinstance(row, Question) else None
    return -1 if place is None else place


def key_of(item: IntArray, option: IntArray) -> IntArray:
    """A number for every pair of item and option; arrays that can be broadcast together."""
    return item << _OPTION_BITS | option
