"""How far something that takes long has come."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def with_bar(rows: Sequence[T], what: str, unit: str) -> Iterable[T]:
    """The rows, with a bar on a terminal once they take long."""
    if not sys.stderr.isatty():
        return rows
    from tqdm import tqdm

    shown: Iterable[T] = tqdm(rows, desc=what, unit=unit, delay=2, leave=False, file=sys.stderr)
    return shown
