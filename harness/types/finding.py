"""A finding on this machine, a study or a server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: ``"ok"``, ``"missing"`` (optional) or ``"wrong"``."""

    what: str
    state: str
    detail: str
