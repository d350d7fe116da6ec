"""Texts in cells of CSV files, which no spreadsheet program is to take for formulas."""

from __future__ import annotations

import re

_FORMULA = "=+\\-@\t\r\n＝＋－＠"
_TO_GUARD, _GUARDED = re.compile(f"'*[{_FORMULA}]"), re.compile(f"'+[{_FORMULA}]")


def guard_cell(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet program would take for a formula.

    >>> guard_cell("=1+1"), unguard_cell("'=1+1"), guard_cell("1+1")
    ("'=1+1", '=1+1', '1+1')
    """
    return f"'{text}" if _TO_GUARD.match(text) else text


def unguard_cell(text: str) -> str:
    """Return the text that `guard_cell` was given."""
    return text[1:] if _GUARDED.match(text) else text
