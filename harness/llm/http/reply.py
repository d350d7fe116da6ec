"""A reply, and its body as it arrives: unpacked bit by bit and never kept beyond a cap."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import NamedTuple

from oversight.harness.llm.http.failures import BadReply

READABLE = "gzip, deflate"
"""What a server is told it may compress with."""

_PLAIN = ("identity", "none", "utf-8", "binary", "8bit", "7bit", "chunked")
"""What servers call a body that is not packed."""
_PACKINGS = ("gzip", "x-gzip", "deflate")
_AUTO = 32 + zlib.MAX_WBITS  # gzip or zlib, by its first bytes
_RAW = -zlib.MAX_WBITS  # what some servers take "deflate" to mean


class HttpReply(NamedTuple):
    """A reply of any status; names of headers in lower case, the body unpacked."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ReplyBody:
    """Collects a body.

    Parameters
    ----------
    headers
        Of the reply, names in lower case.
    most
        Bytes it may have, unpacked.

    Attributes
    ----------
    arrived
        Bytes that came so far, as they came.

    Raises
    ------
    BadReply
        If it is packed in a way that was not offered.
    """

    __slots__ = ("_most", "_packing", "_parts", "_size", "_unpack", "arrived")

    def __init__(self, headers: Mapping[str, str], most: int) -> None:
        self.arrived = self._size = 0
        self._most, self._parts = most, list[bytes]()
        self._unpack: zlib._Decompress | None = None
        packing = headers.get("content-encoding", "").strip().lower()
        self._packing = "" if packing in _PLAIN else packing
        if self._packing and self._packing not in _PACKINGS:
            raise BadReply(f"the reply is packed as {self._packing[:40]!r}, which was not offered")

    def add(self, data: bytes) -> None:
        """Take in what came.

        Raises
        ------
        BadReply
            If the body is larger than allowed, or cannot be unpacked.
        """
        self.arrived += len(data)
        if self._packing:
            data = self._unpacked(data)
        self._size += len(data)
        if self._size > self._most:
            raise BadReply(f"the reply is larger than {self._most:,} bytes")
        self._parts.append(data)

    def join(self) -> bytes:
        """Return the whole body.

        Raises
        ------
        BadReply
            If it ends before what it is packed in does.
        """
        if self._unpack is not None and not self._unpack.eof:
            raise BadReply("the body was cut short")
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def _unpacked(self, data: bytes) -> bytes:
        """At most one byte more than there is room for, however much would come out."""
        if self._unpack is None:
            is_raw = self._packing == "deflate" and data[0] & 0x0F != zlib.DEFLATED
            self._unpack = zlib.decompressobj(_RAW if is_raw else _AUTO)
        try:
            found = self._unpack.decompress(data, self._most - self._size + 1)
        except zlib.error as error:
            raise BadReply(f"the body cannot be unpacked: {error}") from error
        if self._unpack.unused_data:
            raise BadReply("something follows the end of the packed body")
        return found
