"""Write tables as HTML for a notebook: escaped, without scripts or colours of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlTable:
    """A table as shown to a reader.

    Attributes
    ----------
    title
        Text above the table.
    columns, rows
        Names of the columns, and cell texts by row and column; the first cell names the row.
    notes
        Remarks below the table.
    """

    title: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()


def level_text(level: float) -> str:
    """Format a confidence level.

    Examples
    --------
    >>> level_text(0.95), level_text(0.975)
    ('95%', '97.5%')
    """
    return f"{round(100 * level, 2):g}%"


def write_html(tables: Sequence[HtmlTable]) -> str:
    """Write tables as HTML, one below the other."""
    return "<div>" + "".join(map(_write_table, tables)) + "</div>"


def _write_table(table: HtmlTable) -> str:
    head = f"<p><strong>{escape(table.title)}</strong></p>" if table.title else ""
    names = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    rows = "".join(f"<tr>{_write_cells(row)}</tr>" for row in table.rows)
    body = f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>" if table.columns else ""
    return head + body + "".join(f"<p>{escape(note)}</p>" for note in table.notes)


def _write_cells(row: Sequence[str]) -> str:
    first, *others = row
    return f'<th style="text-align: left">{escape(first)}</th>' + "".join(
        f"<td>{escape(text)}</td>" for text in others
    )


def percent(share: float) -> str:
    """Format a share in [0, 1] as ``71.2 %``."""
    return f"{100 * share:.1f} %"


def span(low: float, high: float) -> str:
    """Format two shares as ``66.4 % – 75.7 %``."""
    return f"{percent(low)} – {percent(high)}"


def format_number(value: float | None, digits: int = 3) -> str:
    """Format a number with fixed digits; None becomes a dash."""
    return "–" if value is None else f"{value:.{digits}f}"
