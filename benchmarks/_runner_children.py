"""Request loops that `benchmarks/runner.py` compares, each run in a separate process.

    python benchmarks/_runner_children.py WHAT URL N CONCURRENCY

WHAT is ``bare`` (aiohttp without retries or storage), ``plain`` (aiohttp with retries, without storage),
``stored`` (the whole runner), or ``hurried`` (the whole runner with the timeout of ``plain``).
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
from typing import Any

TEMPLATE = "Answer with one letter.\n\n$text\n\n$options\n"
OPTIONS = ("red", "green", "blue", "black")
TIMEOUT = 2.0
"""Timeout of a call in seconds, for endpoints at which some calls hang."""

Work = Callable[[], None]


def main(what: str, url: str, n: int, concurrency: int) -> None:
    """Ask n questions; print CPU seconds without start-up, and peak memory in megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        runs: dict[str, Callable[[str, int, int], Work]] = {
            "bare": partial(loop_run, ask_once),
            "plain": partial(loop_run, ask_until_answered),
            "stored": partial(stored_run, folder),
            "hurried": partial(stored_run, folder, timeout=TIMEOUT),
        }
        work = runs[what](url, n, concurrency)
        before = time.process_time()
        work()
        used = time.process_time() - before
        kilobyte = 1024 if sys.platform == "linux" else 2**20
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / kilobyte
    print(json.dumps({"cpu": used, "rss": rss}))


def loop_run(ask: Callable[[Any, str, str], Any], url: str, n: int, concurrency: int) -> Work:
    """Return a loop of workers over one iterator of prompts, with aiohttp and orjson."""
    import aiohttp
    import orjson  # noqa: F401  imported here to exclude it from the time

    prompts = iter([f"Answer with one letter.\n\n{text(j)}\n\n(A) red\n(B) green\n" for j in range(n)])

    async def work(session: aiohttp.ClientSession) -> None:
        for prompt in prompts:
            await ask(session, f"{url}/chat/completions", prompt)

    async def workers() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=concurrency)) as session:
            await asyncio.gather(*(work(session) for _ in range(concurrency)))

    return lambda: asyncio.run(workers())


async def ask_once(session: Any, url: str, prompt: str) -> None:
    """Send a prompt, without a retry."""
    import orjson

    body = {"model": "bench", "messages": [{"role": "user", "content": prompt}], "temperature": 0.0}
    headers = {"Content-Type": "application/json", "Authorization": "Bearer none"}
    async with session.post(url, data=orjson.dumps(body), headers=headers) as response:
        answer = orjson.loads(await response.read())
        assert answer["choices"][0]["message"]["content"] == "B"


async def ask_until_answered(session: Any, url: str, prompt: str) -> None:
    """Repeat a failed call, after the requested pause or up to half a second."""
    import aiohttp
    import orjson

    body = {"model": "bench", "messages": [{"role": "user", "content": prompt}], "temperature": 0.0}
    timeout = aiohttp.ClientTimeout(total=TIMEOUT)
    while True:
        pause = random.uniform(0, 0.5)  # noqa: S311  not for secrets
        with contextlib.suppress(aiohttp.ClientError, TimeoutError, ValueError):
            async with session.post(url, data=orjson.dumps(body), timeout=timeout) as response:
                data = await response.read()
                if response.status == 200:
                    assert orjson.loads(data)["choices"]
                    return
                pause = float(response.headers.get("Retry-After", pause))
        await asyncio.sleep(pause)


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


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
