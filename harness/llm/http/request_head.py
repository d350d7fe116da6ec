"""The head of a request as bytes, made once for many requests."""

from __future__ import annotations

import re
from collections.abc import Mapping

from oversight.harness.errors import ConfigError

_PLAIN = re.compile(r"[\x20-\x7e]*")


def make_head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    """Write the request line and the headers; the length of a body and an empty line are still to follow.

    Raises
    ------
    ConfigError
        If a header's value could end the header, or is not ASCII; the value is not shown.
    """
    for name, value in headers.items():
        if not _PLAIN.fullmatch(value):
            raise ConfigError(
                f"the {name} header would hold a line break or another character that none may hold"
            )
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, ""]).encode("ascii")
