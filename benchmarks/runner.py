"""Compare the runner with a bare loop and with other packages, on one local chat-completions server.

The bare loop is aiohttp and orjson in worker tasks over one iterator: it retries nothing, has no limits,
reads only the text, and stores nothing. Every measurement runs in a separate process. Compared programs run
in turn, and the median of their ratios is shown, because other work on the machine affects all of them. Other
packages run in separate environments. Rates are measured at the server, from the first request to the last.

    python benchmarks/runner.py [--quick] [--rounds 9]

The last line is JSON. `stored_vs_bare` and `cpu_vs_bare` are the runner's rate and CPU, with every row
stored, divided by those of the bare loop at 0 ms (the worse ratio of 64 and 256 concurrent calls).
`vs_inspect_ai` is the runner's rate divided by inspect-ai's, and `rss_growth_mb` the additional memory for
many items. `faults_vs_plain` is the runner's time under random faults divided by that of a plain retry loop.
`rate_vs_ideal` is its time at a server with a rate limit divided by the minimum time. Both are the worst
ratios of several settings.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._loopback import Behaviour, Loopback, loopback
from benchmarks._peers import run_peers

REQUESTS, QUICK_REQUESTS = 20_000, 10_000
FEW, MANY, QUICK_MANY = 1_000, 100_000, 20_000
LOOPS = {"bare": "bare loop", "client": "HTTP client", "stored": "oversight"}
PEERS = {"inspect_ai": ["inspect-ai==0.3.285", "openai==3.52.0"], "lm_eval": ["lm-eval[api]==0.4.13"]}
FAULTS = {
    "4 %": (("429", 0.04),),
    "11 %": (("429", 0.05), ("500", 0.03), ("hang", 0.01), ("malformed", 0.01), ("drop", 0.01)),
}
LIMITS = (20, 60, 300)
LIMITED_SECONDS = 6.0
"""Minimum number of seconds for the calls that exceed the server's initial burst."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer settings and peers, under 4 minutes")
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    quick, rounds = args.quick, args.rounds
    settings = [(0.0, c) for c in (64, 256)] if quick else [(t, c) for t in (0.0, 0.2) for c in (8, 64, 256)]
    found = {key: compare(*key, QUICK_REQUESTS if quick else REQUESTS, rounds) for key in settings}
    rate = found[0.0, 64]["stored_rate"]
    ours = {peer: beside(peer, rate, quick=quick) for peer in (["inspect_ai"] if quick else PEERS)}
    growth, again = memory(QUICK_MANY if quick else MANY)
    line: dict[str, float | None] = {
        "stored_vs_bare": min(found[0.0, c]["rate"] for c in (64, 256)),
        "cpu_vs_bare": max(found[0.0, c]["cpu"] for c in (64, 256)),
        "vs_inspect_ai": ours["inspect_ai"],
        "rss_growth_mb": growth,
        "faults_vs_plain": under_all_faults(1 if quick else rounds),
        "rate_vs_ideal": under_all_limits(1 if quick else rounds),
    }
    if not quick:
        line["vs_lm_eval"] = ours["lm_eval"]
        line["stored_vs_bare_200ms"] = min(found[0.2, c]["rate"] for c in (8, 64, 256))
        line["rerun_cpu_seconds"] = again
    print(json.dumps({name: value and round(value, 3) for name, value in line.items()}))


def compare(latency: float, concurrency: int, n: int, rounds: int) -> dict[str, float]:
    """Run all loops in turn, and print medians. Returns the runner's results divided by the bare loop's."""
    if latency:
        # With latency, send fewer requests, because a round would otherwise take minutes.
        n //= 20 if concurrency == 8 else 4
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    for _ in range(rounds):
        for what in LOOPS:
            with loopback(Behaviour(latency)) as server:
                found[what].append(measure(what, server, n, concurrency))
    print(f"latency {latency * 1000:.0f} ms, concurrency {concurrency}, {n:,} requests")
    ratios: dict[str, float] = {}
    for what, name in LOOPS.items():
        middle = {key: statistics.median(f[key] for f in found[what]) for key in found[what][0]}
        pairs = list(zip(found[what], found["bare"], strict=True))
        ratios = {key: statistics.median(a[key] / b[key] for a, b in pairs) for key in ("rate", "cpu")}
        print(
            f"  {name:<14} {middle['rate']:7,.0f} requests/s  {middle['cpu'] / n * 1e6:6.0f} µs CPU a request"
            f"  {middle['rss']:4.0f} MB  first request after {middle['start']:.2f} s"
            f"  {ratios['rate']:.2f} of the bare loop's rate, {ratios['cpu']:.2f} of its CPU"
        )
    return {**ratios, "stored_rate": statistics.median(f["rate"] for f in found["stored"])}


def measure(what: str, server: Loopback, n: int, concurrency: int) -> dict[str, float]:
    """Run a loop. Returns its rate, CPU seconds, memory, start-up seconds, and seconds to the last answer."""
    script = Path(__file__).with_name("_runner_children.py")
    command = [sys.executable, str(script), what, server.url, str(n), str(concurrency)]
    # Allow bytecode files, because otherwise every start would compile all imports.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603  itself
    if done.returncode:
        sys.exit(f"{what}: {done.stderr[-2_000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return {
        **found,
        "rate": n / (server.last - server.first),
        "start": server.first - begun,
        "span": server.last_good - server.first,
    }


def beside(peer: str, rate: float, *, quick: bool) -> float | None:
    """Return our rate divided by a peer's, at latency 0 and concurrency 64; None if the peer fails."""
    n = {"inspect_ai": 200 if quick else 400, "lm_eval": 2_000}[peer]
    with loopback() as server:
        found = run_peers(f"_{peer}_peer.py", PEERS[peer], server.url, str(n), "64")
        if not found or server.calls < n:
            print(f"{peer}: not measured ({server.calls} calls)")
            return None
        theirs = server.calls / (server.last - server.first)
    each = 1e6 * found["cpu"] / n
    print(
        f"{peer}: {theirs:,.0f} requests/s, {each:,.0f} µs CPU a request; oversight {rate / theirs:.1f} times"
    )
    return rate / theirs


def memory(many: int) -> tuple[float, float]:
    """Return how many more megabytes `many` items need than `FEW`, and CPU seconds of a repeated run."""
    found: dict[int, dict[str, Any]] = {}
    for n in (FEW, many):
        with loopback() as server:
            found[n] = measure("stored", server, n, 64)
            assert server.calls == n, f"{server.calls} calls for {n} items"
    few, rest = found[FEW], found[many]
    print(
        f"memory: {few['rss']:.0f} MB at {FEW:,} items, {rest['rss']:.0f} MB at {many:,}; "
        f"run again with nothing to do: {rest['again']:.2f} s of CPU"
    )
    return rest["rss"] - few["rss"], rest["again"]


def under_all_faults(rounds: int) -> float:
    """Return the largest result of `under_faults` over all kinds of faults."""
    return max(under_faults(kind, rounds) for kind in FAULTS)


def under_all_limits(rounds: int) -> float:
    """Return the largest median of `under_a_limit` over all rate limits."""
    return max(statistics.median(under_a_limit(limit) for _ in range(rounds)) for limit in LIMITS)


def under_faults(kind: str, rounds: int) -> float:
    """Return the runner's time divided by a plain retry loop's, both under random faults of this kind."""
    behaviour, n = Behaviour(0.05, faults=FAULTS[kind]), 2_000
    spans: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        for what in ("plain", "hurried"):
            with loopback(behaviour) as server:
                spans[what].append(measure(what, server, n, 64)["span"])
    ratio = statistics.median(b / a for a, b in zip(spans["plain"], spans["hurried"], strict=True))
    plain, ours = (statistics.median(spans[what]) for what in ("plain", "hurried"))
    print(f"{kind} random faults: plain retries {plain:.1f} s, oversight {ours:.1f} s, {ratio:.2f} of it")
    return ratio


def under_a_limit(limit: int) -> float:
    """Return our time divided by the minimum, at a server with an undisclosed rate limit."""
    n = round(limit * (1 + LIMITED_SECONDS))
    with loopback(Behaviour(0.05, rate=limit)) as server:
        span = measure("stored", server, n, 64)["span"]
        refused = server.calls - n
    print(f"at most {limit} requests/s: {span:.1f} s of {LIMITED_SECONDS:.1f} possible, {refused:,} refused")
    return span / LIMITED_SECONDS


if __name__ == "__main__":
    main()
