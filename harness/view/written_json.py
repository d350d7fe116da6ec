"""Payloads as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from harness.output import redact_secrets


def write_json(value: Any) -> bytes:
    """JSON without secrets, whatever was stored; numbers that are none become null."""
    written = orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY)
    return redact_secrets(written.decode()).encode()


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)
