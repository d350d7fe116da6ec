r"""Texts that others wrote, made safe to keep and to show: secrets out, control characters visible.

What a database or a terminal cannot take is written as JSON writes it (``\u0000``, ``\u001b``), so that a
reader sees what was there and JSON stays the same JSON.

Texts in cells of CSV files are guarded, so that no spreadsheet program takes them for formulas.
"""

from __future__ import annotations

import json
import re
from functools import partial
from urllib.parse import quote

SHORTEST_SECRET = 8
"""A shorter one ("none", "test") would blank out ordinary words wherever they stand."""

_LONG = 16
_REDACTED = "[redacted]"
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# C0 without tab and line feed, DEL, C1, what turns the direction of writing, line separators, half pairs.
_INVISIBLE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# A URL's password ends at the last @ before a blank; digits and a slash are a port.
_URL_PASSWORD = re.compile(r"(://[^\s/:@'\"]*:)(?!\d+(?:[/?#]|$))[^\s'\"]+@")
_URL_FIELD = re.compile(r"(?i)([?&](?:password|passwd|api[_-]?key|token|secret)=)[^&\s'\"]+")

_secrets = dict[str, None]()
_results = dict[str, None]()


def keep_secret(text: str | None) -> None:
    """Have a key or password replaced wherever `redact` is applied, as it is and as URLs and JSON write it.

    Left alone are those shorter than 8 characters, and those of less than 16 that are one word in small
    letters ("postgres"): they are no secrets, and ordinary text holds them.
    """
    if not text or len(text) < SHORTEST_SECRET or (len(text) < _LONG and text.isalpha() and text.islower()):
        return
    for form in (text, quote(text, safe=""), json.dumps(text)[1:-1]):
        _secrets[form] = None


def redact_secrets(text: str) -> str:
    """Replace the known secrets, and nothing else: for what is kept as it came."""
    for secret in _secrets:
        if secret in text:
            text = text.replace(secret, _REDACTED)
    return text


def redact_bytes(text: bytes) -> bytes:
    """The same of a text in UTF-8, which may be large."""
    for secret in _secrets:
        if (known := secret.encode()) in text:
            text = text.replace(known, _REDACTED.encode())
    return text


def redact(text: str) -> str:
    """Replace the known secrets and the passwords of URLs: for messages."""
    text = redact_secrets(text)
    if "://" in text:
        text = _URL_FIELD.sub(r"\1***", _URL_PASSWORD.sub(r"\1***@", text))
    return text


def make_storable(text: str) -> str:
    """Without secrets, NUL and lone surrogates, which not every database takes."""
    text = redact_secrets(text)
    if "\0" in text or not text.isascii():
        return _UNSTORABLE.sub(_escape, text)
    return text


def make_printable(text: str) -> str:
    """Without secrets and without anything that a terminal obeys in place of showing it."""
    return _INVISIBLE.sub(_escape, redact(text))


def make_encodable(text: str, encoding: str | None) -> str:
    """Write characters that an encoding lacks as JSON writes them, so that JSON stays the same JSON."""
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return "".join(map(partial(_encodable, encoding=encoding or "utf-8"), text))
    return text


def _encodable(character: str, encoding: str) -> str:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return json.dumps(character)[1:-1]
    return character


def reveal(text: str) -> None:
    """Have a secret that a command exists to print, such as an invitation link, stand whole in its result.

    Errors, logs and stored texts mask it as before: only `make_result` lets it through.
    """
    if text:
        _results.update({text: None, json.dumps(text, ensure_ascii=False)[1:-1]: None})


def make_result(text: str) -> str:
    """Make a command's result printable as `make_printable` does, but for what was revealed."""
    whole = sorted((secret for secret in _results if secret in text), key=len, reverse=True)
    if not whole:
        return make_printable(text)
    parts = re.split(f"({'|'.join(map(re.escape, whole))})", text)
    return "".join(
        _INVISIBLE.sub(_escape, part) if part in _results else make_printable(part) for part in parts
    )


def shorten(value: object, most: int = 80) -> str:
    """Show a wrong value in a message, whatever its size."""
    try:
        shown = repr(value)
    except (RecursionError, ValueError):  # an integer of very many digits is a ValueError
        return f"a {type(value).__name__} too deep or too long to be shown"
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def join_lines(text: str) -> str:
    """A text with one character for each line break."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


_FORMULA = "=+\\-@\t\r\n＝＋－＠"
_TO_GUARD, _GUARDED = re.compile(f"'*[{_FORMULA}]"), re.compile(f"'+[{_FORMULA}]")


def guard_cell(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet program would take for a formula.

    >>> guard_cell("=1+1"), unguard_cell("'=1+1"), guard_cell("1+1")
    ("'=1+1", '=1+1', '1+1')
    """
    return f"'{text}" if _TO_GUARD.match(text) else text


def unguard_cell(text: str) -> str:
    """Return the text that `guard_cell` was given."""
    return text[1:] if _GUARDED.match(text) else text
