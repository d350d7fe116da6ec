"""A loopback server that speaks the chat-completions protocol, for faults a real one won't produce."""

from __future__ import annotations

import gzip
import json
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.fakes.serving import serving


@dataclass(frozen=True)
class Reply:
    """Reply of the server: a completion with `text`, or any `body` with any `status`."""

    text: str = ""
    status: int = 200
    body: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    finish_reason: str = "stop"
    drop: bool = False
    model: str | None = None  # None: the requested model
    logprobs: tuple[tuple[str, float], ...] = ()
    tops: tuple[dict[str, float], ...] = ()  # for each token: the most likely tokens with their probabilities
    stall: float = 0.0  # seconds between the first and the second half of the body
    missing: int = 0  # number of bytes at the end that are never sent
    billed: tuple[int, int] = (7, 3)  # tokens sent and received, if the status is 200
    says_usage: bool = True
    packed: bool = False  # as gzip
    endless: bool = False  # sends the body repeatedly, in chunks, without end

    def payload(self, asked: str) -> str:
        if self.body is not None:
            return self.body
        message = {"role": "assistant", "content": self.text}
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        if self.logprobs:
            content: list[dict[str, Any]] = [{"token": t, "logprob": p} for t, p in self.logprobs]
            for part, top in zip(content, self.tops, strict=False):
                part["top_logprobs"] = [{"token": t, "logprob": math.log(p)} for t, p in top.items()]
            choice["logprobs"] = {"content": content}
        completion = {
            "id": "c",
            "object": "chat.completion",
            "created": 0,
            "model": self.model or asked,
            "choices": [choice],
        }
        if self.says_usage:
            sent, received = self.billed
            usage = {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}
            completion["usage"] = usage
        return json.dumps(completion)


@dataclass
class FakeOpenAI:
    """`answer(prompt, n)` makes the reply to the n-th call (from 0); calls and keys are kept.

    `bill` has the tokens sent and received of every call that is to be paid for.
    """

    answer: Callable[[str, int], Reply]
    url: str = ""
    prompts: list[str] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    bill: list[tuple[int, int]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def call(self, request: dict[str, Any], key: str) -> Reply:
        prompt = str(request["messages"][-1]["content"])
        with self.lock:
            n = len(self.prompts)
            self.prompts.append(prompt)
            self.requests.append(request)
            self.keys.append(key)
        reply = self.answer(prompt, n)
        if reply.status == 200:
            with self.lock:
                self.bill.append(reply.billed)
        return reply


@contextmanager
def fake_openai(answer: Callable[[str, int], Reply], port: int = 0) -> Iterator[FakeOpenAI]:
    fake = FakeOpenAI(answer)
    hung_up = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # otherwise every answer waits 40 ms for an acknowledgement

        def do_POST(self) -> None:  # the base class wants this name
            length = int(self.headers["Content-Length"])
            request = json.loads(self.rfile.read(length))
            reply = fake.call(request, self.headers.get("Authorization", ""))
            if reply.drop:
                self.close_connection = True
                return
            data = reply.payload(request["model"]).encode()
            data = gzip.compress(data, 1) if reply.packed else data
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            if reply.packed:
                self.send_header("Content-Encoding", "gzip")
            if reply.endless:
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                with suppress(ConnectionError):
                    while not hung_up.is_set():
                        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
                self.close_connection = True
                return
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            half = len(data) // 2 if reply.stall else 0
            with suppress(ConnectionError):  # the client may close the connection
                self.wfile.write(data[:half])
                hung_up.wait(reply.stall)
                self.wfile.write(data[half : len(data) - reply.missing])
            self.close_connection = reply.missing > 0

        def log_message(self, *_: object) -> None:
            """Keep the test output clean."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 256  # with the default, many simultaneous connections fail

        def handle_error(self, *_: object) -> None:
            """A client that hangs up is no error of the server."""

    server = Server(("127.0.0.1", port), Handler)
    with serving(server) as url:
        fake.url = f"{url}/v1"
        try:
            yield fake
        finally:
            hung_up.set()
