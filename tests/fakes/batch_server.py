"""A loopback server with the part of the OpenAI protocol that batches need: files, batches, their list."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from tests.fakes.serving import serving

Line = dict[str, Any]


@dataclass
class FakeBatches:
    """`answer(request line)` makes the output line; None leaves it out. `steps`: looks until a batch ends.

    `broken` holds statuses of errors by patterns of ``"GET /v1/…"``, which hold once if they end with ``!``;
    a request with a status from 500 is taken, and its reply is lost. `echoes`: whether metadata is returned.
    `pages`: how batches are listed, as OpenAI does ("after"), Groq ("cursor") and others do, two at a time.
    """

    answer: Callable[[Line], Line | None]
    steps: int = 0
    end: str = "completed"
    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    paid: list[str] = field(default_factory=list)
    broken: dict[str, int] = field(default_factory=dict)
    echoes: bool = True
    pages: str = "all"

    def find_status(self, request: str) -> int | None:
        for pattern, status in list(self.broken.items()):
            if re.fullmatch(pattern.removesuffix("!"), request):
                if pattern.endswith("!"):
                    del self.broken[pattern]
                return status
        return None

    def list_page(self, query: dict[str, list[str]]) -> object:
        every, names = list(self.batches.values()), list(self.batches)
        if self.pages == "array":
            return every
        if self.pages == "all":
            return {"object": "list", "data": every, "has_more": False}
        last = (query.get("cursor" if self.pages == "cursor" else "after") or [""])[0]
        start = names.index(last) + 1 if last and self.pages != "deaf" else 0
        data, is_last = every[start : start + 2], start + 2 >= len(every)
        if self.pages == "cursor":
            return {
                "object": "list",
                "data": data,
                "paging": {} if is_last else {"next_cursor": data[-1]["id"]},
            }
        if self.pages == "untold":
            return {"object": "list", "data": data}
        return {"object": "list", "data": data, "has_more": not is_last}

    def get(self, path: str, query: str = "") -> bytes | None:
        if found := re.fullmatch(r"/v1/batches/([\w-]+)", path):
            return json.dumps(self.look(found[1])).encode()
        if found := re.fullmatch(r"/v1/files/([\w-]+)/content", path):
            return self.files[found[1]]
        if path == "/v1/batches":
            return json.dumps(self.list_page(parse_qs(query))).encode()
        return None

    def post(self, path: str, body: bytes) -> bytes | None:
        if path == "/v1/files":
            return json.dumps(self.upload(body)).encode()
        if path == "/v1/batches":
            return json.dumps(self.create(json.loads(body))).encode()
        if found := re.fullmatch(r"/v1/batches/([\w-]+)/cancel", path):
            self.batches[found[1]]["status"] = "cancelling"
            return json.dumps(self.batches[found[1]]).encode()
        return None

    def upload(self, body: bytes) -> dict[str, Any]:
        boundary = body.split(b"\r\n", 1)[0]
        part = next(p for p in body.split(boundary) if b'name="file"' in p)
        name = f"file-{len(self.files)}"
        self.files[name] = part.split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
        return {
            "id": name,
            "object": "file",
            "bytes": 1,
            "created_at": 0,
            "filename": "f",
            "purpose": "batch",
        }

    def create(self, body: dict[str, Any]) -> dict[str, Any]:
        name = f"batch-{len(self.batches)}"
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "endpoint": body["endpoint"],
            "input_file_id": body["input_file_id"],
            "completion_window": body["completion_window"],
            "metadata": body["metadata"] if self.echoes else None,
            "status": "in_progress",
            "created_at": 0,
            "looks": 0,
        }
        return self.batches[name]

    def look(self, name: str) -> dict[str, Any]:
        batch = self.batches[name]
        batch["looks"] += 1
        if batch["status"] in ("in_progress", "cancelling") and batch["looks"] > self.steps:
            self._finish(batch)
        return batch

    def _finish(self, batch: dict[str, Any]) -> None:
        lines = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        self.paid += [line["body"]["messages"][-1]["content"] for line in lines]
        output = [found for found in map(self.answer, reversed(lines)) if found is not None]
        self.files[f"out-{batch['id']}"] = "\n".join(map(json.dumps, output)).encode()
        cancelled = batch["status"] == "cancelling"
        batch |= {"status": "cancelled" if cancelled else self.end, "output_file_id": f"out-{batch['id']}"}


def said(line: Line, text: str) -> Line:
    """A line of output in which the model said `text`."""
    message = {"role": "assistant", "content": text}
    body = {
        "model": line["body"]["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1_000, "completion_tokens": 100},
    }
    return {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}, "error": None}


@contextmanager
def fake_batches(fake: FakeBatches) -> Iterator[FakeBatches]:
    """Serve it until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # the base class wants this name
            path, _, query = self.path.partition("?")
            status = fake.find_status(f"GET {path}")
            self._send(None if status else fake.get(path, query), status or 404)

        def do_POST(self) -> None:  # the base class wants this name
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = fake.find_status(f"POST {self.path}")
            # with these statuses the server accepts the request, but the reply is lost
            is_taken = status is None or status >= 500
            data = fake.post(self.path, body) if is_taken else None
            self._send(None if status else data, status or 404)

        def _send(self, data: bytes | None, status: int) -> None:
            self.send_response(status if data is None else 200)
            data = data or b"{}"
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Keep the test output clean."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        fake.url = f"{url}/v1"
        yield fake
