"""Items with all questions, answers and predictions about them: pages of a filter, and single items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oversight.harness.analysis import ItemFilter, ItemVerdict, ModelOutcome, StudyItems
from oversight.harness.errors import BadInput
from oversight.harness.store import Store
from oversight.harness.types import plain_fields
from oversight.harness.view.payload.item_rows import describe_items

_CHOICES = {"verdict": ItemVerdict, "outcome": ModelOutcome}
_NAMES = ("words", "expert", "asked", "verdict", "model", "outcome")
_PAGE = ("after", "before", "limit")
_MOST_VALUES = 500


def read_items(store: Store, items: StudyItems, params: Mapping[str, str]) -> dict[str, Any]:
    """Return one page of the items that match a filter.

    Parameters
    ----------
    params
        ``words``, ``expert``, ``asked`` (a class), ``verdict``, ``model``, ``outcome``, ``column`` with
        ``stratum``, ``disagreed`` (models, one a line); and ``after`` or ``before`` (a position),
        ``limit``.

    Raises
    ------
    BadInput
        If a parameter is unknown, or names something that does not exist.
    """
    wanted = read_filter(params)
    numbers = {name: _whole(name, params[name]) for name in _PAGE if params.get(name)}
    page = items.read_page(wanted, **numbers)
    rows = describe_items(store, list(page.items.values()), full=False)
    shown = [{"position": place, **rows[name]} for place, name in page.items.items() if name in rows]
    return plain_fields(page) | {"items": shown}


def read_item(store: Store, items: StudyItems, params: Mapping[str, str]) -> dict[str, Any]:
    """Return one item in full, with its neighbours among the items that match a filter.

    Raises
    ------
    BadInput
        If the item does not exist, or the filter is wrong.
    """
    name = params.get("id", "")
    found = describe_items(store, [name], full=True).get(name)
    if found is None:
        raise BadInput(f"there is no item {name!r}")
    position = store.columns.find_position(name)
    wanted = read_filter({n: v for n, v in params.items() if n != "id"})
    before = items.read_page(wanted, before=position, limit=1).items
    after = items.read_page(wanted, after=position, limit=1).items
    ends = {"previous": next(iter(before.values()), None), "next": next(iter(after.values()), None)}
    return {"position": position, **found, **ends}


def read_column(store: Store, items: StudyItems, params: Mapping[str, str]) -> dict[str, Any]:  # noqa: ARG001  as the others
    """Return the first 500 different values of a column of the items.

    Raises
    ------
    BadInput
        If no item has the column.
    """
    names = items.read_column(params.get("name", "")).names
    return {"values": names[:_MOST_VALUES], "of": len(names)}


def read_filter(params: Mapping[str, str]) -> ItemFilter:
    """Return the filter that the parameters describe; empty parameters do not restrict it.

    Raises
    ------
    BadInput
        If a parameter is unknown or has an unknown value.
    """
    unknown = params.keys() - {*_NAMES, *_PAGE, "column", "stratum", "disagreed"}
    if unknown:
        raise BadInput(f"there is no filter {', '.join(map(repr, sorted(unknown)))}")
    given = {name: params[name] for name in _NAMES if params.get(name)}
    for name, choices in _CHOICES.items():
        if name in given and given[name] not in [*choices]:
            raise BadInput(f"{name}: must be one of {', '.join(choices)}, is {given[name]!r}")
    column, stratum = params.get("column"), params.get("stratum")
    named: dict[str, Any] = dict(given)
    return ItemFilter(
        **named | {n: kind(given[n]) for n, kind in _CHOICES.items() if n in given},
        stratum=(column, stratum) if column and stratum else None,
        # split("\n") only, because names may contain other line separators
        disagreed=tuple(filter(None, params.get("disagreed", "").split("\n"))),
    )


def _whole(name: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise BadInput(f"{name}: must be a whole number, is {text!r}")
    return int(text)
