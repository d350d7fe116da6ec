"""One writer for all that finishes: group commit, and nobody goes on before their row is stored.

A batch is written when all workers wait for it, or after a few milliseconds: what a transaction costs
does not depend on its rows, so on a fast endpoint two where one will do cost a fifth of the run. Since
a worker waits for its row, what is finished but not stored belongs to workers that ask nothing: a
killed run has paid for at most as many lost answers as there are workers.

Batches are written in the event loop's own thread. In another one the two would hand Python's lock to
and fro at every row, which takes longer than the writing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Row = TypeVar("Row")
_LINGER = 0.003


class Writer(Generic[Row]):
    """Hands rows over in batches; use as a context manager inside the event loop.

    Parameters
    ----------
    write
        Called with one batch at a time; it must have stored them all when it returns.
    workers
        How many hand over rows.
    """

    def __init__(self, write: Callable[[Sequence[Row]], None], workers: int) -> None:
        self._write = write
        self._enough = workers
        self._rows: list[Row] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    async def put(self, row: Row) -> None:
        """Add a row; return when it is stored.

        Raises
        ------
        Exception
            What `write` raised, if it did.
        """
        self._rows.append(row)
        if len(self._rows) >= self._enough:
            error = self._flush()
            if error is not None:
                raise error
            return
        if self._timer is None:
            self._timer = self._loop.call_later(_LINGER, self._flush)
        stored = self._loop.create_future()
        self._waiting.append(stored)
        await stored

    def __enter__(self) -> Writer[Row]:
        return self

    def __exit__(self, *_: object) -> None:
        """Store what has gathered, whatever ended the work."""
        error = self._flush()
        if error is not None:
            raise error

    def _flush(self) -> Exception | None:
        """Write what has gathered and wake whoever waits for it; return what went wrong."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        rows, self._rows = self._rows, []
        waiting, self._waiting = self._waiting, []
        error = None
        try:
            if rows:
                self._write(rows)
        except Exception as raised:  # noqa: BLE001  whatever it is, everybody who waits must hear of it
            error = raised
        for stored in waiting:
            if stored.done():  # its worker was cancelled
                continue
            if error is None:
                stored.set_result(None)
            else:
                stored.set_exception(error)
        return error
