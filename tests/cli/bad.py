"""A kind of bad input: what changes a good study, the command that must refuse it, and its message."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

STUDY = """\
[study]
name = "t"
[items]
file = "items.csv"
classes = ["red", "green", "blue"]
[models.m]
endpoint = "http://127.0.0.1:9/v1"
model = "m"
tries = 1
"""
ROSTER = "".join(f'[[expert]]\nname = "{c}"\nclasses = ["{c}"]\n' for c in ("red", "green", "blue"))
ITEMS = "id,text\n" + "".join(f"i{j},text {j}\n" for j in range(9))


@dataclass(frozen=True)
class Bad:
    name: str
    change: Callable[[], object]
    command: str
    message: str
    code: int = 2


def edit(name: str, old: str, new: str) -> Callable[[], None]:
    def change() -> None:
        text = Path(name).read_text()
        assert old in text
        Path(name).write_text(text.replace(old, new, 1))

    return change


def put(name: str, data: bytes | str) -> Callable[[], None]:
    return lambda: (Path(name).write_bytes(data if isinstance(data, bytes) else data.encode()), None)[1]


def in_store(sql: str) -> Callable[[], None]:
    def change() -> None:
        connection = sqlite3.connect("study.db")
        connection.execute(sql)
        connection.commit()
        connection.close()

    return change
