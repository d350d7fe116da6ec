"""The form of a bundle: JSON Lines, each with its number and a hash of the hash before it and of itself."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Any

import orjson

from oversight.harness.store import START

FORMAT = "oversight-audit"
VERSION_OF_FORMAT = 1
LONGEST_LINE = 16 * 2**20
"""Bytes of a line; none that is written is near it."""
_END = re.compile(rb',"chain":"([0-9a-f]{64})"\}\n\Z')
_LENGTH = len(b',"chain":"') + 64 + len(b'"}\n')


def chain(before: str, body: bytes) -> str:
    """The chain value of a line: SHA-256 of the value before it and of the line's bytes up to the field."""
    return sha256(before.encode() + body).hexdigest()


def split_line(line: bytes) -> tuple[bytes, str] | None:
    """A line's bytes up to the field ``chain``, and its value; None of what has no such end."""
    found = _END.search(line[-_LENGTH:])
    return (line[:-_LENGTH], found[1].decode()) if found else None


def read_body(body: bytes) -> dict[str, Any] | None:
    """What a line says, without its chain value; None of what is no line of a bundle."""
    try:
        found = json.loads(body + b"}") if b"\\ud" in body.lower() else orjson.loads(body + b"}")
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or type(found.get("line")) is not int:
        return None
    return found


def _write(told: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(told, default=repr)
    except TypeError:  # a lone surrogate, which older versions let into events
        return json.dumps(told, default=repr, separators=(",", ":")).encode()


class ChainedLines:
    """Lines of a bundle as they are written; `head` is the last chain value, `number` how many there are."""

    def __init__(self) -> None:
        self.head, self.number = START, 0
        self.counts: dict[str, int] = {}

    def write(self, record: str, told: dict[str, Any]) -> bytes:
        """The next line, with a record of a kind."""
        self.number += 1
        self.counts[record] = self.counts.get(record, 0) + 1
        body = _write({"line": self.number, "record": record, **told})[:-1]
        self.head = chain(self.head, body)
        return body + f',"chain":"{self.head}"}}\n'.encode()
