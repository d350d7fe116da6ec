"""Size limits on bodies, headers and framing keep memory constant for any reply of a server."""

from __future__ import annotations

import gzip
import itertools
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import oversight as ov
from oversight.harness.errors import TransientModelError
from oversight.harness.types import Item
from tests.fakes.openai_server import Reply
from tests.fakes.raw_server import Received, answer, raw_server
from tests.llm.http.conftest import Asking

MB = 1_000_000
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
PACKER = zlib.compressobj(wbits=31)
BOMB = b"".join([*(PACKER.compress(bytes(MB)) for _ in range(200)), PACKER.flush()])
ENDLESS = {
    "a stream in chunks": (CHUNKED + b"\r\n", b"%x\r\n%b\r\n" % (MB, b"x" * MB)),
    "a stream": (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * MB),
    "a bomb": (answer(BOMB, "Content-Encoding: gzip"), b""),
    "an answer of 50 MB": (b"HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n", b"x" * MB),
    "a head": (b"HTTP/1.1 200 OK\r\n", b"X-Header: " + b"x" * 1_000 + b"\r\n"),
    "one header": (b"HTTP/1.1 200 OK\r\nX: ", b"x" * 100_000),
    "the extension of a chunk": (CHUNKED + b"\r\n2;x=", b"x" * 100_000),
    "trailers": (CHUNKED + b"\r\n0\r\n", b"X-Trailer: " + b"x" * 1_000 + b"\r\n"),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_endless_reply_is_cut_off(kind: str, asking: Asking) -> None:
    start, more = ENDLESS[kind]

    def reply(_: Received) -> Iterator[bytes]:
        yield start
        yield from itertools.repeat(more) if more else ()

    with raw_server(reply) as server:
        tracemalloc.start()
        try:
            with pytest.raises(TransientModelError):
                asking(f"http://127.0.0.1:{server.port}", timeout=2.0)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 30 * MB  # twice the cap, plus the buffers of both sides


@pytest.mark.parametrize("size", [1_000, 1_001])
def test_the_cap_is_exact(size: int, asking: Asking) -> None:
    packed = answer(gzip.compress(b"x" * size), "Content-Encoding: gzip")
    for data in (answer(b"x" * size), packed):
        with raw_server(lambda _, data=data: [data]) as server:  # type: ignore[misc]
            url = f"http://127.0.0.1:{server.port}"
            if size == 1_000:
                assert len(asking(url, max_reply_bytes=1_000).body) == size
            else:
                with pytest.raises(TransientModelError, match="larger than 1,000 bytes"):
                    asking(url, max_reply_bytes=1_000)


def test_too_large_answer_fails_only_its_item(tmp_path: Path) -> None:
    items = [Item(f"i{j}", f"number {j}.", ("red", "green"), (0, 1)) for j in range(3)]
    good = answer(Reply("green").payload("m").encode())
    large = answer(b'{"choices": "' + b"x" * 4_100_000)

    with raw_server(lambda r: [large if b"number 1." in r.body else good]) as server:
        url, store = f"http://127.0.0.1:{server.port}/v1", str(tmp_path / "s.db")
        found = ov.run("m", items, store=store, endpoint=url, tries=1)
    assert [p.option for p in found] == [1, None, 1]
    assert found[1].reason == "malformed response: the reply is larger than 4,000,000 bytes"
