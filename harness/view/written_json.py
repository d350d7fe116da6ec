"""Payloads as JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import orjson

from oversight.harness.config import Study
from oversight.harness.output import keep_secret, redact_bytes


def keep_keys(study: Study) -> None:
    """Have no key of a study's models written, wherever it stands."""
    for name in study.models:
        keep_secret(os.environ.get(study.model(name).api_key_env))


def write_json(value: Any) -> bytes:
    """JSON without secrets, whatever was stored; numbers that are none become null."""
    written = orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY)
    return redact_bytes(written)


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)
