"""Convert rows to items, and to the sealed key with the true option of every item."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

import numpy as np

from oversight.harness.argument_checks import check_names, check_records, is_given
from oversight.harness.datasets.frames import Source, name_source
from oversight.harness.datasets.row import (
    BadRows,
    Portion,
    Row,
    RowPortion,
    split_records,
)
from oversight.harness.datasets.rows import read_portions, read_rows
from oversight.harness.errors import DataError, WrongType
from oversight.harness.output import did_you_mean, shorten, unguard_cell
from oversight.harness.seeding import derive_seeds
from oversight.harness.types import OPEN_ANSWER, UNIT_PREFIX, Item, content_id, find_number, join_lines


@dataclass(frozen=True, slots=True)
class ItemMapping:
    """Names of the columns that contain the fields of an item.

    Attributes
    ----------
    text
        Column with the text of the item. Line ends of all systems are read as line feeds.
    id
        Column with a unique id. If the file has no such column and the name is the default, the id is a
        hash of text and options, so that it does not depend on the order of rows.
    classes
        Classes that are the options of every item; each class has its own expert.
    options
        Without `classes`: one column with a list of options, or several columns with one option each. Empty
        cells are left out, so items can have different numbers of options.
    meta
        Columns kept with the item, for stratified estimates.
    shuffle
        Whether the options are shown in a random order, drawn per item and stored with it.
    seed
        Seed of the shuffle.
    skip_bad
        Whether bad rows are left out and counted. If false, a bad row raises an error.
    is_open
        Whether items have no options, because answers are texts. The text of an item may then be a list of
        messages, each with ``role`` and ``content``.
    cluster
        Column that must not be empty, because its values make items depend on each other; None if items are
        independent. Add it to `meta` to keep it with the item.

    Examples
    --------
    >>> import oversight as ov
    >>> columns = ItemMapping(meta=("subject",), shuffle=False)
    >>> ov.read_items("data/questions.jsonl", columns)[0].meta["subject"]
    'medicine'
    """

    text: str = "text"
    id: str = "id"
    classes: tuple[str, ...] = ()
    options: str | tuple[str, ...] = "options"
    meta: tuple[str, ...] = ()
    shuffle: bool = True
    seed: int = 0
    skip_bad: bool = False
    is_open: bool = False
    cluster: str | None = None

    def __post_init__(self) -> None:
        check_names("classes", self.classes)
        check_names("meta", self.meta)
        object.__setattr__(self, "classes", tuple(self.classes))
        object.__setattr__(self, "meta", tuple(self.meta))
        if not isinstance(self.options, str):
            check_names("options", self.options)
            object.__setattr__(self, "options", tuple(self.options))


def read_options(row: Row, mapping: ItemMapping) -> tuple[str, ...]:
    """Return the options of a row's item.

    Raises
    ------
    DataError
        If there are fewer than two options, or an option is empty, repeated or not a text.
    """
    if mapping.is_open:
        return (OPEN_ANSWER,)
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
    options = [join_lines(str(v)).strip() for v in values]
    if len(options) < 2:
        told = f"an item needs at least 2 options, but has {len(options)}"
        raise row.error(column, told + _name(row, mapping))
    if "" in options:
        raise row.error(column, f"option {options.index('') + 1} is empty")
    if len(set(options)) < len(options):
        again = next(option for j, option in enumerate(options) if option in options[:j])
        raise row.error(column, f"the option {again!r} occurs twice{_name(row, mapping)}")
    return tuple(options)


def _name(row: Row, mapping: ItemMapping) -> str:
    named = row.fields.get(mapping.id)
    return "" if named is None else f", in the item {str(named).strip()!r}"


def _list(row: Row, column: str) -> list[Any]:
    value = row.parsed(column, "list of options")
    if isinstance(value, dict):
        value = [v for _, v in sorted(value.items())]
    if not isinstance(value, list):
        raise row.error(column, f"must be a list of options, is {type(value).__name__}")
    return [v for v in value if v is not None]


ItemFields = tuple[str, str, tuple[str, ...], tuple[int, ...], dict[str, str]]
"""Fields of an `Item`, in its order."""
_Content = tuple[str, str, tuple[str, ...], dict[str, str]]
"""Id, text, options and meta of an item."""


def read_items(source: Source, mapping: ItemMapping | None = None, **columns: Any) -> list[Item]:
    """Read items from a file (CSV, JSON Lines, Parquet, Excel) or a data frame.

    Parameters
    ----------
    source
        The file, or a frame of pandas, polars, pyarrow or another library with the dataframe interchange
        protocol.
    mapping
        Columns of the fields. The fields of `ItemMapping` may be given as keywords instead.

    Raises
    ------
    DataError
        If a column is missing, a text is empty, an id occurs twice, there are fewer than two options, or an
        option occurs twice. The message names file, line and field of at most twenty bad rows; for a frame,
        row (counted from 0) and column.
    WrongType
        If the source is neither a path nor a frame.

    Warns
    -----
    UserWarning
        If rows were left out; the warning gives their number.

    Examples
    --------
    >>> items = read_items("data/questions.jsonl", meta=("subject",))
    >>> len(items)
    120
    """
    if mapping is not None and not isinstance(mapping, ItemMapping):
        raise WrongType("mapping", "an ItemMapping, or its fields as keywords", mapping)
    bad = BadRows()
    portions = iterate_fields(
        read_portions(source), mapping or ItemMapping(**columns), name_source(source), bad
    )
    items = [Item(*fields) for portion in portions for fields in portion]
    if bad.number:
        warnings.warn("\n".join([*bad.lines(), f"{bad.number:,} rows left out"]), stacklevel=2)
    return items


def iterate_items(rows: Iterable[Row], mapping: ItemMapping, source: str) -> Iterator[Item]:
    """Yield items one by one while portions of rows are read; see `read_items`."""
    for fields in iterate_fields(map(RowPortion, split_records(rows)), mapping, source):
        yield from starmap(Item, fields)


def iterate_fields(
    portions: Iterable[Portion], mapping: ItemMapping, source: str, bad: BadRows | None = None
) -> Iterator[list[ItemFields]]:
    """Yield the fields of items from portions of a file; bad rows are added to `bad`."""
    for contents in _read_contents(portions, mapping, source, BadRows() if bad is None else bad):
        orders = _draw_orders(contents, mapping)
        yield [
            (item_id, text, options, order, meta)
            for (item_id, text, options, meta), order in zip(contents, orders, strict=True)
        ]


def read_key(
    source: Source, items: Sequence[Item], *, id_column: str = "id", label_column: str = "label"
) -> dict[str, int]:
    """Read the sealed key: item id → position of the true option in source order, counted from 0.

    A label is the text of an option. Only simulated experts and the final check read the key; it is never
    stored with a study. Rows of other items are ignored.

    Raises
    ------
    DataError
        If a column or an item is missing, an id occurs twice, or a label is not one of the options.

    Examples
    --------
    >>> items = read_items("data/questions.jsonl")
    >>> key = read_key("data/questions.key.csv", items)
    >>> len(key), key[items[0].id]
    (120, 2)
    """
    check_records("items", items, Item)
    by_id = {item.id: item for item in items}
    truth: dict[str, int] = {}
    row = None
    for row in read_rows(source):
        name, label = str(row.value(id_column)), str(row.value(label_column)).strip()
        item = by_id.get(name) or by_id.get(unguard_cell(name))
        if item is None:
            continue
        if item.id in truth:
            raise row.error(id_column, f"the id {item.id!r} occurs twice")
        if label not in item.options:
            label = unguard_cell(label)
        if label not in item.options and (place := find_number(item.options, label)) is not None:
            label = item.options[place]
        if label not in item.options:
            told = f"{label!r} is not one of the options of {item.id!r}{did_you_mean(label, item.options)}"
            raise row.error(label_column, told)
        truth[item.id] = item.options.index(label)
    missing = [item.id for item in items if item.id not in truth]
    if missing:
        told = f"no answer for {len(missing)} items, such as {missing[0]!r}"
        line = row.line if row else None
        raise DataError(told, file=name_source(source), line=line, field=id_column)
    return truth


def _read_contents(
    portions: Iterable[Portion], mapping: ItemMapping, source: str, bad: BadRows
) -> Iterator[list[_Content]]:
    seen: dict[str, int] = {}
    for portion in _collect_unreadable(portions, bad):
        contents = list(_read_rows(portion, mapping, seen, bad))
        if contents and (mapping.skip_bad or not bad.number):
            yield contents
    if bad.number and not (mapping.skip_bad and seen):
        raise bad.error(len(seen))
    if not seen:
        raise DataError("the source contains no items", file=source)


def _collect_unreadable(portions: Iterable[Portion], bad: BadRows) -> Iterator[Portion]:
    """Yield the portions of a file; an error that ends reading is reported together with the bad rows."""
    try:
        yield from portions
    except DataError as error:
        if not bad.number:
            raise
        bad.add(error)
        raise bad.error(1) from None


def _read_rows(
    portion: Portion, mapping: ItemMapping, seen: dict[str, int], bad: BadRows
) -> Iterator[_Content]:
    """Yield the contents of good rows, and add bad rows to `bad`."""
    for row in portion.attempts():
        try:
            if isinstance(row, DataError):
                raise row
            yield _read_content(row, mapping, seen)
        except DataError as error:
            bad.add(error)


def _read_content(row: Row, mapping: ItemMapping, seen: dict[str, int]) -> _Content:
    """Return the content of a row, and record its id and line in `seen`."""
    try:
        text = _read_text(row, mapping)
        options = read_options(row, mapping)
        if mapping.id in row.fields or mapping.id != "id":
            item_id = _string(row, mapping.id)
        else:
            item_id = content_id(text, options)
        meta = {name: str(row.value(name)) for name in mapping.meta}
        if mapping.cluster is not None:
            _refuse_empty_cluster(row, mapping.cluster)
    except RecursionError:
        raise row.error(None, "nested too deep to be text") from None
    if mapping.is_open and item_id.startswith(UNIT_PREFIX):
        raise row.error(
            mapping.id, f"an id must not begin with {UNIT_PREFIX!r}, which marks units of answers"
        )
    if seen.setdefault(item_id, row.line) != row.line:
        hint = "" if mapping.id in row.fields else " for the same text and options; add an id column"
        raise row.error(mapping.id, f"the id {item_id!r} was used in {row.name_line(seen[item_id])}{hint}")
    return item_id, text, options, meta


def _refuse_empty_cluster(row: Row, column: str) -> None:
    value = row.value(column)
    if not (is_given(value) and str(value).strip()):
        raise row.error(column, "is empty; every item needs a cluster (items.cluster)")


def _draw_orders(contents: Sequence[_Content], mapping: ItemMapping) -> list[tuple[int, ...]]:
    """Return the display order of every item's options.

    With `mapping.shuffle`, the order is drawn with a random generator of the item. Without it, it is the
    source's order.
    """
    counts = [len(options) for _, _, options, _ in contents]
    if not mapping.shuffle:
        return [tuple(range(k)) for k in counts]
    seeds = derive_seeds(mapping.seed, "shuffle", last=(item_id for item_id, *_ in contents))
    generators = map(np.random.default_rng, seeds)
    return [tuple(rng.permutation(k).tolist()) for rng, k in zip(generators, counts, strict=True)]


def _read_text(row: Row, mapping: ItemMapping) -> str:
    value = row.value(mapping.text)
    if not (mapping.is_open and isinstance(value, list)):
        return _string(row, mapping.text)
    turns = [Row(row.file, row.line, turn) for turn in value if isinstance(turn, dict)]
    if not turns or len(turns) < len(value):
        raise row.error(mapping.text, "must be text, or a list of messages with role and content")
    if len(turns) == 1:
        return _string(turns[0], "content")
    return "\n\n".join(f"{_string(turn, 'role')}: {_string(turn, 'content')}" for turn in turns)


def _string(row: Row, column: str) -> str:
    value = row.value(column)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise row.error(column, f"must be text, is {shorten(value)}" if value is not None else "is empty")
    text = join_lines(str(value)).strip()
    if not text:
        raise row.error(column, "is empty")
    return text
