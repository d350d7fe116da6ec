"""Compare runs with one and two workers on a Ray cluster of this machine, and kill one of two workers.

The endpoint answers after 200 ms, and each worker makes a fixed number of concurrent calls. Rates are
measured at the endpoint, from the first call to the last; runs with one and with two workers alternate. In
the last run, one of two workers is killed after half of the calls.

    python benchmarks/distributed.py [--quick]

The last line is JSON: the median ratio of the rates, and for the run with the kill the number of calls beyond
one per item and the number of stored answers.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks._loopback import Behaviour, Loopback, loopback
from benchmarks._options import read_options
from oversight.harness.store import Store

ROOT = Path(__file__).parents[1]
LATENCY, CONCURRENCY = 0.2, 8
SAID = "run.log"
QUIET = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "BEGUN_BY": f"benchmark {os.getpid()}"}


def main() -> None:
    n, rounds = (600, 2) if read_options(__doc__).quick else (2_000, 5)
    ratios = []
    with cluster() as address:
        for _ in range(rounds):
            one, two = (measure(address, n, workers) for workers in (1, 2))
            ratios.append(two / one)
            print(f"calls a second: one worker {one:.0f}, two workers {two:.0f}")
        twice, rows = kill(address, n)
    print(f"after a kill at {n // 2:,} of {n:,} calls: {twice} paid twice, {rows:,} answers stored")
    line = {"two_workers": round(statistics.median(ratios), 3), "paid_twice": twice, "rows": rows}
    print(json.dumps(line))


@contextmanager
def cluster() -> Iterator[str]:
    """Start a Ray cluster on this machine, and yield its address."""
    import ray

    os.environ.update(QUIET)
    ray.init(address="local", num_cpus=2, include_dashboard=False, object_store_memory=100_000_000)
    try:
        yield ray.get_runtime_context().gcs_address
    finally:
        ray.shutdown()


def measure(address: str, n: int, workers: int) -> float:
    """Run a study with this number of workers. Returns the calls per second at the endpoint."""
    with study(n) as (folder, server):
        end(start(address, folder, workers), folder)
        assert server.seen.calls == n
        return float(n / (server.seen.last - server.seen.first))


def kill(address: str, n: int) -> tuple[int, int]:
    """Kill one of two workers during a run. Returns numbers: calls beyond one per item, and stored rows."""
    with study(n) as (folder, server):
        run = start(address, folder, 2)
        while server.seen.calls < n // 2:
            if run.poll() is not None:
                sys.exit(f"the run ended before half of the calls: {(folder / SAID).read_text()}")
            time.sleep(0.01)
        os.kill(find_worker(), signal.SIGKILL)
        end(run, folder)
        with Store(f"sqlite:///{folder / 'study.db'}") as store:
            return server.seen.calls - n, store.count_rows()["prediction"]


def find_worker() -> int:
    """Return the process id of a worker of this benchmark, found by an environment variable."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            is_worker = path.read_bytes().startswith(b"ray::NodeWorker")
            if is_worker and QUIET["BEGUN_BY"].encode() in path.with_name("environ").read_bytes():
                return int(path.parent.name)
    sys.exit("no worker runs")


@contextmanager
def study(n: int) -> Iterator[tuple[Path, Loopback]]:
    """Yield the folder of a new study with n items, and its endpoint."""
    with tempfile.TemporaryDirectory() as name, loopback(Behaviour(latency=LATENCY)) as server:
        folder = Path(name)
        (folder / "items.csv").write_text("id,text\n" + "".join(f"i{j},number {j}\n" for j in range(n)))
        (folder / "study.toml").write_text(
            '[study]\nname = "t"\n[items]\nfile = "items.csv"\nclasses = ["A", "B", "C"]\n'
            f'[models.m]\nendpoint = "{server.url}"\nmodel = "bench"\nconcurrency = {CONCURRENCY}\n'
        )
        yield folder, server


def start(address: str, folder: Path, workers: int) -> subprocess.Popen[bytes]:
    """Start `oversight run` on the cluster."""
    words = [sys.executable, "-m", "oversight.harness.cli.main", "run", "--on", address]
    words += ["--workers", str(workers)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (folder / SAID).open("ab") as said:
        return subprocess.Popen(words, cwd=folder, env=env, stdout=said, stderr=said)  # noqa: S603


def end(run: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait for a run; if it failed, exit with its output."""
    if run.wait():
        sys.exit((folder / SAID).read_text())


if __name__ == "__main__":
    main()
