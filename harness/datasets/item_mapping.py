"""Which column holds what, and the options of a row's item."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from oversight.harness.datasets.row import Row
from oversight.harness.expected import check_names
from oversight.harness.output import shorten


@dataclass(frozen=True, slots=True)
class ItemMapping:
    """Which column holds what.

    Attributes
    ----------
    text
        Column with the text of the item.
    id
        Column with a unique id; if the file has no such column and the name is the default, the
        id is a hash of text and options, so that it does not depend on the order of rows.
    classes
        Fixed classes: the options of every item, each a domain with its expert.
    options
        Without fixed classes: one column that holds a list of options, or several columns that
        hold one option each (empty ones are left out, so that K may vary).
    meta
        Columns kept with the item, for stratified estimates.
    shuffle
        Whether the options are shown in a random order, drawn per item and stored with it.
    seed
        Seed of the shuffle.
    skip_bad
        Whether rows that are wrong are left out, and counted, instead of refusing the file.
    """

    text: str = "text"
    id: str = "id"
    classes: tuple[str, ...] = ()
    options: str | tuple[str, ...] = "options"
    meta: tuple[str, ...] = ()
    shuffle: bool = True
    seed: int = 0
    skip_bad: bool = False

    def __post_init__(self) -> None:
        check_names("classes", self.classes)
        check_names("meta", self.meta)
        object.__setattr__(self, "classes", tuple(self.classes))
        object.__setattr__(self, "meta", tuple(self.meta))
        if not isinstance(self.options, str):
            check_names("options", self.options)
            object.__setattr__(self, "options", tuple(self.options))


def read_options(row: Row, mapping: ItemMapping) -> tuple[str, ...]:
    """The options of a row's item.

    Raises
    ------
    DataError
        If there are fewer than two, or one is empty, there twice or no text.
    """
    if mapping.classes:
        return mapping.classes
    if isinstance(mapping.options, str):
        column, values = mapping.options, _list(row, mapping.options)
    else:
        column = mapping.options[0]
        values = [v for v in (row.value(c) for c in mapping.options) if v not in (None, "")]
    for value in values:
        if isinstance(value, (dict, list)):
            raise row.error(column, f"an option must be text, is {shorten(value)}")
    options = [str(v).strip() for v in values]
    if len(options) < 2:
        told = f"an item needs at least 2 options, this one has {len(options)}"
        raise row.error(column, told + _name(row, mapping))
    if "" in options:
        raise row.error(column, f"option {options.index('') + 1} is empty")
    if len(set(options)) < len(options):
        again = next(option for j, option in enumerate(options) if option in options[:j])
        raise row.error(column, f"the option {again!r} is there twice{_name(row, mapping)}")
    return tuple(options)


def _name(row: Row, mapping: ItemMapping) -> str:
    named = row.fields.get(mapping.id)
    return "" if named is None else f", in the item {str(named).strip()!r}"


def _list(row: Row, column: str) -> list[Any]:
    value = row.value(column)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise row.error(column, "must be a JSON list of options") from None
    if isinstance(value, dict):
        value = [v for _, v in sorted(value.items())]
    if not isinstance(value, list):
        raise row.error(column, f"must be a list of options, is {type(value).__name__}")
    return [v for v in value if v is not None]
