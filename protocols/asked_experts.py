"""Whom questions were put to, for answers that come back in files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from harness.store import Store


class AskedExperts:
    """Whom questions were put to: looked up, until it is quicker to read the rest at one go.

    What was read is given once, since each question has one answer, and looked up should there be another.
    """

    def __init__(self, store: Store) -> None:
        self._content, self._controls = store.content, store.controls
        # one that is looked up takes as long as five or six that are read with all
        self._enough, self._looked_up = store.content.count_questions() / 30, 0
        self._read: dict[str, str] | None = None

    def find(self, ids: Sequence[str]) -> list[str | None]:
        """Whom each question was put to, None if it was never asked."""
        if self._read is None and self._looked_up > self._enough:
            self._read = self._content.read_experts() | self._controls.read_experts()
        found: list[str | None] = (
            [None] * len(ids) if self._read is None else list(map(self._read.pop, ids, repeat(None)))
        )
        if None in found:
            others = [name for name, expert in zip(ids, found, strict=True) if expert is None]
            self._looked_up += len(others)
            looked_up = self._content.find_experts(others)
            if len(looked_up) < len(others):
                looked_up |= self._controls.find_experts([i for i in others if i not in looked_up])
            found = [expert or looked_up.get(name) for name, expert in zip(ids, found, strict=True)]
        return found
