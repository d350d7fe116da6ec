"""Compare the runner with a bare loop and with other packages, on one local chat-completions server.

The bare loop is aiohttp and orjson in worker tasks over one iterator: it retries nothing, has no limits,
reads only the text, and stores nothing. Every measurement runs in a separate process. Compared programs run
in turn, and the median of their ratios is shown, because other work on the machine affects all of them.
Peers run in separate environments. Rates are measured at the server, from the first request to the last.

    python benchmarks/runner.py [--quick] [--rounds 9]

The last line is JSON. `stored_vs_bare` and `cpu_vs_bare` are the runner's rate and CPU, with every row
stored, divided by those of the bare loop at 0 ms (the worse ratio of 64 and 256 concurrent calls).
`vs_inspect_ai` is the runner's rate divided by inspect-ai's, and `rss_growth_mb` the additional memory for
many items. `faults_vs_plain` is the runner's time under random faults divided by that of a plain retry loop.
`rate_vs_ideal` is its time at a server with a rate limit divided by the minimum time. Both are the worst
ratios of several settings. A full run adds `vs_lm_eval`, and `stored_vs_bare_200ms`: the rates at a latency
of 200 ms.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks._loopback import Behaviour, Loopback, loopback
from benchmarks._options import read_options
from benchmarks._peers import run_peers

REQUESTS, QUICK_REQUESTS = 20_000, 10_000
FEW, MANY, QUICK_MANY = 1_000, 100_000, 20_000
PEERS = {"inspect_ai": ["inspect-ai==0.3.285", "openai==3.52.0"], "lm_eval": ["lm-eval[api]==0.4.13"]}
FAULTS = {
    "4 %": (("429", 0.04),),
    "11 %": (("429", 0.05), ("500", 0.03), ("hang", 0.01), ("malformed", 0.01), ("drop", 0.01)),
}
LIMITS = (20, 60, 300)
LIMITED_SECONDS = 6.0
"""Minimum number of seconds for the calls that exceed the server's initial burst."""


def main() -> None:
    args = read_options(__doc__, {"--rounds": (9, 9)})
    quick, few_rounds = args.quick, 1 if args.quick else args.rounds
    n = QUICK_REQUESTS if quick else REQUESTS
    found = {concurrency: compare(concurrency, n, args.rounds) for concurrency in (64, 256)}
    rate = found[64]["stored_rate"]
    line = {
        "stored_vs_bare": min(each["rate"] for each in found.values()),
        "cpu_vs_bare": max(each["cpu"] for each in found.values()),
        "vs_inspect_ai": beside_peer("inspect_ai", rate, 200 if quick else 400),
        "rss_growth_mb": memory(QUICK_MANY if quick else MANY),
        "faults_vs_plain": max(under_faults(kind, few_rounds) for kind in FAULTS),
        "rate_vs_ideal": max(under_a_limit(limit, few_rounds) for limit in LIMITS),
    }
    if not quick:
        line["vs_lm_eval"] = beside_peer("lm_eval", rate, 2_000)
        slow = [compare(concurrency, n // 4, args.rounds, latency=0.2) for concurrency in (64, 256)]
        line["stored_vs_bare_200ms"] = min(each["rate"] for each in slow)
    print(json.dumps({name: value and round(value, 3) for name, value in line.items()}))


def compare(concurrency: int, n: int, rounds: int, *, latency: float = 0.0) -> dict[str, float]:
    """Run both loops in turn. Returns the medians of the runner's results divided by the bare loop's."""
    bare, stored = run_in_turn(("bare", "stored"), Behaviour(latency), n, rounds, concurrency)
    pairs = list(zip(stored, bare, strict=True))
    ratios = {key: statistics.median(a[key] / b[key] for a, b in pairs) for key in ("rate", "cpu")}
    ratios["stored_rate"] = statistics.median(each["rate"] for each in stored)
    print(
        f"{1000 * latency:.0f} ms, concurrency {concurrency}, {n:,} requests: "
        f"{ratios['stored_rate']:,.0f} requests/s, "
        f"{ratios['rate']:.2f} of the bare loop's rate, {ratios['cpu']:.2f} of its CPU"
    )
    return ratios


def run_in_turn(
    loops: Sequence[str], behaviour: Behaviour, n: int, rounds: int, concurrency: int = 64
) -> list[list[dict[str, float]]]:
    """Run loops in turn, each on a new server. Returns the measurements of each loop."""
    found: list[list[dict[str, float]]] = [[] for _ in loops]
    for _ in range(rounds):
        for rows, what in zip(found, loops, strict=True):
            with loopback(behaviour) as server:
                rows.append(measure(what, server, n, concurrency))
    return found


def measure(what: str, server: Loopback, n: int, concurrency: int) -> dict[str, float]:
    """Run a loop. Returns its rate, CPU seconds, memory, and seconds to the last answer."""
    script = Path(__file__).with_name("_runner_children.py")
    command = [sys.executable, str(script), what, server.url, str(n), str(concurrency)]
    # Allow bytecode files, because otherwise every start would compile all imports.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
    if done.returncode:
        sys.exit(f"{what}: {done.stderr[-2_000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    seen = server.seen
    return {**found, "rate": n / (seen.last - seen.first), "span": seen.last_good - seen.first}


def beside_peer(peer: str, rate: float, n: int) -> float | None:
    """Return our rate divided by a peer's, at 0 ms and concurrency 64; None if the peer cannot be run."""
    with loopback() as server:
        run_peers(f"_{peer}_peer.py", PEERS[peer], server.url, str(n), "64")
        if server.seen.calls < n:
            print(f"{peer}: not measured ({server.seen.calls} calls)")
            return None
        theirs = server.seen.calls / (server.seen.last - server.seen.first)
    print(f"{peer}: {theirs:,.0f} requests/s; oversight {rate / theirs:.1f} times")
    return float(rate / theirs)


def memory(many: int) -> float:
    """Return how many more megabytes `many` items need than `FEW`."""
    found = []
    for n in (FEW, many):
        with loopback() as server:
            found.append(measure("stored", server, n, 64)["rss"])
            assert server.seen.calls == n, f"{server.seen.calls} calls for {n} items"
    print(f"memory: {found[0]:.0f} MB at {FEW:,} items, {found[1]:.0f} MB at {many:,}")
    return found[1] - found[0]


def under_faults(kind: str, rounds: int) -> float:
    """Return the runner's time divided by a plain retry loop's, both under random faults of this kind."""
    plain, ours = run_in_turn(("plain", "hurried"), Behaviour(0.05, faults=FAULTS[kind]), 2_000, rounds)
    ratio = statistics.median(b["span"] / a["span"] for a, b in zip(plain, ours, strict=True))
    print(f"{kind} random faults: oversight's time is {ratio:.2f} of that of plain retries")
    return ratio


def under_a_limit(limit: int, rounds: int) -> float:
    """Return our median time divided by the minimum, at a server with an undisclosed rate limit."""
    n = round(limit * (1 + LIMITED_SECONDS))
    (found,) = run_in_turn(("stored",), Behaviour(0.05, rate=limit), n, rounds)
    span = statistics.median(each["span"] for each in found)
    print(f"at most {limit} requests/s: {span:.1f} s of {LIMITED_SECONDS:.1f} possible")
    return span / LIMITED_SECONDS


if __name__ == "__main__":
    main()
