"""Request loops that `benchmarks/runner.py` compares, each run in a separate process.

    python benchmarks/_runner_children.py WHAT URL N CONCURRENCY

WHAT is ``bare`` (aiohttp without retries or storage), ``client`` (only the runner's HTTP client), ``plain``
(aiohttp with retries, without storage), ``stored`` (the whole runner), or ``hurried`` (the whole runner with
the timeout of ``plain``).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._loopback import bare

TEMPLATE = "Answer with one letter.\n\n$text\n\n$options\n"
OPTIONS = ("red", "green", "blue", "black")
TIMEOUT = 2.0
"""Timeout of a call in seconds, for endpoints at which some calls hang."""

Work = Callable[[], None]


def main(what: str, url: str, n: int, concurrency: int) -> None:
    """Ask n questions; print CPU seconds without start-up, memory, and CPU seconds of a repeated run."""
    with tempfile.TemporaryDirectory() as folder:
        runs: dict[str, Callable[[str, int, int], Work]] = {
            "bare": bare_run,
            "client": client_run,
            "plain": plain_run,
            "stored": partial(stored_run, folder),
            "hurried": partial(stored_run, folder, timeout=TIMEOUT),
        }
        work = runs[what](url, n, concurrency)
        used = _cpu_of(work)
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
            1024 if sys.platform == "linux" else 2**20
        )
        again = _cpu_of(work) if what == "stored" else 0.0
    print(json.dumps({"cpu": used, "rss": rss, "again": again}))


def bare_run(url: str, n: int, concurrency: int) -> Work:
    import aiohttp  # noqa: F401  imported here to exclude it from the time
    import orjson  # noqa: F401

    prompts = [f"Answer with one letter.\n\n{text(j)}\n\n(A) red\n(B) green\n" for j in range(n)]
    return lambda: asyncio.run(bare(url, prompts, concurrency))


def client_run(url: str, n: int, concurrency: int) -> Work:
    import orjson

    from oversight.harness.llm import HttpClient, run_in_loop

    prompts = iter([f"Answer with one letter.\n\n{text(j)}\n\n(A) red\n(B) green\n" for j in range(n)])

    async def work(client: HttpClient) -> None:
        for prompt in prompts:
            body = {"model": "bench", "messages": [{"role": "user", "content": prompt}], "temperature": 0.0}
            reply = await client.request("POST", "/chat/completions", orjson.dumps(body))
            assert orjson.loads(reply.body)["choices"][0]["message"]["content"] == "B"

    async def workers() -> None:
        client = HttpClient(url, {}, timeout=60.0, max_reply_bytes=1_000_000)
        await asyncio.gather(*(work(client) for _ in range(concurrency)))
        await client.close()

    return lambda: run_in_loop(workers())


def plain_run(url: str, n: int, concurrency: int) -> Work:
    """Return a loop that repeats each failed call, after the requested pause or up to half a second."""
    import aiohttp
    import orjson

    source = iter(range(n))
    timeout = aiohttp.ClientTimeout(total=TIMEOUT)

    async def ask(session: aiohttp.ClientSession, prompt: str) -> float | None:
        """Make one attempt. Returns the seconds to wait before the next one, or None if it succeeded."""
        body = {"model": "bench", "messages": [{"role": "user", "content": prompt}], "temperature": 0.0}
        with contextlib.suppress(aiohttp.ClientError, TimeoutError, ValueError):
            async with session.post(f"{url}/chat/completions", data=orjson.dumps(body), timeout=timeout) as r:
                data = await r.read()
                if r.status == 200:
                    assert orjson.loads(data)["choices"]
                    return None
                if "Retry-After" in r.headers:
                    return float(r.headers["Retry-After"])
        return random.uniform(0, 0.5)  # noqa: S311  not for secrets

    async def work(session: aiohttp.ClientSession) -> None:
        for j in source:
            pause = await ask(session, text(j))
            while pause is not None:
                await asyncio.sleep(pause)
                pause = await ask(session, text(j))

    async def workers() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=concurrency)) as session:
            await asyncio.gather(*(work(session) for _ in range(concurrency)))

    return lambda: asyncio.run(workers())


def stored_run(folder: str, url: str, n: int, concurrency: int, timeout: float = 60.0) -> Work:
    """Return a function that does what `oversight run` does once the items are stored."""
    from oversight.harness.config import ModelSection
    from oversight.harness.llm import PriceTable, RequestedItems, Target, make_spec, run_alone
    from oversight.harness.llm.models import http_model  # noqa
    from oversight.harness.store import Store
    from oversight.harness.types import Item

    settings = ModelSection(
        model="bench", endpoint=url, temperature=0.0, concurrency=concurrency, timeout=timeout, tries=20
    )
    target = Target(make_spec("bench", settings, TEMPLATE, None), settings)
    store = Store(f"sqlite:///{folder}/study.db")
    ids = store.content.add_items(Item(f"i{j}", text(j), OPTIONS, (0, 1, 2, 3)) for j in range(n))

    def work() -> None:
        run_alone(RequestedItems(store, ids), [target], prices=PriceTable())
        assert store.count_rows()["prediction"] == n

    return work


def text(j: int) -> str:
    return f"question number {j} of many, about nothing in particular?"


def _cpu_of(work: Work) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
