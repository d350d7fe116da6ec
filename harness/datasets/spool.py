"""What is read from a file for long, before anybody has to wait for it to be written."""

from __future__ import annotations

import gc
import marshal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import TypeVar

T = TypeVar("T")


def read_ahead(portions: Iterable[list[T]]) -> Iterator[list[T]]:
    """Read portions of tuples to their end now, and give them later; meanwhile they are in a file of no name.

    So that a database is not locked while a file is read, nor opened for one that turns out to be bad. Tuples
    hold texts, numbers, tuples, dictionaries and None, which are written in half the time of any values.
    """
    given = _read_and_give(portions)
    next(given)
    return given


def _read_and_give(portions: Iterable[list[T]]) -> Iterator[list[T]]:
    with TemporaryFile() as spool:
        sizes = [spool.write(marshal.dumps(portion)) for portion in portions]
        spool.seek(0)
        yield []  # all is read
        for size in sizes:
            yield marshal.loads(spool.read(size))  # noqa: S302  written above


@contextmanager
def pause_collector() -> Iterator[None]:
    """Have no cycles looked for while millions of rows come and go, none of which holds any.

    The collector would go through all that lives again and again, for a quarter of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
