"""Predictions of a model from a frame, told apart by the items' ids."""

from __future__ import annotations

from collections.abc import Sequence

from oversight.harness.datasets.frames import Source
from oversight.harness.datasets.row import Row
from oversight.harness.datasets.rows import read_rows
from oversight.harness.expected import check_records
from oversight.harness.types import Item, Prediction, PredictionStatus
from oversight.harness.types import Source as Origin


def predictions_from_frame(
    source: Source,
    items: Sequence[Item],
    *,
    id_column: str = "id",
    prediction_column: str = "prediction",
    confidence_column: str = "confidence",
) -> list[Prediction]:
    """Turn a frame (or a file) with one row an item into predictions, in the order of its rows.

    Parameters
    ----------
    source
        With an item's id and the text of the predicted option; an empty prediction is one that was
        unreadable, which counts as wrong. The column with the confidence, in [0, 1], may be missing.
    items
        Items without a row are items that the model was not asked about.

    Raises
    ------
    DataError
        Naming row and column: a missing column, an id that no item has or that is there twice, a prediction
        that is none of the item's options, a confidence out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": ["a", "b"], "prediction": ["y", None]})
    >>> items = [Item(name, "?", ("x", "y"), (0, 1)) for name in ("a", "b")]
    >>> [(p.option, str(p.status)) for p in predictions_from_frame(frame, items)]
    [(1, 'ok'), (None, 'unreadable')]
    """
    check_records("items", items, Item)
    by_id = {item.id: item for item in items}
    found: dict[str, Prediction] = {}
    for row in read_rows(source):
        name, said = _text(row, id_column), _text(row, prediction_column)
        if name not in by_id:
            raise row.error(id_column, f"no item has the id {name!r}")
        if name in found:
            raise row.error(id_column, f"the id {name!r} is there twice")
        if said and said not in by_id[name].options:
            raise row.error(prediction_column, f"{said!r} is none of the options of {name!r}")
        sure = row.number(confidence_column)
        if sure is not None and not 0 <= sure <= 1:
            raise row.error(confidence_column, f"must lie between 0 and 1, is {sure:g}")
        found[name] = Prediction(
            name,
            by_id[name].options.index(said) if said else None,
            PredictionStatus.OK if said else PredictionStatus.UNREADABLE,
            reason="" if said else "empty",
            confidence=sure,
            source=Origin.IMPORT,
        )
    return list(found.values())


def _text(row: Row, column: str) -> str:
    row.value(column)  # which refuses a column that is not there
    return row.text(column).strip()
