"""The propensities of all options of questions, which are not equally many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oversight.harness.arrays import AnyIntArray, FloatArray, IntArray


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
