"""One worker and two on the same run, over a real PostgreSQL, and what a kill costs.

The endpoint answers after 200 ms, and each worker has so many calls under way at once. Rates are measured
at the endpoint, from the first call to the last; runs of one and of two workers are interleaved. Then one of
two workers is killed in the middle. Where the processors are full before the endpoint is, as with 32 calls at
once on two cores, the ratio tells of them.

    python benchmarks/workers.py [--quick] [--rounds 5] [--items 2000] [--concurrency 8]

The last line is JSON: the median ratio of the rates, how many calls beyond one an item the kill cost, and
how many answers are stored after it.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks._loopback import Behaviour, Loopback, loopback
from benchmarks.servers import empty_server, start_postgresql
from oversight.harness.store import Store

ROOT = Path(__file__).parents[1]
LATENCY = 0.2
LEASE = "3s"
SAID = "workers.log"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer items and rounds, under 4 minutes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--concurrency", type=int, default=8)
    args = parser.parse_args()
    n, rounds = (800, 3) if args.quick else (args.items, args.rounds)
    ratios = []
    with start_postgresql() as url:
        for _ in range(rounds):
            one, two = (measure(url, n, args.concurrency, workers) for workers in (1, 2))
            ratios.append(two / one)
            most = args.concurrency / LATENCY
            print(
                f"answers a second: one worker {one:,.0f} of {most:,.0f}, two {two:,.0f} of {2 * most:,.0f}"
            )
        twice, rows = kill(url, n, args.concurrency)
    print(f"after a kill at {n // 2:,} of {n:,} calls: {twice} paid twice, {rows:,} answers stored")
    line = {"two_workers": round(statistics.median(ratios), 3), "paid_twice": twice, "rows": rows}
    print(json.dumps(line))


def measure(url: str, n: int, concurrency: int, workers: int) -> float:
    """Answers a second with so many workers."""
    with study(url, n, concurrency) as (folder, server):
        for process in [start(folder) for _ in range(workers)]:
            end(process, folder)
        assert server.calls == n
        return n / (server.last - server.first)


def kill(url: str, n: int, concurrency: int) -> tuple[int, int]:
    """Calls beyond one an item, and rows, where one of two workers is killed half-way."""
    with study(url, n, concurrency) as (folder, server):
        first, second = start(folder), start(folder)
        while server.calls < n // 2:
            if second.poll() is not None:
                sys.exit(f"a worker ended before half of the calls: {(folder / SAID).read_text()}")
        first.send_signal(signal.SIGKILL)
        first.wait()
        end(second, folder)
        with Store(url) as store:
            return server.calls - n, store.count_rows()["prediction"]


@contextmanager
def study(url: str, n: int, concurrency: int) -> Iterator[tuple[Path, Loopback]]:
    """A study in an empty database, and its endpoint."""
    empty_server(url)
    with tempfile.TemporaryDirectory() as name, loopback(Behaviour(latency=LATENCY)) as server:
        folder = Path(name)
        (folder / "items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}\n" for j in range(n)))
        (folder / "study.toml").write_text(
            f'[study]\nname = "t"\nstore = "{url}"\n[items]\nfile = "items.csv"\nclasses = ["A", "B", "C"]\n'
            f'[models.m]\nendpoint = "{server.url}"\nmodel = "bench"\nconcurrency = {concurrency}\n'
        )
        yield folder, server


def start(folder: Path) -> subprocess.Popen[bytes]:
    """A worker."""
    words = [sys.executable, "-m", "oversight.harness.cli.main", "run", "--lease", LEASE]
    env = {"PYTHONPATH": str(ROOT)}
    with (folder / SAID).open("ab") as said:
        return subprocess.Popen(words, cwd=folder, env=env, stdout=said, stderr=said)  # noqa: S603  our own command


def end(worker: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait for a worker; what it said is told if it failed."""
    if worker.wait():
        sys.exit((folder / SAID).read_text())


if __name__ == "__main__":
    main()
