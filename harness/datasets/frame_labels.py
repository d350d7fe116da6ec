"""Labels from a frame of experts' answers."""

from __future__ import annotations

from collections.abc import Sequence

from oversight.harness.datasets.frames import Source
from oversight.harness.datasets.row import Row
from oversight.harness.datasets.rows import read_rows
from oversight.harness.expected import check_records
from oversight.harness.output import did_you_mean
from oversight.harness.types import Item, Label, LabelKind, Verdict, find_option

_KINDS = {Verdict.YES: LabelKind.ORDINARY, Verdict.NO: LabelKind.COMPLEMENTARY}


def labels_from_frame(
    source: Source,
    items: Sequence[Item],
    *,
    id_column: str = "id",
    option_column: str = "option",
    answer_column: str = "answer",
    expert_column: str = "expert",
) -> list[Label]:
    """Turn a frame (or a file) with one row per question into labels, in the order of its rows.

    Options must have been drawn with equal probabilities, whatever the answers. The answers to questions of
    a protocol that draws in another way become labels by its `decode`.

    Parameters
    ----------
    source
        With an item's id, the text of the option that was asked about, and the expert's answer: ``yes``,
        ``no``, ``unsure`` or ``skip``, or a boolean. An empty answer is a missing one, as ``unsure`` is.
        The column with the expert's name may be missing.
    items
        The items that were asked about, and others.

    Raises
    ------
    DataError
        Naming row and column: a missing column, an id that no item has, an option that is none of the item's
        or asked about twice, another answer.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": ["a", "b"], "option": ["x", "y"], "answer": ["yes", "no"]})
    >>> items = [Item(name, "?", ("x", "y"), (0, 1)) for name in ("a", "b")]
    >>> [(label.option, str(label.kind)) for label in labels_from_frame(frame, items)]
    [(0, 'ordinary'), (1, 'complementary')]
    """
    check_records("items", items, Item)
    by_id = {item.id: item for item in items}
    found: dict[tuple[str, int], Label] = {}
    for row in read_rows(source):
        name, said = _text(row, id_column), _text(row, option_column)
        if name not in by_id:
            raise row.error(id_column, f"no item has the id {name!r}{did_you_mean(name, by_id)}")
        options = by_id[name].options
        if (option := find_option(options, said)) is None:
            told = f"{said!r} is none of the options of {name!r}{did_you_mean(said, options)}"
            raise row.error(option_column, told)
        if (name, option) in found:
            raise row.error(option_column, f"{name!r} is asked about {said!r} twice")
        found[name, option] = Label(
            item_id=name,
            option=option,
            kind=_read_kind(row, answer_column),
            n_options=len(options),
            propensity=1 / len(options),
            expert=row.text(expert_column).strip(),
        )
    return list(found.values())


def _read_kind(row: Row, column: str) -> LabelKind:
    value = row.value(column)
    said = {True: "yes", False: "no"}[value] if isinstance(value, bool) else _text(row, column).lower()
    if said and said not in list(Verdict):
        raise row.error(column, f"must be one of {', '.join(Verdict)}, is {said!r}")
    return _KINDS.get(Verdict(said), LabelKind.ABSTAINED) if said else LabelKind.ABSTAINED


def _text(row: Row, column: str) -> str:
    row.value(column)  # which refuses a column that is not there
    return row.text(column).strip()
