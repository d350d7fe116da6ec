"""Tables on narrow terminals: names are folded, numbers stay whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_NARROW, _WIDE = 80, 120
_ESTIMATES = {"accuracy", "interval", "found"}
"""Titles of which a table of estimates has one; tables of many short counts are laid out by rich."""
_UNITS = re.compile(r"\b(?:of|points?|q|s|min|h|tie)\b")
_LETTER = re.compile(r"[^\W\d_]")


def plain_table(*titles: str) -> Table:
    """A table without a frame, as under a verdict."""
    from rich.table import Table

    return Table(*titles, box=None, padding=(0, 1, 0, 2))


def keep_numbers(renderable: RenderableType, width: int) -> None:
    """Let the columns of names give way before those of numbers, in every table of estimates.

    A column of numbers is one whose cells hold digits and no words but units, such as "3 of 40".
    Other columns are folded, so that names which differ only at their ends stay apart. A table without a
    frame is left as it is.
    """
    from rich import box
    from rich.console import Group
    from rich.table import Table

    if isinstance(renderable, Group):
        for each in renderable.renderables:
            keep_numbers(each, width)
    elif isinstance(renderable, Table) and renderable.box and _ESTIMATES & _titles(renderable):
        if width >= _WIDE and _longest_word(renderable) <= width // 3:
            return
        for column in renderable.columns:
            column.overflow, column.no_wrap = "fold", False
            cells = [str(cell) for cell in column.cells]
            if _are_numbers(cells):
                column.no_wrap, column.min_width = True, max(map(len, cells))
                column.header = str(column.header).replace(" ", "\n")
        if width < _NARROW:  # frames and margins take 16 of 60 columns
            renderable.box, renderable.pad_edge, renderable.padding = box.SIMPLE_HEAD, False, (0, 1, 0, 0)


def _titles(table: Table) -> set[str]:
    return {str(column.header) for column in table.columns}


def _longest_word(table: Table) -> int:
    cells = (str(cell) for column in table.columns for cell in column.cells)
    return max((len(word) for cell in cells for word in cell.split()), default=0)


def _are_numbers(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return any(re.search(r"\d", cell) for cell in filled) and not any(
        _LETTER.search(_UNITS.sub("", cell)) or "\n" in cell for cell in filled
    )
