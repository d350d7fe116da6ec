"""A hash of many replies that came together: an event each would take longer than the replies themselves."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import orjson


class BatchDigest:
    """A hash of ids, people and values in the order of their arrival, whatever the portions they come in."""

    def __init__(self) -> None:
        self._hashes = tuple(sha256() for _ in range(3))
        self.number = 0

    def add(self, ids: Sequence[str], people: Sequence[str], values: Sequence[str]) -> None:
        """Add a portion of replies, column by column."""
        for hashed, column in zip(self._hashes, (ids, people, values), strict=True):
            hashed.update(orjson.dumps(list[Any](column))[1:-1] + b"," * bool(column))
        self.number += len(ids)

    def digest(self) -> str:
        """The hash of all that was added."""
        return sha256(b"".join(hashed.digest() for hashed in self._hashes)).hexdigest()
