"""Reading JSON of other programs' making: every miss is named by file, record and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.errors import DataError


def load_json(data: bytes, path: Path, line: int | None = None) -> Any:
    """Parse JSON.

    Raises
    ------
    DataError
        If it is not UTF-8 or not JSON.
    """
    try:
        return json.loads(data)
    except UnicodeDecodeError:
        raise DataError("not UTF-8", file=path, line=line) from None
    except ValueError as error:
        raise DataError(f"malformed JSON: {error}", file=path, line=line) from None


def need(record: Any, field: str, kind: type | tuple[type, ...], path: Path, line: int) -> Any:
    """Return a field by its dotted name.

    Raises
    ------
    DataError
        If it is not there or of another type.
    """
    value = record
    for part in field.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if not isinstance(value, kind):
        names = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
        raise DataError(f"must be {names}, is {type(value).__name__}", file=path, line=line, field=field)
    return value
