"""The sealed key: the true option of every item, kept in a file of its own.

It is read only by what simulates experts and by what opens it at the end; it is never stored
with a study.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.datasets.rows import read_rows
from harness.errors import DataError
from harness.types import Item


def read_key(
    path: str | Path, items: Sequence[Item], *, id_column: str = "id", label_column: str = "label"
) -> dict[str, int]:
    """Read item id → true option (source order, from 0) from a file with the option's text.

    Rows for items that are not asked for are passed over.

    Raises
    ------
    DataError
        If a column or an item is missing, an id is there twice, or a label is none of the options.
    """
    by_id = {item.id: item for item in items}
    truth: dict[str, int] = {}
    last = None
    for row in read_rows(path):
        last = row
        for column in (id_column, label_column):
            if column not in row.fields:
                raise row.error(column, "there is no such column")
        item = by_id.get(str(row.fields[id_column]))
        if item is None:
            continue
        if item.id in truth:
            raise row.error(id_column, f"the id {item.id!r} is there twice")
        label = str(row.fields[label_column]).strip()
        if label not in item.options:
            raise row.error(label_column, f"{label!r} is none of the options of {item.id!r}")
        truth[item.id] = item.options.index(label)
    missing = [item.id for item in items if item.id not in truth]
    if missing:
        raise DataError(
            f"no answer for {len(missing)} items, such as {missing[0]!r}",
            file=path,
            line=last.line if last else None,
            field=id_column,
        )
    return truth
