"""Logs of runs, pulls and searches; silent unless `log_to_stderr` is called or the caller adds a handler."""

from __future__ import annotations

import logging

from oversight.harness.output.safe_text import make_printable


class _Printable(logging.Formatter):
    """Removes secrets and control characters, because messages may quote an endpoint."""

    def format(self, record: logging.LogRecord) -> str:
        return make_printable(super().format(record))


def log_to_stderr() -> None:
    """Write this project's logs to standard error; a second call has no effect."""
    logger = logging.getLogger("oversight")
    if not any(isinstance(handler.formatter, _Printable) for handler in logger.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(_Printable("%(asctime)s %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
