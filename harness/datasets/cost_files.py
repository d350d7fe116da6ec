"""A table of costs: a row a true class, a column a predicted one, like scikit-learn's confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from oversight.harness.datasets.row import Row
from oversight.harness.datasets.rows import read_rows
from oversight.harness.errors import DataError
from oversight.harness.estimate import UNREADABLE_COLUMN, CostTable
from oversight.harness.output import did_you_mean


def read_costs(path: Path, classes: Sequence[str]) -> CostTable:
    """Read what every truth and prediction costs.

    Parameters
    ----------
    path
        The first column names the true class; the others, named by the predicted class, hold numbers. A
        column ``unreadable`` says what an answer costs that names no class.
    classes
        The study's, all of which the table must have.

    Raises
    ------
    DataError
        If a class is missing, not known or there twice, or a cost is no number; names line and column.
    """
    rows = dict[str, Row]()
    columns: Sequence[str] = ()
    for row in read_rows(path):
        first, *columns = row.fields
        name = row.text(first)
        if name not in classes:
            told = f"{name!r} is none of the study's classes{did_you_mean(name, classes)}"
            raise row.error(first, told)
        if name in rows:
            raise row.error(first, f"the class {name!r} is there twice")
        for column in columns:
            if column not in classes and column != UNREADABLE_COLUMN:
                told = f"{column!r} is none of the study's classes{did_you_mean(column, classes)}"
                raise row.error(column, told)
            if row.number(column) is None:
                raise row.error(column, "must be a number, is empty")
        rows[name] = row
    for missing in (name for name in classes if name not in rows):
        raise DataError(f"no row for the class {missing!r}", file=path)
    for missing in (name for name in classes if name not in columns):
        raise DataError(f"no column for the class {missing!r}", file=path, line=1)

    def column_of(name: str) -> list[float]:
        return [float(rows[true].number(name) or 0.0) for true in classes]

    costs = np.array([column_of(name) for name in classes]).T
    has = UNREADABLE_COLUMN in columns
    return CostTable(costs=costs, unreadable=np.array(column_of(UNREADABLE_COLUMN)) if has else None)
