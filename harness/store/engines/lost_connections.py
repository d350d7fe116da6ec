"""Wait for a server that is temporarily away, for example during a restart."""

from __future__ import annotations

import time

import sqlalchemy as sa

from oversight.harness.output import say

PATIENCE = 120.0
"""Seconds to wait for a server that was reachable before."""
_FIRST, _LONGEST = 0.1, 2.0  # seconds between two attempts


def connect(engine: sa.Engine, shown: str, *, patience: float = PATIENCE) -> sa.Connection:
    """Connect; if a server that was reachable before is away, wait for it with a message.

    Raises
    ------
    sqlalchemy.exc.OperationalError
        The last error, if the server is away for longer than `patience` seconds.
    """
    if engine.dialect.name == "sqlite":
        return engine.connect()
    pause, end, told = _FIRST, time.monotonic() + patience, False
    while True:
        try:
            connection = engine.connect()
        except sa.exc.OperationalError as error:
            if time.monotonic() >= end:
                raise
            if not told:
                reason = str(error.orig).splitlines()[0]
                say(f"{shown}: the database does not answer ({reason}); waiting for it")
                told = True
            time.sleep(pause)
            pause = min(_LONGEST, 2 * pause)
            continue
        if told:
            say(f"{shown}: the database is back")
        return connection
