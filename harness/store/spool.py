"""What is read from a file for long, before anybody has to wait for it to be written."""

from __future__ import annotations

import gc
import marshal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, TypeVar

T = TypeVar("T")


def read_ahead(portions: Iterable[list[T]]) -> Iterator[list[T]]:
    """Read portions of tuples to their end now, and give them later; meanwhile they are in a file of no name.

    So that a database is not locked while a file is read, nor opened for one that turns out to be bad.
    The tuples hold nothing but texts, numbers, None, and tuples, lists and dicts of these.
    """
    spool, number = TemporaryFile(), 0  # noqa: SIM115  closed when the last portion was given
    try:
        for portion in portions:
            marshal.dump(portion, spool)
            number += 1
        spool.seek(0)
    except BaseException:
        spool.close()
        raise
    return _give(spool, number)


def _give(spool: IO[bytes], number: int) -> Iterator[list[T]]:
    with spool:
        for _ in range(number):
            yield marshal.load(spool)  # noqa: S302  written above


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
