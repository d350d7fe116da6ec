"""Gold items: a file of items whose answer is known before an expert is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from oversight.harness.analysis.inputs import study_items
from oversight.harness.config import Study
from oversight.harness.datasets import PRESETS, ItemMapping, Row, iterate_items, read_rows
from oversight.harness.errors import DataError
from oversight.harness.output import did_you_mean, unguard_cell
from oversight.harness.store import GoldItem
from oversight.harness.types import Item, find_option

_ANSWERS = ("answer", "label")


def read_gold(study: Study) -> list[GoldItem]:
    """Read the gold items that study.toml names; none if it names none.

    A row has the item's own text and options, in columns called as the study's are or ``text, options``; or
    only the ``id`` of an item of the study. The true option's text is in ``answer`` (or ``label``). Each gets
    an id made of text and options.

    Raises
    ------
    DataError
        Naming file, line and field: a column or value is missing, an id is no item's of the study, an answer
        is none of the options, or an item is there twice.
    """
    if study.experts.gold is None:
        return []
    path = study.path(study.experts.gold)
    found: dict[str, GoldItem] = {}
    lines: dict[str, int] = {}
    rows = list(read_rows(path))
    for row, item in _read_items(study, rows):
        gold = GoldItem(item, _find_answer(row, item))
        if item.id in lines:
            raise row.error(None, f"the same item as in {row.name_line(lines[item.id])}: text and options")
        found[item.id], lines[item.id] = gold, row.line
    if not found:
        raise DataError("there are no gold items in it", file=path)
    return list(found.values())


def _read_items(study: Study, rows: list[Row]) -> Iterator[tuple[Row, Item]]:
    mapping = _map_columns(study, rows)
    name = study.items.id if rows and study.items.id in rows[0].fields else "id"
    own: dict[str, Item] | None = None
    for row in rows:
        if str(row.fields.get(mapping.text) or "").strip():
            fields = {column: value for column, value in row.fields.items() if column != "id"}
            (item,) = iterate_items([replace(row, fields=fields)], mapping, row.file)
        else:
            if name not in row.fields:
                raise row.error(mapping.text, "a gold item needs a text, or the id of an item of the study")
            own = {item.id: item for item in study_items(study)} if own is None else own
            said = str(row.value(name)).strip()
            if said not in own:
                raise row.error(name, f"{said!r} is no item of the study{did_you_mean(said, own)}")
            same = {"text": own[said].text, "options": list(own[said].options)}
            (copy,) = iterate_items([replace(row, fields=same)], ItemMapping(), row.file)
            item = replace(own[said], id=copy.id, meta={})
        yield row, replace(item, id=f"gold:{item.id}")


def _map_columns(study: Study, rows: list[Row]) -> ItemMapping:
    """The study's columns where the file has them, otherwise the usual names."""
    section, header = study.items, rows[0].fields if rows else {}
    preset = PRESETS.get(section.preset or "")
    options = section.options if isinstance(section.options, str) else tuple(section.options)
    columns = {options} if isinstance(options, str) else {*options}
    return ItemMapping(
        text=section.text if section.text in header else "text",
        classes=tuple(section.classes) or (preset.classes if preset else ()),
        options=options if columns & set(header) else "options",
        shuffle=section.shuffle,
        seed=study.study.seed,
    )


def _find_answer(row: Row, item: Item) -> int:
    column = next((name for name in _ANSWERS if name in row.fields), _ANSWERS[0])
    said = str(row.value(column)).strip()
    place = find_option(item.options, said)
    place = find_option(item.options, unguard_cell(said)) if place is None else place
    if place is None:
        told = f"{said!r} is none of its options{did_you_mean(said, item.options)}"
        raise row.error(column, told if said else "is empty; a gold item needs its true option")
    return place
