r"""Make foreign texts safe to store and show: mask secrets, and make control characters visible.

Characters that a database cannot store, or that a terminal would interpret, are written as JSON escapes
(``\u0000``, ``\u001b``), so that readers see them and JSON keeps its meaning.

Cells of CSV files are guarded, so that no spreadsheet program interprets them as formulas.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import partial
from urllib.parse import quote


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, for example ``1 expert`` or ``3 experts``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def pool_text(drawn: int, size: int) -> str:
    """Return for example ``300 of 12,000 items drawn``."""
    return f"{drawn:,} of {size:,} items drawn"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the suffix ``; did you mean 'route'?`` for an error, or an empty text if no name is similar."""
    from difflib import get_close_matches

    by_plain = {each.casefold(): each for each in known}
    found = get_close_matches(name.casefold(), by_plain, n=1, cutoff=0.6)
    return f"; did you mean {by_plain[found[0]]!r}?" if found else ""


SHORTEST_SECRET = 8
"""Length of the shortest secret that is masked; shorter values ("none", "test") occur in ordinary text."""

_LONG = 16
_REDACTED = "[redacted]"
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# C0 without tab and line feed, DEL, C1, direction marks, line separators, half surrogate pairs.
_INVISIBLE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# The password in a URL ends at the last @ before a space; digits followed by a slash are a port.
_URL_PASSWORD = re.compile(r"(://[^\s/:@'\"]*:)(?!\d+(?:[/?#]|$))[^\s'\"]+@")
_URL_FIELD = re.compile(r"(?i)([?&](?:password|passwd|api[_-]?key|token|secret)=)[^&\s'\"]+")

_secrets = dict[str, None]()
_results = dict[str, None]()


def keep_secret(text: str | None) -> None:
    """Register a key or password as a secret that `redact` masks, also in its URL-encoded and JSON forms.

    Values shorter than 8 characters are ignored, and so are lower-case words shorter than 16 characters
    ("postgres"), because ordinary text contains them.
    """
    if not text or len(text) < SHORTEST_SECRET or (len(text) < _LONG and text.isalpha() and text.islower()):
        return
    for form in (text, quote(text, safe=""), json.dumps(text)[1:-1]):
        _secrets[form] = None


def redact_secrets(text: str) -> str:
    """Mask only the registered secrets, for texts that are otherwise stored unchanged."""
    for secret in _secrets:
        if secret in text:
            text = text.replace(secret, _REDACTED)
    return text


def redact_bytes(text: bytes) -> bytes:
    """Mask the registered secrets in UTF-8 bytes, without decoding them."""
    for secret in _secrets:
        if (known := secret.encode()) in text:
            text = text.replace(known, _REDACTED.encode())
    return text


def redact(text: str) -> str:
    """Mask the registered secrets and the passwords in URLs, for messages."""
    text = redact_secrets(text)
    if "://" in text:
        text = _URL_FIELD.sub(r"\1***", _URL_PASSWORD.sub(r"\1***@", text))
    return text


def make_storable(text: str) -> str:
    """Mask secrets, and escape NUL and unpaired surrogates, which not every database can store."""
    text = redact_secrets(text)
    if "\0" in text or not text.isascii():
        return _UNSTORABLE.sub(_escape, text)
    return text


def make_printable(text: str) -> str:
    """Mask secrets, and escape all characters that a terminal would interpret."""
    return _INVISIBLE.sub(_escape, redact(text))


def make_encodable(text: str, encoding: str | None) -> str:
    """Write characters that the encoding lacks as JSON escapes, so that JSON keeps its meaning."""
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
    """Allow a secret, such as a requested invitation link, to appear in a command's result.

    Errors, logs and stored texts still mask it; only `make_result` shows it.
    """
    if text:
        _results.update({text: None, json.dumps(text, ensure_ascii=False)[1:-1]: None})


def make_result(text: str) -> str:
    """Make a command's result printable like `make_printable`, but show the secrets that `reveal` allows."""
    whole = sorted((secret for secret in _results if secret in text), key=len, reverse=True)
    if not whole:
        return make_printable(text)
    parts = re.split(f"({'|'.join(map(re.escape, whole))})", text)
    return "".join(
        _INVISIBLE.sub(_escape, part) if part in _results else make_printable(part) for part in parts
    )


def shorten(value: object, most: int = 80) -> str:
    """Return the repr of an invalid value for a message, shortened to `most` characters."""
    try:
        shown = repr(value)
    except (RecursionError, ValueError):  # ValueError for an integer with too many digits
        return f"a {type(value).__name__} nested too deep or too long to be shown"
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def join_lines(text: str) -> str:
    r"""Replace the line breaks ``\r\n`` and ``\r`` by ``\n``."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def join_reasons(*reasons: str) -> str:
    """Join the reasons that are not empty.

    >>> join_reasons("too few items", "", "no key")
    'too few items; no key'
    """
    return "; ".join(filter(None, reasons))


_FORMULA = "=+\\-@\t\r\n＝＋－＠"
_TO_GUARD, _GUARDED = re.compile(f"'*[{_FORMULA}]"), re.compile(f"'+[{_FORMULA}]")


def guard_cell(text: str) -> str:
    """Prefix a text with an apostrophe if a spreadsheet program would take it for a formula.

    >>> guard_cell("=1+1"), unguard_cell("'=1+1"), guard_cell("1+1")
    ("'=1+1", '=1+1', '1+1')
    """
    return f"'{text}" if _TO_GUARD.match(text) else text


def unguard_cell(text: str) -> str:
    """Undo `guard_cell`."""
    return text[1:] if _GUARDED.match(text) else text
