"""Fold SQLite's log into the file soon after each commit, so that a copy of an idle file is complete."""

from __future__ import annotations

import threading
from collections.abc import Callable

_PAUSE = 1.0
"""Seconds from a commit to the checkpoint, and between two checkpoints."""


class LogFolding:
    """A thread that checkpoints at most once per second, and ends as soon as the log is empty.

    Parameters
    ----------
    fold
        Does one checkpoint. Returns whether the whole log is in the file.
    """

    def __init__(self, fold: Callable[[], bool]) -> None:
        self._fold = fold
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._is_due = False

    def start(self) -> None:
        """Start the thread, which folds committed changes within about a second."""
        with self._lock:
            self._is_due = True
            if self._thread is None and not self._ended.is_set():
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    def end(self) -> None:
        """Stop the thread, after a running checkpoint."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while not self._ended.wait(_PAUSE):
            self._is_due = False
            is_done = self._fold()
            with self._lock:
                if is_done and not self._is_due:
                    self._thread = None
                    return
