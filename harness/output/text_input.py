"""Decode text files of other programs, and recognise files that are not text."""

from __future__ import annotations

import codecs
import io
import re
from pathlib import Path

UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_STARTS = (
    (b"PK\x03\x04", "is a workbook or another ZIP file; rename it to .xlsx"),
    (b"\x1f\x8b", "is compressed with gzip; rename it to {name}.gz, or unpack it"),
    (b"PAR1", "is a Parquet file; rename it to .parquet"),
    (b"\xd0\xcf\x11\xe0", "is a workbook of an old Excel (.xls); save it as .xlsx, or as CSV UTF-8"),
    (b"%PDF", "is a PDF document; save its data as CSV or JSON Lines"),
    (b"SQLite format 3\0", "is an SQLite database; export its table as CSV"),
    (b"\x28\xb5\x2f\xfd", "is compressed with Zstandard; unpack it"),
    (b"BZh", "is compressed with bzip2; unpack it"),
    (b"\xfd7zXZ", "is compressed with xz; unpack it"),
    (
        b"version https://git-lfs.github.com/",
        "is a Git LFS pointer, not the file itself; fetch the file with: git lfs pull",
    ),
)
_PAGE = re.compile(rb"\s*(<!--.*?-->\s*)*<(!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)


def decode_text(data: bytes) -> str:
    r"""Decode UTF-8, or UTF-16 with a byte order mark; remove the mark and normalise line breaks to \n.

    Raises
    ------
    UnicodeDecodeError
        If the data are neither UTF-8 nor UTF-16.

    Examples
    --------
    >>> decode_text(b"\xef\xbb\xbfa\r\nb"), decode_text("a".encode("utf-16"))
    ('a\nb', 'a')
    """
    text = data.decode("utf-16" if data.startswith(UTF_16_MARKS) else "utf-8-sig")
    return io.StringIO(text, newline=None).read()


def read_text(path: Path) -> str:
    """Read a text file as `decode_text` does.

    Raises
    ------
    OSError, UnicodeDecodeError
        If the file cannot be read, or is not UTF-8 or UTF-16.
    """
    return decode_text(path.read_bytes())


def explain_kind(start: bytes, name: str) -> str:
    """Return what kind of file begins with these bytes, and what to do; empty if it could be a data file.

    Examples
    --------
    >>> explain_kind(b"<!DOCTYPE html><html>", "items.jsonl")
    'is an HTML page, for example a sign-in or error page, not the data; download the file itself'
    """
    if _PAGE.match(start.removeprefix(codecs.BOM_UTF8)):
        return "is an HTML page, for example a sign-in or error page, not the data; download the file itself"
    return next((told.format(name=name) for mark, told in _STARTS if start.startswith(mark)), "")
