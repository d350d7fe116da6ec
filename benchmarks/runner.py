"""The runner beside a bare loop and beside peers, on one loopback server that speaks chat completions.

The bare loop is aiohttp and orjson in worker tasks over one iterator: nothing is retried, limited, read
beyond the text, or stored. Every measurement is a process of its own; the pairs are interleaved and the
median of their ratios is shown, since other work on the machine moves both. Peers run in environments of
their own and are measured at the server, from the first request to the last.

    python benchmarks/runner.py [--quick] [--rounds 3]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._loopback import Loopback, bare, loopback
from benchmarks._peers import run_peers

TEMPLATE = "Answer with one letter.\n\n$text\n\n$options\n"
OPTIONS = ("red", "green", "blue", "black")
REQUESTS, QUICK_REQUESTS = 5_000, 2_000
MANY, FEW = 100_000, 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="one setting, without the peers, under 50 s")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=4, metavar=("WHAT", "URL", "N", "C"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child[0], args.child[1], int(args.child[2]), int(args.child[3]))
        return
    settings = [(0.0, 64)] if args.quick else [(t, c) for t in (0.0, 0.2) for c in (8, 64, 256)]
    n = QUICK_REQUESTS if args.quick else REQUESTS
    ratios = {key: compare(*key, n, args.rounds) for key in settings}
    headline = ratios[0.0, 64]
    growth = memory(20_000 if args.quick else MANY)
    line: dict[str, Any] = {
        "stored_vs_bare": round(headline["rate"], 3),
        "cpu_vs_bare": round(headline["cpu"], 3),
        "vs_inspect_ai": None,
        "rss_growth_mb": round(growth, 1),
        "start_seconds": round(headline["start"], 2),
    }
    if not args.quick:
        line["stored_vs_bare_200ms"] = round(min(ratios[0.2, c]["rate"] for c in (8, 64, 256)), 3)
        for peer in ("inspect_ai", "lm_eval"):
            found = beside(peer, headline["stored_rate"])
            line[f"vs_{peer}"] = None if found is None else round(found, 1)
    print(json.dumps(line))


def compare(latency: float, concurrency: int, n: int, rounds: int) -> dict[str, float]:
    """Bare and stored in turn; prints medians, returns the medians of the paired ratios."""
    if latency and concurrency == 8:
        n //= 5  # or it takes two minutes a round
    pairs = []
    for _ in range(rounds):
        with loopback(latency) as server:
            plain = measure("bare", server, n, concurrency)
        with loopback(latency) as server:
            pairs.append((plain, measure("stored", server, n, concurrency)))
    print(f"latency {latency * 1000:.0f} ms, concurrency {concurrency}, {n:,} requests")
    for name, found in (("bare loop", [a for a, _ in pairs]), ("oversight", [b for _, b in pairs])):
        middle = {key: statistics.median(f[key] for f in found) for key in found[0]}
        print(
            f"  {name:<10} {middle['rate']:7,.0f} requests/s  {middle['cpu'] / n * 1e6:6.0f} µs CPU a request"
            f"  {middle['rss']:4.0f} MB  first request after {middle['start']:.2f} s"
        )
    result = {key: statistics.median(b[key] / a[key] for a, b in pairs) for key in ("rate", "cpu")}
    print(f"  {'ratio':<10} {result['rate']:.2f} of its rate, {result['cpu']:.2f} of its CPU")
    result["start"] = statistics.median(b["start"] for _, b in pairs)
    result["stored_rate"] = statistics.median(b["rate"] for _, b in pairs)
    return result


def measure(what: str, server: Loopback, n: int, concurrency: int) -> dict[str, float]:
    """Run a child and return rate (over the span at the server), CPU seconds, memory and time to start."""
    command = [sys.executable, __file__, "--child", what, server.url, str(n), str(concurrency)]
    # Without bytecode every start would compile what it imports.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    begun = time.monotonic()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    done = subprocess.run(command, **pipes, check=True, env=environment)  # type: ignore[call-overload]  # noqa: S603  itself
    found = json.loads(done.stdout.splitlines()[-1])
    assert server.calls == n, f"{server.calls} calls for {n} items"
    return {**found, "rate": n / (server.last - server.first), "start": server.first - begun}


def child(what: str, url: str, n: int, concurrency: int) -> None:
    """Ask n questions in this process; print what that took, start-up not counted."""
    with tempfile.TemporaryDirectory() as folder:
        work = bare_run(url, n, concurrency) if what == "bare" else stored_run(folder, url, n, concurrency)
        before = cpu()
        work()
        used = cpu() - before
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 2**20)
    print(json.dumps({"cpu": used, "rss": rss}))


def bare_run(url: str, n: int, concurrency: int) -> Callable[[], None]:
    import aiohttp  # noqa: F401  imported here, so that it is not counted
    import orjson  # noqa: F401

    prompts = [f"Answer with one letter.\n\n{text(j)}\n\n(A) red\n(B) green\n" for j in range(n)]
    return lambda: asyncio.run(bare(url, prompts, concurrency))


def stored_run(folder: str, url: str, n: int, concurrency: int) -> Callable[[], None]:
    """Return what `oversight run` does once the items are stored; they come one by one."""
    from harness.config import ModelSection
    from harness.llm import PriceTable, Target, Wanted, make_spec, run_targets
    from harness.llm.models import http_model  # noqa: F401  imported here, so that it is not counted
    from harness.store import Store
    from harness.types import Item

    settings = ModelSection(model="bench", endpoint=url, temperature=0.0, concurrency=concurrency)
    target = Target(make_spec("bench", settings, TEMPLATE, None), settings)
    store = Store(f"sqlite:///{folder}/study.db")
    ids = store.content.add_items(Item(f"i{j}", text(j), OPTIONS, (0, 1, 2, 3)) for j in range(n))

    def work() -> None:
        run_targets(Wanted(store, ids), [target], prices=PriceTable())
        assert store.count_rows()["prediction"] == n

    return work


def memory(many: int) -> float:
    """Megabytes that `many` items take more than `FEW`."""
    found = {}
    for n in (FEW, many):
        with loopback() as server:
            found[n] = measure("stored", server, n, 64)["rss"]
    print(f"memory: {found[FEW]:.0f} MB at {FEW:,} items, {found[many]:.0f} MB at {many:,}")
    return found[many] - found[FEW]


def beside(peer: str, rate: float) -> float | None:
    """How many times a peer's rate ours is, at latency 0 and concurrency 64."""
    requirements = {
        "inspect_ai": ["inspect-ai==0.3.285", "openai==3.52.0"],
        "lm_eval": ["lm-eval[api]==0.4.13"],
    }
    n = {"inspect_ai": 400, "lm_eval": 2_000}[peer]
    with loopback() as server:
        found = run_peers(f"_{peer}_peer.py", requirements[peer], server.url, str(n), "64")
        if not found or server.calls < n:
            print(f"{peer}: not measured ({server.calls} calls)")
            return None
        theirs = server.calls / (server.last - server.first)
    each = 1e6 * found["cpu"] / n
    print(
        f"{peer}: {theirs:,.0f} requests/s, {each:,.0f} µs CPU a request; oversight {rate / theirs:.1f} times"
    )
    return rate / theirs


def text(j: int) -> str:
    return f"question number {j} of many, about nothing in particular?"


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
