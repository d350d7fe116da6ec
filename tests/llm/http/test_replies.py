"""Every form of reply is read as HTTP says, and what is none of them is a fault."""

from __future__ import annotations

import gzip
import zlib

import pytest

from oversight.harness.errors import Fault, TransientModelError
from oversight.harness.llm import HttpClient
from oversight.harness.llm.models.http_client import HttpReply
from tests.fakes.raw_server import answer, raw_server
from tests.llm.http.conftest import Asking

BODY = b'{"text": "' + b"x" * 3_000 + b'"}'
RAW_DEFLATE = zlib.compressobj(wbits=-15)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def packed(coding: str, data: bytes) -> bytes:
    return answer(data, f"Content-Encoding: {coding}")


def in_chunks(data: bytes, size: int) -> bytes:
    parts = [data[i : i + size] for i in range(0, len(data), size)]
    return CHUNKED + b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in parts) + b"0\r\nTrailer: x\r\n\r\n"


FORMS = {
    "length": answer(BODY),
    "chunks": in_chunks(BODY, 1_000),
    "tiny chunks": in_chunks(BODY, 1),
    "gzip": packed("gzip", gzip.compress(BODY)),
    "zlib": packed("deflate", zlib.compress(BODY)),
    "raw deflate": packed("deflate", RAW_DEFLATE.compress(BODY) + RAW_DEFLATE.flush()),
    "gzip in chunks": in_chunks(gzip.compress(BODY), 7).replace(
        b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n", 1
    ),
    "after an interim reply": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    + answer(BODY),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cut", ["whole", "byte by byte"])
def test_every_form_of_a_body_is_read_and_the_connection_kept(form: str, cut: str, asking: Asking) -> None:
    data = FORMS[form]
    parts = [data] if cut == "whole" else [data[i : i + 1] for i in range(len(data))]

    async def twice(client: HttpClient) -> list[HttpReply]:
        return [await client.request("POST", "/path", b"{}") for _ in range(2)]

    with raw_server(lambda _: parts) as server:
        found = asking(f"http://127.0.0.1:{server.port}/v1/", twice)
    assert [(r.status, r.body) for r in found] == [(200, BODY)] * 2
    assert server.connections == 1
    assert [r.line for r in server.seen] == ["POST /v1/path HTTP/1.1"] * 2
    assert server.seen[0].headers["authorization"] == "Bearer secret"
    assert server.seen[0].headers["accept-encoding"] == "gzip, deflate"
    assert server.seen[0].headers["host"] == f"127.0.0.1:{server.port}"


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.0 200 OK\r\nX: y\r\n\r\n"])
def test_a_body_without_a_length_ends_with_the_connection(head: bytes, asking: Asking) -> None:
    with raw_server(lambda _: [head, BODY[:50], BODY[50:], None]) as server:
        assert asking(f"http://127.0.0.1:{server.port}").body == BODY


def test_errors_and_redirects_are_replies_like_any(asking: Asking) -> None:
    reply = answer(b"gone", "Location: http://elsewhere.test/", "Retry-After: 3", status="302 X")
    with raw_server(lambda _: [reply]) as server:
        found = asking(f"http://127.0.0.1:{server.port}")
    assert (found.status, found.body, found.headers["Retry-After"]) == (302, b"gone", "3")
    assert len(server.seen) == 1


@pytest.mark.parametrize("form", ["HTTP/1.0", "Connection: close"])
def test_a_connection_that_the_server_will_close_is_not_used_again(form: str, asking: Asking) -> None:
    close = answer(b"{}", "Connection: close")
    reply = close if form != "HTTP/1.0" else answer(b"{}").replace(b"HTTP/1.1", b"HTTP/1.0")

    async def twice(client: HttpClient) -> None:
        for _ in range(2):
            await client.request("POST", "/path", b"{}")

    with raw_server(lambda _: [reply]) as server:
        asking(f"http://127.0.0.1:{server.port}", twice)
    assert server.connections == 2


def test_unrequested_bytes_after_a_reply_are_not_the_next_reply(asking: Asking) -> None:
    async def twice(client: HttpClient) -> list[bytes]:
        return [(await client.request("POST", "/path", b"{}")).body for _ in range(2)]

    with raw_server(lambda r: [answer(b"right") + answer(b"wrong")]) as server:
        assert asking(f"http://127.0.0.1:{server.port}", twice) == [b"right", b"right"]
    assert server.connections == 2


BAD = {
    "no HTTP": b"SSH-2.0-OpenSSH\r\n",
    "two lengths": answer(b"{}", "Content-Length: 3"),
    "length and chunks": answer(b"{}", "Transfer-Encoding: chunked"),
    "brotli": packed("br", b"x"),
    "no gzip": packed("gzip", b"plain"),
    "cut body": answer(BODY)[:-5],
    "cut chunks": in_chunks(BODY, 100)[:-30],
}


@pytest.mark.parametrize("kind", BAD)
def test_unreadable_reply_is_malformed(kind: str, asking: Asking) -> None:
    with (
        raw_server(lambda _: [BAD[kind], None]) as server,
        pytest.raises(TransientModelError, match="this is not an HTTP reply") as raised,
    ):
        asking(f"http://127.0.0.1:{server.port}")
    assert raised.value.fault is Fault.MALFORMED
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("data", [[None], [b"HTTP/1.1 200 OK\r\nContent-Le", None]])
def test_closed_connection_is_one_fault_and_not_repeated(data: list[bytes | None], asking: Asking) -> None:
    with raw_server(lambda _: data) as server, pytest.raises(TransientModelError) as raised:
        asking(f"http://127.0.0.1:{server.port}")
    assert (raised.value.fault, raised.value.sent) == (Fault.CONNECTION, True)
    assert len(server.seen) == 1  # the call may have been charged, so only the caller may repeat it


def test_ipv6_addresses_are_reached(asking: Asking) -> None:
    with raw_server(lambda _: [answer(b"six")], host="::1") as server:
        assert asking(f"http://[::1]:{server.port}").body == b"six"
    assert server.seen[0].headers["host"] == f"[::1]:{server.port}"
