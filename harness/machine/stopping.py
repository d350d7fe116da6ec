"""Let SIGTERM and SIGHUP stop a command as Ctrl-C does, with a message for the user."""

from __future__ import annotations

import signal
from types import FrameType

from oversight.harness.errors import Stopped


def stop_in_order() -> None:
    """Let SIGTERM and SIGHUP raise `Stopped` in the main thread, unless they are ignored, as by nohup."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _raise_stopped)


def is_unattended(number: signal.Signals) -> bool:
    """Whether a signal is not handled by other code, so that it stops the process."""
    return signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler, _raise_stopped)


def _raise_stopped(number: int, _: FrameType | None) -> None:
    raise Stopped(number)
