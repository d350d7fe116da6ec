"""Parts of a page, and what its server sends: scripts, JSON, headers and refusals.

A script consists of modules that import each other. It is sent as one text, in which each module follows the
modules that it imports, without import and export statements.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from oversight.harness.config import Study
from oversight.harness.output import keep_secret, redact_bytes

if TYPE_CHECKING:
    from aiohttp import web

_IMPORT = re.compile(r"^import [^;]*?from \"[a-z_./]*?([a-z_]+)\.js\";\n", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?=async |function |const |let |class )", re.MULTILINE)
NOWHERE = "default-src 'none'; base-uri 'none'; form-action 'none'"
"""Start of a Content-Security-Policy that allows nothing."""
_POLICY = (
    f"{NOWHERE}; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'"
)
"""Content-Security-Policy of the served page: only its own files, and not inside frames."""
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def keep_keys(study: Study) -> None:
    """Hide the keys of all of a study's models in log lines."""
    for name in study.models:
        keep_secret(os.environ.get(study.model(name).api_key_env))


def write_json(value: Any) -> bytes:
    """Return a value as JSON without secrets; NaN and infinite numbers become null."""
    written = orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY)
    return redact_bytes(written)


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


@cache
def read_script(folder: Path) -> str:
    """Return all modules in a page's folder `script` as one script, which ends with ``main.js``."""
    ordered: list[str] = []
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("script/**/*.js"))}

    def add(name: str) -> None:
        if name not in ordered:
            for needed in _IMPORT.findall(texts[name]):
                add(needed)
            ordered.append(name)

    add("main")
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", texts[name])) for name in ordered)


async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Add the headers that say what the page may do, before anything is sent."""
    response.headers.update(_HEADERS)


def refuse(status: int, why: str) -> web.Response:
    """Make a response with the reason why the request is refused."""
    from aiohttp import web  # imported here, because writing a page to a file does not need it

    return web.Response(status=status, body=write_json({"error": why}), content_type="application/json")
